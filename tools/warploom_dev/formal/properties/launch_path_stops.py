"""LaunchPath answers each stop once: what Mailbox relies on for its aborts."""

from typing import Any, Final

from amaranth.hdl import Mux

from warploom.launch import LaunchPath
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties.launch_path import CONFIG, FREE

_COUNT_BITS: Final = 2


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; with ``phantom_stop`` the block sees a stop in every cycle."""
    size = "1 SM with 1 slot and 2 warps, grids of 1 block"
    b = FormalBench("launch_path_stops", CONFIG, size, fault)
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
    b.m.d.sync += stops.eq(Mux(b.inputs["restart"], 0, stops + taken - answered))
    b.check(
        "one_answer",
        "a stop is answered after it was taken, and once; two are on their way at most",
        (~answered | (stops != 0)) & (stops <= 2),
        fault="phantom_stop",
        cover=("one is answered with an error", answered & (dut.stop_answer.code != 0)),
    )
    return b.close()
