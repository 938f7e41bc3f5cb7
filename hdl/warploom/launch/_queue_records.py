"""KernelQueue's final records and put-backs."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal

from warploom.launch._queue_commands import QueueCommands
from warploom.launch._queue_ends import QueueEnds
from warploom.launch._queue_jobs import QueueJobs
from warploom.launch._queue_shapes import CLOCK_BITS, QueueShape
from warploom_spec import ErrorCode, Fate
from warploom_spec.queue import FinalFate, RecordKind


class QueueRecords:
    """Make one final record a cycle.

    Attributes
    ----------
    record : view
        The port; registers.
    words : view
        Ticket and acceptance of the launch.
    aborts, abort_number, abort_back : Signal
        An ABORT ends a launch of this stream; it was put back before.
    clock : Signal
        The port.
    """

    def __init__(self, shape: QueueShape, record: Any) -> None:
        self._shape = shape
        self.record = record
        self.words: Any = None
        self.aborts = Signal(name="abort_ends")
        self.abort_number = Signal(shape.config.stream_bits)
        self.abort_back = Signal()
        self.clock = Signal(CLOCK_BITS)

    def build(self, m: Module, ends: QueueEnds, jobs: QueueJobs, commands: QueueCommands) -> None:
        """Add the record's registers."""
        record = self.record
        others = ends.final | (jobs.over & jobs.over_record) | self.aborts
        m.d.comb += commands.others_record.eq(others)
        its: dict[str, Any] = {
            "valid": others | commands.makes,
            "ticket": self.words.ticket,
            "accepted": self.words.accepted,
            "kills": ends.kept.kills,
            "reset_as_drain": ends.kept.reset_as_drain,
            "offered": ends.kept.offered,
            "word2": ends.kept.cycles,
            "first_offer": ends.kept.first_offer,
            "made": self.clock,
            "fate": FinalFate.ABORTED,
            "stream": self.abort_number,
        }
        cases = (
            (jobs.over & jobs.over_record, self._of_job(jobs)),
            (ends.final, self._of_end(ends)),
        )
        for name in record.shape().members:
            value = its.get(name, 0)
            for holds, fields in cases:
                if name in fields:
                    value = Mux(holds, fields[name], value)
            m.d.sync += record[name].eq(value)
        # A reset of the registers, which takes no gates.
        with m.If(commands.makes):
            m.d.sync += [record[name].eq(value) for name, value in self._of_preempt(commands)]

    def _of_end(self, ends: QueueEnds) -> dict[str, Any]:
        return {
            "fate": ends.final_fate,
            "code": ends.code,
            "stream": ends.launch.number,
        }

    def _of_job(self, jobs: QueueJobs) -> dict[str, Any]:
        no_sm = Mux(jobs.over_no_sm, ErrorCode.NO_SM, 0)
        fails = jobs.over_broken | jobs.over_no_sm
        return {
            "stream": jobs.over_number,
            "fate": Mux(fails, FinalFate.FAILED, FinalFate.ABORTED),
            "code": Mux(jobs.over_broken, ErrorCode.STREAM_BROKEN, no_sm),
        }

    def _of_preempt(self, commands: QueueCommands) -> list[tuple[str, Any]]:
        finished, killed, drained, skipped = commands.counts
        return [
            *((name, 0) for name in ("ticket", "stream", "kills", "reset_as_drain", "offered")),
            ("code", 0),
            ("first_offer", 0),
            ("kind", RecordKind.PREEMPT),
            ("fate", FinalFate.FINISHED),
            ("word2", finished),
            ("word3", Cat(killed, C(0, 16 - len(killed)), drained)),
            ("word4", skipped),
            ("accepted", commands.since),
        ]


def put_back_pulse(
    m: Module, port: Any, ends: QueueEnds, ticket: Any, line: Any, taken_ticket: Any, start: Any
) -> None:
    """Say which launch leaves place or line unfinished; an end and a taking back never meet.

    Parameters
    ----------
    m : Module
        Gets the statements.
    port : view
        ``put_back``.
    ends : QueueEnds
        The end register.
    ticket : Value
        Its launch's ticket.
    line : QueueLine
        Takes a launch back, or not.
    taken_ticket, start : Value, mapping
        Ticket and next block of the launch that is taken back.
    """
    m.d.sync += [
        port.valid.eq(ends.puts_back | line.takes_back.any()),
        port.ticket.eq(Mux(ends.valid, ticket, taken_ticket)),
        port.fate.eq(Mux(ends.valid, ends.result.fate, Fate.SKIPPED)),
    ]
    for name, value in start.items():
        from_end = Mux(ends.start_moves, ends.result[name], ends.old_start[name])
        m.d.sync += port[name].eq(Mux(ends.valid, from_end, value))
    with m.If(~ends.valid & ~line.taken.again):
        m.d.sync += [port[name].eq(0) for name in start]
