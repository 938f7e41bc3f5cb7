"""A resident launch's end: when it is gone, what its record says."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.counters import WideCounters
from warploom_spec import Config, ErrorCode, Fate, layouts, timing
from warploom_spec.layouts import CYCLES_BITS, TICKET_BITS


class LaunchEnd(wiring.Component):
    """Make the end record of each place's launch, and free the place.

    Vectors of 2 bits are indexed by place.

    Parameters
    ----------
    config : Config
        The configuration.

    Attributes
    ----------
    gone : In(2)
        Nothing of the launch is left in this cycle.
    newest : In(1)
        The place occupied last: of two records the other one's is first.
    accepted : In(2)
        The place becomes occupied at the end of the cycle.
    begun : In(2)
        The launch's first block is decided in this cycle.
    last_sent : In(2)
        A completion, or an acknowledgement that really kills a block, is processed in this cycle.
    started, exhausted, stop_kill : In(2)
        The place's state.
    fault, killed, struck, stranded : In(2)
        A block was faulty, was killed, was on a lost SM; all SMs were lost before the last block.
    tickets, entries, streams, following : In(array of 2)
        What the record repeats; the block that stood as the head when the launch was stopped.
    ended : Out(stream of dispatch_end)
        The record.
    freed : Out(2)
        The place is free at the end of the cycle.
    """

    gone: Signal
    newest: Signal
    accepted: Signal
    begun: Signal
    last_sent: Signal
    started: Signal
    exhausted: Signal
    stop_kill: Signal
    fault: Signal
    killed: Signal
    struck: Signal
    stranded: Signal
    tickets: list[Signal]
    entries: list[Signal]
    streams: list[Signal]
    following: "list[data.View[data.StructLayout]]"
    ended: stream.Interface
    freed: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        vectors = (
            *("gone", "accepted", "begun", "last_sent", "started", "exhausted", "stop_kill"),
            *("fault", "killed", "struck", "stranded"),
        )
        place = data.StructLayout(dict(zip("xyz", config.grid_bits, strict=True)))
        super().__init__(
            {
                **{name: In(2) for name in vectors},
                "newest": In(1),
                "tickets": In(TICKET_BITS).array(2),
                "entries": In(config.history_entries).array(2),
                "streams": In(config.stream_bits).array(2),
                "following": In(place).array(2),
                "ended": Out(stream.Signature(layouts.dispatch_end(config).layout())),
                "freed": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ripe = self.gone
        # In which order two records go is known with the last of the registers: both places are
        # occupied then, and stay so.
        pick, load = Signal(), Signal()
        for k in range(timing(self._config).end - 1):
            delayed = Signal(2, name=f"gone_{k}")
            following = ripe & ~self.freed
            m.d.sync += [
                delayed.eq(following),
                pick.eq(Mux(following.all(), ~self.newest, following[1])),
            ]
            ripe = delayed
        m.d.comb += [
            load.eq(ripe.any() & (~self.ended.valid | self.ended.ready)),
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
        """Count from a launch's first offer to the last thing an SM sent of it."""
        begun, offered, last_sent = Signal(2), Signal(2), Signal(2)
        # A decision's offer stands one cycle later, what is sent is processed two cycles later.
        # Both are seen here a cycle after that. The earliest completion that counts is sent in the
        # offer's first cycle: 0 cycles.
        m.d.sync += [begun.eq(self.begun), offered.eq(begun), last_sent.eq(self.last_sent)]
        m.submodules.since = since = WideCounters(2, CYCLES_BITS, ready=True)
        m.d.comb += [since.step.eq(3), since.restart.eq(offered)]
        lengths: list[Value] = []
        for place in range(2):
            length = Signal(CYCLES_BITS, name=f"length_{place}")
            with m.If(last_sent[place]):
                m.d.sync += length.eq(since.values[place])
            with m.If(self.accepted[place]):
                m.d.sync += length.eq(0)
            lengths.append(length)
        return lengths

    def _record(self, m: Module, pick: Value, load: Value, cycles: list[Value]) -> None:
        """Load the picked place's record."""
        struck = Mux(pick, self.struck[1], self.struck[0])
        stranded = Mux(pick, self.stranded[1], self.stranded[0])
        fault = Mux(pick, self.fault[1], self.fault[0])
        killed = Mux(pick, self.killed[1], self.killed[0])
        exhausted = Mux(pick, self.exhausted[1], self.exhausted[0])
        started = Mux(pick, self.started[1], self.started[0])
        stop_kill = Mux(pick, self.stop_kill[1], self.stop_kill[0])
        fate, code = Signal(3), Signal(len(self.ended.payload.code))
        failed = struck | stranded | fault
        with m.If(failed):
            m.d.comb += [
                fate.eq(int(Fate.FAILED)),
                code.eq(
                    Mux(
                        struck,
                        int(ErrorCode.SM_LOST),
                        Mux(stranded, int(ErrorCode.NO_SM), int(ErrorCode.BLOCK_FAULT)),
                    )
                ),
            ]
        with m.Elif(exhausted & ~killed):
            m.d.comb += fate.eq(int(Fate.FINISHED))
        with m.Elif(~started):
            m.d.comb += fate.eq(int(Fate.SKIPPED))
        with m.Elif(stop_kill | killed):
            m.d.comb += fate.eq(int(Fate.KILLED))
        with m.Else():
            m.d.comb += fate.eq(int(Fate.DRAINED))
        record = self.ended.payload
        with m.If(load):
            m.d.sync += [
                record.ticket.eq(Mux(pick, self.tickets[1], self.tickets[0])),
                record.fate.eq(fate),
                record.code.eq(code),
                record.cycles.eq(Mux(pick, cycles[1], cycles[0])),
                record.entries.eq(Mux(pick, self.entries[1], self.entries[0])),
                record.stream.eq(Mux(pick, self.streams[1], self.streams[0])),
            ]
            for axis in "xyz":
                following = Mux(pick, self.following[1][axis], self.following[0][axis])
                m.d.sync += record[f"next_{axis}"].eq(following)
                with m.If(fate != int(Fate.DRAINED)):
                    m.d.sync += record[f"next_{axis}"].eq(0)
