"""KernelQueue: waits and the order of streams are kept, and `wait` is never drained."""

from typing import Final

from amaranth.hdl import Cat

from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.queue_view import PLACES, TICKETS, QueueView, Tickets
from warploom_spec import Config, Fate, Stop
from warploom_spec.queue import Mode

CONFIG: Final = Config(
    sms=1,
    warp_size=8,
    block_slots=1,
    warp_slots=1,
    register_units=1,
    shared_units=1,
    barriers=1,
    max_threads=8,
    grid_bits=(1, 1, 1),
    index_memory_warps=0,
    inline_args=0,
    stream_bits=1,
    priority_bits=1,
    task_bits=1,
    max_tables=1,
    kill_timeout=10,
    queue_depth=2,
    launch_waits=1,
)
SIZE: Final = "2 streams, 2 priorities, 2 entries each, 1 pair"
#: Cycles that are searched: a launch is awaited, ends, and the one that waits for it is handed
#: over.
BOUND: Final = 16
#: Likewise, until a third launch of a stream begins.
THREE: Final = 24


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; its seeded bugs stand in `queue_view.BUGS`."""
    b = FormalBench("kernel_queue", CONFIG, SIZE, fault)
    view = QueueView(b)
    tickets = Tickets(view)
    _state_order(view, tickets)
    _state_stops(view, tickets)
    return b.close()


def _state_order(view: QueueView, tickets: Tickets) -> None:
    """State what has ended, or is in a place, when a launch is handed over."""
    b = view.b
    early, awaited, unordered, beside = [], [], [], []
    for n in range(len(TICKETS)):
        handed = tickets.handed[n]
        for other in range(n):
            named = tickets.waits[n] & (tickets.awaited[n] == tickets.stream[other])
            named &= tickets.accepted[other] & (tickets.number[other] <= tickets.count[n])
            early.append(handed & named & ~tickets.recorded[other])
            awaited.append(handed & named & (tickets.stream[n] != tickets.stream[other]))
            same = tickets.accepted[other] & (tickets.stream[n] == tickets.stream[other])
            first = handed & ~tickets.begun[n] & tickets.after_previous[n] & same
            gone = tickets.recorded[other] | tickets.in_place[other] | tickets.ending[other]
            unordered.append(first & ~gone)
            beside.append(first & tickets.in_place[other])
    b.check(
        "waits",
        "a launch is handed over after the records of all launches that it waits for",
        ~Cat(early).any(),
        fault="waits_unseen",
        cover=("after one of another stream", Cat(awaited).any()),
        bound=BOUND,
        slow=True,
    )
    b.check(
        "order",
        "when a launch with `after_previous` is handed over for the first time, each earlier one "
        "of its stream has its record, is in a place, or was at `ended` in the last three cycles",
        ~Cat(unordered).any(),
        fault="one_stream",
        cover=("beside one of its stream", Cat(beside).any()),
        bound=BOUND,
        slow=True,
    )
    started = [b.value(tickets.begun[n] & ~tickets.recorded[n], f"runs_{n}") for n in range(3)]
    third = Cat(tickets.stream[n] == tickets.stream[0] for n in range(3)).all()
    b.check(
        "two_started",
        "of one stream at most two launches have begun and have no record",
        ~(Cat(started).all() & third),
        fault="records_unseen",
        cover=("a third one of a stream begins", Cat(tickets.begun).all() & third),
        bound=THREE,
        slow=True,
    )


def _state_stops(view: QueueView, tickets: Tickets) -> None:
    """State that a launch of mode `wait` is never drained."""
    b = view.b
    drained, skipped = [], []
    for n, ticket in enumerate(TICKETS):
        waits = tickets.accepted[n] & (tickets.mode[n] == int(Mode.WAIT))
        for p in PLACES:
            here = waits & (view.place_ticket[p] == ticket)
            drained.append(here & (view.stops[p] == int(Stop.DRAIN)))
            skipped.append(here & view.ends[p] & (view.fate == int(Fate.SKIPPED)))
    b.check(
        "never_drained",
        "no launch of mode `wait` is drained",
        ~Cat(drained).any(),
        fault="all_wait",
        cover=("one is taken back", Cat(skipped).any()),
        bound=BOUND,
    )
