"""KernelQueue has a record's place for each launch and each PREEMPT, up to the last place."""

from dataclasses import replace
from typing import Any, Final

from warploom.launch.free_entries import RecordPlaces
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import kernel_queue
from warploom_dev.formal.resident_view import ResidentView
from warploom_dev.planted import Change
from warploom_spec import Config

#: Places for records: few, so that all are taken within the bounds.
RECORDS: Final = 2


class _FewRecords(Config):
    """A configuration with fewer places for records than a core has."""

    @property
    def records(self) -> int:
        """Places for records."""
        return RECORDS


_SMALL: Final = replace(kernel_queue.CONFIG, queue_depth=1, launch_waits=0)
CONFIG: Final = _FewRecords(**vars(_SMALL))
SIZE: Final = f"2 streams, 2 priorities, 1 entry each, no pairs; {RECORDS} places for records"
#: Cycles that are searched, until all places are reserved; until records are made; until all places
#: have one.
RESERVED: Final = 30
OWN: Final = 46
MADE: Final = 48
PLANTED: Final = {
    # A PREEMPT takes no place: launches are sent without one.
    "unreserved": Change(
        RecordPlaces,
        "elaborate",
        "without + self.taken - self.sent - self.preempts",
        "without + self.taken - self.sent",
    ),
    # The head of a run that starts again has its record all the same.
    "twice": kernel_queue.PLANTED["twice"],
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; its seeded bugs stand in `PLANTED`, and in `resident_view.BUGS`."""
    b = FormalBench("kernel_queue_places", CONFIG, SIZE, fault, PLANTED)
    view = ResidentView(b)
    dut = view.dut
    refused = dut.answer.valid & (dut.answer.code != 0)
    preempted = view.preempted
    reserved, unmade = b.register(4, "reserved"), b.register(4, "unmade")
    # A place is given back with `answer`; a PREEMPT's is taken with its answer.
    after = b.value(reserved + preempted - refused, "reserved_after", 4)
    b.m.d.sync += reserved.eq(after + view.sends - view.taken)
    accepted = b.value(dut.answer.valid & (dut.answer.code == 0), "accepts")
    known = b.value(unmade + accepted + preempted, "unmade_after", 4)
    b.m.d.sync += unmade.eq(known - view.record_begins)
    kept = b.register(4, "untaken")
    b.m.d.sync += kept.eq(kept + view.record_begins - view.taken)
    _state(b, view, after, known, kept)
    return b.close()


def _state(b: FormalBench, view: ResidentView, after: Any, known: Any, kept: Any) -> None:
    """State that no more is sent or accepted than there are places, and no record without one."""
    b.check(
        "reserved",
        "a launch is sent and a PREEMPT accepted only with a free place for its record",
        after + view.sends <= RECORDS,
        fault="unreserved",
        cover=("a launch and a PREEMPT take the last two", _last_two(view, after)),
        bound=RESERVED,
        slow=True,
    )
    b.check(
        "own",
        "a record is made only for an accepted launch or PREEMPT, and one for each",
        ~view.record_begins | (known != 0),
        fault="twice",
        cover=("a launch's while a PREEMPT is pending", view.record_names & (known != 0)),
        bound=OWN,
        slow=True,
    )
    b.check(
        "place",
        "a record is made only while a place has none",
        ~view.record_begins | (kept < RECORDS),
        fault="early_taken",
        cover=("the last place gets one", view.record_begins & (kept == RECORDS - 1)),
        bound=MADE,
        slow=True,
    )


def _last_two(view: ResidentView, after: Any) -> Any:
    """Return whether a place is free for neither: both were taken in one cycle."""
    b = view.b
    sent = b.before(view.sends, "sent_then")
    return sent & view.preempted & (after == RECORDS)
