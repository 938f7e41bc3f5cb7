"""KernelQueue: no launch is lost or doubled, however often it is stopped and goes on."""

from dataclasses import replace
from typing import Any, Final

from amaranth.hdl import Cat, Mux, Value

from warploom.launch._queue_ends import QueueEnds
from warploom.launch._queue_jobs import QueueJobs
from warploom.launch._queue_streams import QueueStreams
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import kernel_queue
from warploom_dev.formal.queue_view import PLACES, QueueView
from warploom_dev.planted import Change
from warploom_spec import Fate
from warploom_spec.queue import RecordKind

CONFIG: Final = replace(kernel_queue.CONFIG, launch_waits=0)
SIZE: Final = "2 streams, 2 priorities, 2 entries each, no pairs"
#: Cycles that are searched: a launch is stopped, put back, handed over again, and has its record.
BOUND: Final = 20
#: Likewise, of what takes longest.
LONGEST: Final = 16
#: Cycles from `ended` to a record or `put_back`.
JUDGED: Final = 2
PLANTED: Final = {
    # A suspended launch that goes on is still suspended.
    "goes_on_twice": Change(
        QueueStreams,
        "_started",
        "self.suspended[k] & ~chosen & stays[k]",
        "self.suspended[k] & stays[k]",
    ),
    # A launch that has ended in the list has a second record when it passes.
    "passes_twice": Change(
        QueueJobs,
        "_end",
        "self.over_record.eq(self.ends | ~self.head_ended)",
        "self.over_record.eq(1)",
    ),
    # A killed launch is neither put back nor final.
    "dropped_kill": Change(
        QueueEnds,
        "_judge",
        "self.puts_back.eq(self.arrives & ~final)",
        "self.puts_back.eq(self.arrives & ~final & ~killed)",
    ),
}


class OneLaunch:
    """The launch of one ticket, which may be any of the first three, from the ports alone.

    Attributes
    ----------
    accepted, recorded : Signal
        State: its ticket was given; it has its record.
    made, offered, handed, put_back : Value
        In this cycle its record comes, it is offered, it is handed over, it is put back.
    in_place, ends, finishes : Value
        It is in a place and not at ``ended``; it is at ``ended``, and has finished.
    came_back, stopped, again : Signal
        State: it was put back; after a kill or drain; and handed over since.
    alone : Value
        It is the only launch that is accepted and has no record.
    """

    def __init__(self, view: QueueView) -> None:
        b, dut = view.b, view.dut
        ticket = b.constant(2, "ticket")
        answer, record, back = dut.answer, dut.record, dut.put_back
        self.accepted, self.recorded = b.register(1, "accepted"), b.register(1, "recorded")
        self.came_back, self.stopped, self.again = (
            b.register(1, name) for name in ("came_back", "stopped", "again")
        )

        def mine(happens: Value, its: Any, name: str) -> Any:
            return b.value(happens & (its == ticket) & ticket.any(), name)

        is_launch = record.valid & (record.kind == int(RecordKind.LAUNCH))
        self.made = mine(is_launch, record.ticket, "made")
        self.handed = mine(view.handed, dut.launch.payload.ticket, "handed_over")
        self.offered = mine(dut.launch.valid, dut.launch.payload.ticket, "offered")
        self.put_back = mine(back.valid, back.ticket, "is_put_back")
        here = [mine(view.occupied[p], view.place_ticket[p], f"here_{p}") for p in PLACES]
        ends = [mine(view.ends[p], view.place_ticket[p], f"ends_here_{p}") for p in PLACES]
        self.in_place = b.value(Cat(here).any(), "in_place")
        self.ends = b.value(Cat(ends).any(), "ends")
        self.finishes = b.value(self.ends & (view.fate == int(Fate.FINISHED)), "finishes")
        by_stop = (back.fate == int(Fate.KILLED)) | (back.fate == int(Fate.DRAINED))
        given = mine(answer.valid, answer.ticket, "given")
        b.m.d.sync += [
            self.accepted.eq(self.accepted | given),
            self.recorded.eq(self.recorded | self.made),
            self.came_back.eq(self.came_back | self.put_back),
            self.stopped.eq(self.stopped | (self.put_back & by_stop)),
            self.again.eq(self.again | (self.handed & self.stopped)),
        ]
        unfinished = b.register(4, "unfinished")
        b.m.d.sync += unfinished.eq(unfinished + (answer.valid & answer.ticket.any()) - is_launch)
        self.alone = b.value((unfinished == 1) & ~answer.valid, "alone")


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; its seeded bugs are those of `PLANTED`."""
    b = FormalBench("kernel_queue_launches", CONFIG, SIZE, fault, PLANTED)
    view = QueueView(b)
    launch = OneLaunch(view)
    _state_ends(b, launch)
    _state_doubles(b, launch)
    return b.close()


def _state_ends(b: FormalBench, launch: OneLaunch) -> None:
    """State what becomes of a launch that leaves a place."""
    ended = b.past(launch.ends, JUDGED, "judged")
    finished = b.past(launch.finishes, JUDGED, "finished")
    b.check(
        "record_or_back",
        f"{JUDGED} cycles after its `ended` a launch has its record or is put back, not both; one "
        "that has finished has its record",
        ~ended | Mux(finished, launch.made & ~launch.put_back, launch.made ^ launch.put_back),
        fault="dropped_kill",
        cover=(
            "the record of one that was killed or drained, put back and handed over again",
            ended & launch.made & launch.again,
        ),
        bound=BOUND,
    )


def _state_doubles(b: FormalBench, launch: OneLaunch) -> None:
    """State that a launch is in one place at a time, and has one record."""
    waits = launch.accepted & ~launch.recorded
    recent = Cat(launch.ends, *(b.past(launch.ends, k + 1, f"ended_{k}") for k in range(JUDGED)))
    b.check(
        "handed_once",
        "a launch is handed over after its answer and before its record, and neither while it is "
        f"in a place nor up to {JUDGED} cycles after its `ended`",
        ~launch.handed | (waits & ~launch.made & ~launch.in_place & ~recent.any()),
        fault="goes_on_twice",
        cover=(
            "one that was killed or drained is handed over again",
            launch.handed & launch.stopped,
        ),
        bound=LONGEST,
        slow=True,
    )
    b.check(
        "one_record",
        "a ticket has one record at most, after its answer, and none while its launch is in a "
        "place",
        ~launch.made | (waits & ~launch.in_place & ~launch.ends),
        fault="passes_twice",
        cover=("of one that was put back", launch.made & launch.came_back),
        bound=LONGEST,
        slow=True,
    )
