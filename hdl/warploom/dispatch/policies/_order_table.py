"""The order table: a permutation of the SMs, the pointer's SM, and swaps."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch.policies._candidate import Candidate, take
from warploom.lib.pipes import held
from warploom.lib.rows import Rows
from warploom_spec import Config, ErrorCode, layouts
from warploom_spec.resident_limits import in_groups


class OrderTable(wiring.Component):
    """Show the SM at the pointer's place, decoded; take swaps.

    A boot fills the table. A swap takes four cycles, in which the pointer must stand. It writes a
    position in the second one, and the other in the third. The part ``freed_first`` of
    ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``sms``.
    """

    boot: Signal
    boot_sm: Signal
    quiet: Signal
    moves: Signal
    at: Any
    swaps: Signal
    swap: stream.Interface
    swap_refused: stream.Interface

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # The boot writes this row.
                "boot": In(1),
                "boot_sm": In(config.sm_bits),
                # No block is out or was picked of late: a swap is legal.
                "quiet": In(1),
                # The pointer moves on; late in its cycle.
                "moves": In(1),
                # The SM at the pointer's place. Registers.
                "at": Out(Candidate(config)),
                # A swap is at work: the pointer must not move. A gate over registers.
                "swaps": Out(1),
                # Two positions change places.
                "swap": In(stream.Signature(layouts.order_swap(config).layout())),
                "swap_refused": Out(stream.Signature(layouts.error_record(config).layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        bits = self._config.sm_bits
        table = Rows(m, "order", bits, 1 << bits, block=in_groups(self._config))
        self._point(m, table, *self._swap(m, table))
        return m

    def _point(
        self, m: Module, table: Rows, written: Value, written_place: Value, written_sm: Value
    ) -> None:
        """Move the pointer, and read two places ahead of it: whether it moves is known late."""
        sms = self._config.sms
        places = [
            Signal(self._config.sm_bits, name=name, init=k % sms)
            for k, name in enumerate(("place", "place_1", "place_2"))
        ]
        last = places[-1]
        with m.If(self.moves):
            m.d.sync += [
                *(place.eq(then) for place, then in zip(places, places[1:], strict=False)),
                last.eq(Mux(last == sms - 1, 0, last + 1)),
            ]
        ahead = [table.later(place) for place in places[1:]]
        following = Mux(held(m, "moved", self.moves), ahead[1], ahead[0])
        # The pointer stands while a row is written.
        sm = Signal(self._config.sm_bits, name="next_sm", attrs={"keep": 1})
        m.d.comb += sm.eq(Mux(written, written_sm, following))
        with m.If(self.moves | (written & (written_place == places[0]))):
            take(m, self.at, sm)

    def _swap(self, m: Module, table: Rows) -> tuple[Value, Value, Value]:
        """Take swaps; return whether a row is written, or was by the boot; which one; and what."""
        bits, sms = self._config.sm_bits, self._config.sms
        swap = self.swap.payload
        first = Signal(bits)
        second = Signal(bits)
        # A swap of cycle t: both rows are known (t + 1), the first one is written, the second one
        # is, and the places ahead of the pointer are read again, for t + 5.
        names = ("knows", "writes", "ends", "settles")
        knows, writes, ends, _ = steps = [Signal(name=name) for name in names]
        refusing = Signal()
        taken = Signal()
        wrong = Signal()
        wrong_first = Signal()
        m.d.comb += [
            self.swaps.eq(Cat(steps).any()),
            self.swap.ready.eq(~self.boot & ~self.swaps & ~refusing),
            taken.eq(self.swap.valid & self.swap.ready),
            wrong_first.eq(swap.first >= sms),
            wrong.eq(wrong_first | (swap.second >= sms)),
        ]
        m.d.sync += Cat(steps).eq(Cat(taken & ~wrong & self.quiet, steps[:-1]))
        with m.If(taken):
            m.d.sync += [first.eq(swap.first), second.eq(swap.second)]
        of_first, of_second = table.later(swap.first), table.later(swap.second)
        kept = held(m, "kept_of_first", of_first)
        self._refuse(m, taken & (wrong | ~self.quiet), wrong, wrong_first, refusing)
        boots, boot_sm = self.boot, self.boot_sm
        written = held(m, "written", boots | knows | writes, clear=C(0, 1))
        place = held(m, "written_place", Mux(boots, boot_sm, Mux(knows, first, second)))
        sm = held(m, "written_sm", Mux(boots, boot_sm, Mux(knows, of_second, kept)))
        # The boot's rows stand in its last cycle: a swap may read them in the next one.
        table.write(boots | writes | ends, Mux(boots, boot_sm, place), Mux(boots, boot_sm, sm))
        return written, place, sm

    def _refuse(
        self, m: Module, refuses: Value, wrong: Signal, wrong_first: Signal, refusing: Signal
    ) -> None:
        """Hold the record of a refused swap until it is taken."""
        refused, swap = self.swap_refused, self.swap.payload
        m.d.comb += [refused.valid.eq(refusing), refused.payload.valid.eq(refusing)]
        with m.If(refuses):
            m.d.sync += [
                refusing.eq(1),
                refused.payload.code.eq(
                    Mux(wrong, int(ErrorCode.ORDER_RANGE), int(ErrorCode.ORDER_BUSY))
                ),
                refused.payload.argument.eq(
                    Mux(wrong, Mux(wrong_first, swap.first, swap.second), 0)
                ),
            ]
        with m.Elif(refused.ready):
            m.d.sync += refusing.eq(0)
