"""Loops on the core's RTL, in benches of C++: random ones, a long one, one that is stopped.

What each bench holds stands in ``core_bench/``. Long runs are deep; the others are short.
"""

import pytest

from tb.host.core_bench import bench, built_program
from tb.host.test_front_end import LOOPS
from tb.support.deep_values import thorough_but
from tb.support.dispatch_configs import config_of
from warploom_spec.errors import ErrorCode
from warploom_spec.host_errors import HostError

# One worker, so that the core is built once.
pytestmark = pytest.mark.xdist_group("core_bench_loops")
deep = pytest.mark.deep
#: Two of three sections loop; the third one preempts.
CONFIG = config_of(LOOPS)


@pytest.fixture(scope="module")
def program():
    return built_program(CONFIG)


def loops(program, seed, count):
    """Run random loops on all sections; demand that each kind of thing has happened."""
    found = bench(program, "loops", seed=seed, loops=count)
    assert found["loops"] >= count
    names = "loops of several templates", "loops whose slots wrap", "loops of 0 iterations"
    names += "all sections loop", "PREEMPTs beside loops", "other launches beside loops"
    names += "loops stopped", "LOOPs over busy slots", "relative waits", "records"
    names += "templates written", "templates refused", "launches that began again"
    assert [name for name in names if not found.get(name)] == []
    return found


@pytest.mark.thorough
def test_each_launch_of_random_loops_is_that_of_the_hosts_own_loop(program, seed):
    loops(program, seed, 100)


@deep
def test_so_for_ten_thousand_loops(program, seed):
    assert loops(program, seed, 10_000)["launches of loops"] > 100_000


@pytest.mark.parametrize(
    ("launches", "preempts"),
    [
        pytest.param(10_000, 20, marks=pytest.mark.thorough),
        pytest.param(1_000_000, 100, marks=deep),
    ],
)
def test_no_launch_of_a_long_loop_is_lost_or_doubled_by_preempts(program, launches, preempts, seed):
    found = bench(program, "one_loop", seed=seed, launches=launches, preempts=preempts)
    assert found["launches"] == launches
    taken = found["PREEMPTs that were taken"]
    assert taken == found["PREEMPTs"] == found["records of PREEMPTs"] == preempts
    assert found["stood still"] == preempts and found["launches that began again"] > 0


@pytest.mark.thorough
def test_a_template_that_is_written_around_its_loop_is_seen_or_refused(program):
    """The doorbell is written in cycle 20. Once a slot is taken it is refused, until the end."""
    found = bench(program, "template_writes", first=0, last=250)
    assert found["seen, or too late"] > 30 and found["refused"] > 50
    # Of the two slots one is taken a cycle later, and given back so.
    assert found["refused after one that was not"] <= 3
    assert found["launches"] == 250 * 8


#: What stops a loop, in the order of the bench, and what it then says.
STOPS = {
    "LOOP_STOP": {HostError.OK, HostError.LOOP_STOPPED},
    "ABORT_STREAMS": {HostError.OK, HostError.LAUNCH_FAILED},
    "soft reset": {HostError.OK, HostError.RESET},
    "UNIT_RESET": {HostError.OK},
    "lost SM": {HostError.OK, HostError.LAUNCH_FAILED},
    "fault": {HostError.OK, HostError.LAUNCH_FAILED},
    "refusal": {ErrorCode.GRID_ZERO},
}
#: A loop of six launches is over by then.
LAST = 420


@pytest.mark.parametrize("step", thorough_but([], [7]) + [pytest.param(1, marks=deep)])
@pytest.mark.parametrize("kind", STOPS)
def test_a_loop_that_is_stopped_in_any_cycle_has_one_outcome(program, kind, step, seed):
    """Its counts are those of launches and records; the next LOOP is like the first."""
    number, first = list(STOPS).index(kind), seed % step
    found = bench(program, "loop_stops", kind=number, first=first, last=LAST, step=step)
    assert found["stops"] == len(range(first, LAST, step))
    codes = {int(name[6:]) for name in found if name.startswith("error ")}
    # A launch may be refused for its broken stream before the loop hears of the lost SM.
    codes -= {ErrorCode.STREAM_BROKEN} if kind == "lost SM" else set()
    assert codes == STOPS[kind]
    assert kind != "lost SM" or found["SMs lost"] > 10
