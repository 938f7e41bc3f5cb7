"""From a real binary to the back end: the calls of a run come out the same, in the same order."""

import pytest

from tb.loops.loop_truth import BINARIES, at_each_level
from tb.loops.recorded_run import build_runtime, record, returns_of
from tb.loops.test_marks_against_runs import PROGRAMS
from tb.support.deep_values import thorough_but
from warploom_golden.deferral.back_end import BackEnd
from warploom_golden.deferral.front_end import FrontEnd
from warploom_golden.deferral.message import decode
from warploom_loops.elf_image import read_image
from warploom_loops.loop_finder import find_loops
from warploom_loops.program import Program
from warploom_sim.methods.defer.marked_plan import NUMBER_BYTES, loop_plan


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    built = build_runtime(tmp_path_factory.mktemp("runtime"))
    if built is None:
        pytest.fail("no C compiler for the stand-in of CUDA's run-time")
    return built


class Run:
    """A recorded run, played through front end, messages and back end.

    Parameters
    ----------
    program : Path
        The binary.
    calls : list of Made
        What it called, in order.
    """

    def __init__(self, program, calls):
        self._calls = calls
        reader = Program(read_image(program))
        self._sites = {}
        self.plans = []
        for loop in find_loops(program).deferrable:
            sites = [returns_of(reader, call.site) for call in loop.calls]
            if plan := loop_plan(loop, sites):
                self.plans.append(plan)
                self._sites |= {site: len(site) for site in sites}
        self.log = []
        self.groups = []
        self._back_end = BackEnd()
        names = {call.name for call in calls}
        self._back_end.open(1, {name: self._function(name) for name in names})

    def play(self):
        """Make all calls; a result goes on as the front end gave it."""
        front = FrontEnd(1, self.plans, self._send)
        given = {}
        for call in self._calls:
            values = [self._value(value, given) for value in call.values]
            result = front.call(self._site(call), call.name, *values)
            if call.result is not None:
                given[call.result] = result
        front.flush()

    def _send(self, data):
        self.groups.append(decode(data))
        self._back_end.receive(1, data)
        return self._back_end.run_next(1)

    def _site(self, call):
        """Return the site of a plan that the call's way back begins with, else the whole way."""
        for length in set(self._sites.values()):
            if call.returns[:length] in self._sites:
                return call.returns[:length]
        return call.returns

    @staticmethod
    def _value(value, given):
        """Return a value, or the stand-in of the result that it points into."""
        if value.bit_length() > 8 * NUMBER_BYTES:
            return value.to_bytes(-(-value.bit_length() // 8), "little")
        for result, stand_in in given.items():
            if abs(value - result) < 4096 and isinstance(stand_in, int):
                return stand_in + value - result
        return value

    def _function(self, name):
        def run(*values):
            made = self._calls[len(self.log)]
            self.log.append((name, *(value for value in values)))
            return 0, made.result or 0

        return run

    def expected(self):
        """Return the recorded calls as the back end's functions see them."""
        return [
            (call.name, *(self._value(value, {}) for value in call.values)) for call in self._calls
        ]


def doubled(calls):
    """Return a run in which everything is entered twice in a row."""
    return [*calls, *calls]


@at_each_level
@pytest.mark.parametrize("program", thorough_but(["launches", "late"], PROGRAMS))
def test_the_same_calls_in_the_same_order(program, level, runtime, tmp_path):
    file = BINARIES / "built" / f"{program}-O{level}"
    calls = record(file, runtime, tmp_path)
    run = Run(file, doubled(calls))
    run.play()
    assert run.log == run.expected()
    # Every loop that the front end knows came as a group, in both entries.
    loops = [group for group in run.groups if group.count > 1]
    assert len(loops) >= 2 * len(run.plans) >= 30
    classes = {1, 2} if program in ("launches", "shapes") else {1, 2, 3}
    assert {group.loop_class for group in loops} == classes
    assert len(run.groups) < len(run.log) / 4 + 5
