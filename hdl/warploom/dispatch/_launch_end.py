"""The end of a resident launch, and its final record."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.counters import WideCounters
from warploom_spec import Config, ErrorCode, Fate, layouts
from warploom_spec.layouts import BLOCK_NUMBER_BITS, CYCLES_BITS, FATE_BITS, TICKET_BITS


class LaunchFlags(wiring.Signature):
    """Flags of each place's launch.

    Members: ``started``, the first block was decided; ``exhausted``, the last block was decided;
    ``stop_kill``, the launch is stopped by a kill; ``fault``, a block was reported as a fault;
    ``killed``, a block was reported as killed; ``sm_loss``, an unreported block was on an SM that
    was lost; ``no_sm_left``, all SMs were lost before the last block was decided.
    """

    def __init__(self) -> None:
        names = (
            "started",
            "exhausted",
            "stop_kill",
            "fault",
            "killed",
            "sm_loss",
            "no_sm_left",
        )
        super().__init__({name: Out(2) for name in names})


class RecordWords(wiring.Signature):
    """Values that a launch's record copies.

    Members: ``ticket``, ``entries`` and ``stream`` of the launch; ``next``, the block that was the
    head when the launch was stopped. If they are numbered, ``number`` of this block, too.
    """

    def __init__(self, config: Config, numbered: bool = False) -> None:
        block = data.StructLayout(dict(zip("xyz", config.grid_bits, strict=True)))
        super().__init__(
            {
                "ticket": Out(TICKET_BITS),
                **({"entries": Out(config.history_entries)} if config.makes_indices else {}),
                "stream": Out(config.stream_bits),
                "next": Out(block),
                **({"number": Out(BLOCK_NUMBER_BITS)} if numbered else {}),
            }
        )


class LaunchEnd(wiring.Component):
    """Make the final record of each place's launch, and free the place.

    Vectors of 2 bits are indexed by place.

    Parameters
    ----------
    config : Config
        The configuration.
    numbered : bool, optional
        Whether there is ``ended_number``, beside the record.
    """

    gone: Signal
    newest: Signal
    entered: Signal
    begun: Signal
    reported: Signal
    flags: Any
    words: Any
    ended: stream.Interface
    ended_number: Signal
    freed: Signal

    def __init__(self, config: Config, *, numbered: bool = False) -> None:
        self._config = config
        self._numbered = numbered
        super().__init__(
            {
                # In the last cycle the launch had no block out and none left to place.
                "gone": In(2),
                # The place became occupied at the end of the last cycle.
                "entered": In(2),
                # The launch's first block was decided in the last cycle.
                "begun": In(2),
                # A report that counts stood at the port three cycles ago.
                "reported": In(2),
                # The place occupied last. Of two records that of the other place comes first.
                "newest": In(1),
                # The flags that decide the record's fate.
                "flags": In(LaunchFlags()),
                # The values that the record copies.
                "words": In(RecordWords(config, numbered)).array(2),
                # The record.
                "ended": Out(stream.Signature(layouts.dispatch_end(config).layout())),
                # The number of its next block.
                **({"ended_number": Out(BLOCK_NUMBER_BITS)} if numbered else {}),
                # The place is free at the end of the cycle.
                "freed": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        # `pick` chooses between two records a cycle early. It stays right: both places are
        # occupied until their records are loaded, so `newest` does not change.
        end_ready = Signal(2)
        pick = Signal()
        load = Signal()
        following = self.gone & ~self.freed
        m.d.sync += [
            end_ready.eq(following),
            pick.eq(Mux(following.all(), ~self.newest, following[1])),
        ]
        m.d.comb += [
            load.eq(end_ready.any() & (~self.ended.valid | self.ended.ready)),
            self.freed.eq(Mux(load, Mux(pick, 2, 1), 0)),
        ]
        with m.If(load):
            m.d.sync += self.ended.valid.eq(1)
        with m.Elif(self.ended.ready):
            m.d.sync += self.ended.valid.eq(0)
        cycles = self._cycles(m)
        self._record(m, pick, load, cycles)
        return m

    def _cycles(self, m: Module) -> list[Value]:
        """Count the cycles from a launch's first offer to its last report."""
        offer_next = Signal(2)
        offered = Signal(2)
        # The first offer stands two cycles after its decision. A report in the offer's first cycle
        # counts as 0 cycles; `reported` shows it three cycles later. The counters start at -1.
        m.d.sync += [offer_next.eq(self.begun), offered.eq(offer_next)]
        m.submodules.since = since = WideCounters(2, CYCLES_BITS, ready=True)
        m.d.comb += [since.step.eq(3), since.restart.eq(offered)]
        lengths: list[Value] = []
        for place in range(2):
            length = Signal(CYCLES_BITS, name=f"length_{place}", reset_less=True)
            with m.If(self.reported[place]):
                m.d.sync += length.eq(since.values[place])
            with m.If(self.entered[place]):
                m.d.sync += length.eq(0)
            lengths.append(length)
        return lengths

    def _record(self, m: Module, pick: Value, load: Value, cycles: list[Value]) -> None:
        """Load the picked place's record."""
        # Fate and code of each launch stand in registers before the record is loaded.
        fates, codes = [], []
        others = Signal(2)
        flags, first, second = self.flags, self.words[0], self.words[1]
        for place in range(2):
            fate = Signal(FATE_BITS, name=f"fate_{place}", reset_less=True)
            code = Signal(len(self.ended.payload.code), name=f"code_{place}", reset_less=True)
            sm_loss, fault = flags.sm_loss[place], flags.fault[place]
            exhausted, started = flags.exhausted[place], flags.started[place]
            no_sm_left = flags.no_sm_left[place] & ~exhausted
            failed = sm_loss | fault | no_sm_left
            finished = exhausted & ~flags.killed[place]
            with m.If(failed):
                m.d.sync += fate.eq(int(Fate.FAILED))
            with m.Elif(finished):
                m.d.sync += fate.eq(int(Fate.FINISHED))
            with m.Elif(~started):
                m.d.sync += fate.eq(int(Fate.SKIPPED))
            with m.Elif(flags.stop_kill[place]):
                m.d.sync += fate.eq(int(Fate.KILLED))
            with m.Else():
                m.d.sync += fate.eq(int(Fate.DRAINED))
            why = Mux(fault, int(ErrorCode.BLOCK_FAULT), int(ErrorCode.NO_SM))
            m.d.sync += [
                code.eq(Mux(failed, Mux(sm_loss, int(ErrorCode.SM_LOST), why), 0)),
                others[place].eq(failed | finished | ~started | flags.stop_kill[place]),
            ]
            fates.append(fate)
            codes.append(code)
        # Of a layout's signal the stubs do not know that it is a view.
        record: Any = Signal(self.ended.payload.shape(), name="record", reset_less=True)
        m.d.comb += self.ended.payload.eq(record)
        number = Signal(BLOCK_NUMBER_BITS, reset_less=True)
        if self._numbered:
            m.d.comb += self.ended_number.eq(number)
        with m.If(load):
            m.d.sync += [
                record.ticket.eq(Mux(pick, second.ticket, first.ticket)),
                record.fate.eq(Mux(pick, fates[1], fates[0])),
                record.code.eq(Mux(pick, codes[1], codes[0])),
                record.cycles.eq(Mux(pick, cycles[1], cycles[0])),
                record.place.eq(pick),
                *(
                    record[name].eq(Mux(pick, getattr(second, name), getattr(first, name)))
                    for name in ("entries", "stream")
                    if name in record.shape().members
                ),
            ]
            for axis in "xyz":
                block = Mux(pick, second.next[axis], first.next[axis])
                m.d.sync += record[f"next_{axis}"].eq(block)
            if self._numbered:
                m.d.sync += number.eq(Mux(pick, second.number, first.number))
        with m.If(load & Mux(pick, others[1], others[0])):
            m.d.sync += [record[f"next_{axis}"].eq(0) for axis in "xyz"]
            if self._numbered:
                m.d.sync += number.eq(0)
