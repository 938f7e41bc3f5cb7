"""LaunchPath takes each stop soon and answers it once, soon: what Mailbox relies on for aborts."""

from typing import Any, Final

from amaranth.hdl import Mux

from warploom.launch import LaunchPath
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties.launch_path import BOUND, CONFIG, FREE
from warploom_dev.planted import Change

_COUNT_BITS: Final = 2
#: Cycles in a row in which `stop` is refused, and from a stop to its answer, at most.
REFUSED: Final = 2
ANSWERED: Final = 3

#: Seeded bugs in the block's source.
PLANTED: Final = {
    "waits_on": Change(
        LaunchPath,
        "_stop",
        "(handed & search.is_oldest) | search.enters",
        "search.is_oldest | search.enters",
    ),
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; with ``phantom_stop`` the block sees a stop in every cycle.

    With ``waits_on`` a stop waits as long as its launch is the oldest that waits.
    """
    size = "1 SM with 1 slot and 2 warps, grids of 1 block"
    b = FormalBench("launch_path_stops", CONFIG, size, fault, PLANTED)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = LaunchPath(CONFIG, soft_reset=True)
    stop = b.partly(dut.stop.payload.shape(), {"ticket": 0b11}, "stop", b.free)
    launch = b.partly(dut.launch.payload.shape(), FREE, "launch", b.free)
    sent = b.free(1, "stop__valid")
    seen = 1 if fault == "phantom_stop" else sent
    b.drive(dut, stop__payload=stop, stop__valid=seen, launch__payload=launch)
    stops = b.register(_COUNT_BITS, "stops")
    taken, answered = sent & dut.stop.ready, dut.stop_answer.valid
    # A restart forgets what was not answered.
    restart = b.inputs["restart"]
    b.m.d.sync += stops.eq(Mux(restart, 0, stops + taken - answered))
    b.check(
        "one_answer",
        "a stop is answered after it was taken, and once; two are on their way at most",
        (~answered | (stops != 0)) & (stops <= 2),
        fault="phantom_stop",
        cover=("one is answered with an error", answered & (dut.stop_answer.code != 0)),
    )
    waits = in_a_row(b, (stops != 0) & ~answered & ~restart, "waits")
    b.check(
        "answered",
        f"a stop is answered {ANSWERED} cycles after it was taken at the latest",
        waits < ANSWERED,
        fault="waits_on",
        cover=("as late as that", answered & (waits == ANSWERED - 1)),
        bound=BOUND,
    )
    refused = in_a_row(b, ~dut.stop.ready & ~restart, "refused")
    b.check(
        "taken",
        f"`stop` is refused in {REFUSED} cycles in a row at most",
        refused <= REFUSED,
        fault="waits_on",
        cover=("in as many, and then taken", taken & (refused == REFUSED)),
        bound=BOUND,
    )
    return b.close()


def in_a_row(b: FormalBench, holds: Any, name: str) -> Any:
    """Return in how many cycles before this one, in a row, something held; it stays at 7."""
    count = b.register(3, f"{name}_in_a_row")
    b.m.d.sync += count.eq(Mux(holds, count + ~count.all(), 0))
    return count
