"""Goes over all slots of all SMs, row by row: in the boot, and in a sweep for lost SMs."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config

#: Cycles after the boot's last row in which the pipes still carry its rows.
_DRAIN = 8


class SlotRows(wiring.Component):
    """Count rows: slot after slot of one SM, SM after SM.

    The boot takes a row in each cycle from the reset on, and as many as there are slots, or streams
    if these are more. Rule 1 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``sms``, ``block_slots``, ``stream_bits``.
    """

    sweeps: Signal
    sm: Signal
    slot: Signal
    stream: Signal
    last: Signal
    boot: Signal
    booting: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A sweep takes the row in this cycle.
                "sweeps": In(1),
                # The row. Registers.
                "sm": Out(config.sm_bits),
                "slot": Out(config.slot_bits),
                # In the boot: the stream whose row is written.
                "stream": Out(config.stream_bits),
                # It is the last one.
                "last": Out(1),
                # The boot takes the row in this cycle; its rows are in the pipes. Registers.
                "boot": Out(1, init=1),  # type: ignore[call-arg]  # no init in the stubs
                "booting": Out(1, init=1),  # type: ignore[call-arg]  # no init in the stubs
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        rows = max(config.sms * config.block_slots, 1 << config.stream_bits)
        left = Signal(range(rows), init=rows - 1)
        slot_last = Signal()
        sm_last = Signal()
        drain = Signal(_DRAIN, init=-1)
        m.d.comb += [
            slot_last.eq(self.slot == config.block_slots - 1),
            sm_last.eq(self.sm == config.sms - 1),
            self.last.eq(slot_last & sm_last),
        ]
        m.d.sync += [
            drain.eq(Cat(self.boot, drain[:-1])),
            self.booting.eq(self.boot | drain.any()),
        ]
        with m.If(self.boot | self.sweeps):
            m.d.sync += self.slot.eq(Mux(slot_last, 0, self.slot + 1))
            with m.If(slot_last):
                m.d.sync += self.sm.eq(Mux(sm_last, 0, self.sm + 1))
        with m.If(self.boot):
            m.d.sync += [left.eq(left - 1), self.stream.eq(self.stream + 1)]
            with m.If(left == 0):
                m.d.sync += [self.boot.eq(0), self.sm.eq(0), self.slot.eq(0)]
        return m
