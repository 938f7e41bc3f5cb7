"""KernelQueue's final records and put-backs."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal

from warploom.launch._queue_commands import QueueCommands
from warploom.launch._queue_ends import QueueEnds
from warploom.launch._queue_shapes import CLOCK_BITS, QueueShape
from warploom.launch._queue_streams import QueueJobs
from warploom_spec import ErrorCode, Fate
from warploom_spec.queue import FinalFate, RecordKind


class QueueRecords:
    """Make one final record a cycle.

    Attributes
    ----------
    record : view
        The port; registers.
    words, progress, back : Any
        What is kept of the launch: ticket and acceptance; progress, if ``back``.
    aborts, abort_number : Signal
        An ABORT ends a launch of this stream.
    clock : Signal
        The port.
    """

    def __init__(self, shape: QueueShape, record: Any) -> None:
        self._shape = shape
        self.record = record
        self.words: Any = None
        self.progress: Any = Signal(shape.progress(), name="record_progress")
        self.aborts = Signal(name="abort_ends")
        self.abort_number = Signal(shape.config.stream_bits)
        self.clock = Signal(CLOCK_BITS)

    def build(self, m: Module, ends: QueueEnds, jobs: QueueJobs, commands: QueueCommands) -> None:
        """Add the record's registers."""
        record, follows = self.record, Signal(self.record.shape(), name="record_next")
        view: Any = follows
        others = ends.final | (jobs.over & jobs.over_record) | self.aborts
        m.d.comb += [
            commands.others_record.eq(others),
            view.ticket.eq(self.words.ticket),
            view.accepted.eq(self.words.accepted),
            view.kills.eq(self.progress.kills),
            view.reset_as_drain.eq(self.progress.reset_as_drain),
            view.offered.eq(self.progress.offered),
            view.word2.eq(self.progress.cycles),
            view.first_offer.eq(self.progress.first_offer),
            view.made.eq(self.clock),
            view.fate.eq(FinalFate.ABORTED),
            view.stream.eq(self.abort_number),
            view.valid.eq(others | commands.makes),
        ]
        with m.If(ends.final):
            m.d.comb += [
                view.fate.eq(ends.final_fate),
                view.code.eq(ends.code),
                view.stream.eq(ends.launch.number),
                view.reset_as_drain.eq(ends.kept.reset_as_drain),
                view.offered.eq(ends.kept.offered),
                view.first_offer.eq(ends.kept.first_offer),
                view.word2.eq(ends.kept.cycles),
            ]
        with m.Elif(jobs.over & jobs.over_record):
            self._of_job(m, view, jobs)
        with m.Elif(commands.makes):
            self._of_preempt(m, view, commands)
        m.d.sync += record.eq(follows)

    def _of_job(self, m: Module, view: Any, jobs: QueueJobs) -> None:
        fails = jobs.over_broken | jobs.over_no_sm
        m.d.comb += [
            view.stream.eq(jobs.over_number),
            view.fate.eq(Mux(fails, FinalFate.FAILED, FinalFate.ABORTED)),
            view.code.eq(
                Mux(
                    jobs.over_broken,
                    ErrorCode.STREAM_BROKEN,
                    Mux(jobs.over_no_sm, ErrorCode.NO_SM, 0),
                )
            ),
        ]

    def _of_preempt(self, m: Module, view: Any, commands: QueueCommands) -> None:
        finished, killed, drained, skipped = commands.counts
        m.d.comb += [
            view.ticket.eq(0),
            view.kind.eq(RecordKind.PREEMPT),
            view.fate.eq(FinalFate.FINISHED),
            view.code.eq(0),
            view.stream.eq(0),
            view.kills.eq(0),
            view.reset_as_drain.eq(0),
            view.offered.eq(0),
            view.word2.eq(finished),
            view.word3.eq(Cat(killed, Signal(16 - len(killed), name="no_count"), drained)),
            view.word4.eq(skipped),
            view.accepted.eq(commands.since),
            view.first_offer.eq(0),
        ]


def put_back_pulse(
    m: Module, port: Any, ends: QueueEnds, ticket: Any, taken: Any, taken_ticket: Any, start: Any
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
    taken : Value
        A launch is taken back from the line.
    taken_ticket, start : Value, mapping
        Its ticket, and its next block.
    """
    m.d.sync += [
        port.valid.eq(ends.puts_back | taken),
        port.ticket.eq(Mux(ends.valid, ticket, taken_ticket)),
        port.fate.eq(Mux(ends.valid, ends.result.fate, Fate.SKIPPED)),
        *(port[name].eq(Mux(ends.valid, ends.kept[name], value)) for name, value in start.items()),
    ]
