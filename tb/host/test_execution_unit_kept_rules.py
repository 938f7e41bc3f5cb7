"""What ExecutionUnit keeps, and what a task or a reset does not touch; wrong rules among it."""

import pytest

from tb.host import test_execution_unit_rules as rules
from tb.host.test_execution_unit_rules import CONFIG, LAST, RUN, dones, held, play, task
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change
from tb.support.record import made
from tb.support.resettable import resettable
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host.execution_unit import ExecutionUnit
from warploom_golden.host import ExecutionUnit as Model
from warploom_spec.host_errors import HostError

KINDS = pytest.mark.parametrize("kind", [ExecutionUnit, Model], ids=["rtl", "model"])


@pytest.mark.rule("execution_unit", 6, 7, 8)
@KINDS
def test_nothing_of_a_task_is_left_for_the_next_one(kind):
    """The first fails, the second succeeds with one part, the third has its whole time-out."""
    seen = play(
        made(kind, CONFIG),
        run={0: task(parts=2), 12: task(), 20: task(skip_primary=1)},
        arrived=held(1, 5, 7) | held(1, 15, 17),
        failed=held(2, 5, 7),
        failure={5: 0x55},
    )
    assert dones(seen) == {
        7: (HostError.CORE_FAILED, 1, 0x55, 0b01, 0b11, 1),
        17: (0, 0, 0, 1, 1, 2),
        20 + LAST + 2: (HostError.CORE_TIMEOUT, 1, 0, 0, 0b10, 3),
    }
    assert seen.cycles("cores__barrier_open") == [7, 17, 20 + LAST + 2]


@pytest.mark.rule("execution_unit", 1, 3, 8)
@KINDS
def test_code_and_arguments_stay_while_a_start_stands(kind):
    """The start stands to 20, behind the time-out. `run` has other fields, and is not valid."""
    noise = RUN.pack(RUN.unpack(task(parts=3, first=9, code=98, arguments=99)) | {"valid": 0})
    seen = play(
        made(kind, CONFIG),
        run=held(noise, 1, 39) | {0: task(first=7, small=3, code=5, arguments=6)},
        start__ready=held(0, 1, 19),
    )
    assert seen.port("cores__code")[1:21] == [5] * 20
    assert seen.port("cores__arguments")[1:21] == [6] * 20
    assert len(set(seen.port("cores__start__payload")[1:21])) == 1
    assert seen.cycles("cores__start__valid") == list(range(1, 21))
    assert list(dones(seen)) == [LAST + 2]


@pytest.mark.rule("execution_unit", 8)
@KINDS
def test_without_a_time_out_a_task_waits(kind):
    config = config_of("tiny,core_timeout=0")
    seen = play(made(kind, config), 110, run={0: task(parts=2)}, arrived=held(3, 100, 102))
    assert dones(seen) == {102: (0, 0, 0, 3, 3, 1)}
    assert (seen.cycles("busy"), seen.cycles("missing")) == (list(range(1, 102)), [])


@pytest.mark.rule("execution_unit", 11, 12)
@KINDS
def test_a_reset_ends_a_task_once_and_keeps_the_count_of_strays(kind):
    """Core 3, which has no part, rises in 1 and in 14. The reset lasts from 8 to 10."""
    seen = play(
        made(kind, CONFIG),
        run={5: task()},
        reset=held(1, 8, 10),
        arrived=held(8, 1, 2) | held(8, 14, 15),
    )
    assert dones(seen) == {9: (HostError.RESET, 0, 0, 0, 0, 1)}
    assert seen.cycles("cores__cancel") == [9, 10, 11]
    assert seen.cycles("busy") == [6, 7, 8]
    assert seen.port("strays") == [*[0] * 3, *[1] * 13, *[2] * 24]


@pytest.mark.rule("execution_unit", 7, 11)
@KINDS
@pytest.mark.parametrize("reset", [7, 8])
def test_a_reset_behind_the_end_of_a_task_changes_nothing_of_it(kind, reset):
    """The task is complete in 6: `done` and `barrier_open` are 1 in 7, `error` comes in 8."""
    seen = play(made(kind, CONFIG), run={0: task()}, arrived=held(1, 5, 7), reset={reset: 1})
    assert dones(seen) == {7: (0, 0, 0, 1, 1, 1)}
    assert seen.cycles("cores__barrier_open") == [7]
    assert seen.cycles("cores__cancel") == [reset + 1]


@pytest.mark.rule("execution_unit", 1, 12)
@KINDS
def test_a_reset_of_the_machine_begins_with_task_1_and_no_levels(kind):
    """It comes in 20, while a task runs. Core 3 has no part, and is at 1 from 5 to 30.

    It is a stray in 5 and in 21: the levels of 20 count as 0.
    """
    seen = play(
        resettable(kind(CONFIG)),
        run={0: task(), 4: task(), 14: task(), 31: task()},
        reset={2: 1, 8: 1},
        arrived=held(8, 5, 30) | held(1, 35, 37),
        reset_now=held(0, 0, 39) | {20: 1},
    )
    assert dones(seen) == {
        3: (HostError.RESET, 0, 0, 0, 0, 1),
        9: (HostError.RESET, 0, 0, 0, 0, 2),
        37: (0, 0, 0, 1, 1, 1),
    }
    assert seen.cycles("busy") == [1, 2, *range(5, 9), *range(15, 21), *range(32, 37)]
    assert seen.port("strays") == [*[0] * 7, *[1] * 14, 0, 0, *[1] * 17]


SHOWS = "self._shown_error, self._next_error = self._next_error, None"
WRONG = {
    "a failure is that of the next task, too": WrongRule(
        test_nothing_of_a_task_is_left_for_the_next_one,
        (
            Change(
                ExecutionUnit,
                "_explain",
                "(some | failing.any()) & self.busy",
                "some | failing.any()",
            ),
            Change(
                Model,
                "_forget_cores",
                "= None",
                '= getattr(self, "_failure", None)',
            ),
        ),
    ),
    "the code follows `run` once the task has ended": WrongRule(
        test_code_and_arguments_stay_while_a_start_stands,
        (
            Change(
                ExecutionUnit,
                "_split",
                "with m.If(~(self.busy | valid)):",
                "with m.If(~self.busy):\n"
                "        m.d.sync += self.cores.code.eq(run.code)\n"
                "    with m.If(~(self.busy | valid)):",
            ),
            Change(
                Model,
                "tick",
                "ended = self._busy or",
                'self._code = self._code if self._busy else run["code"]\n    ended = self._busy or',
            ),
        ),
    ),
    "a reset clears the count of strays": WrongRule(
        test_a_reset_ends_a_task_once_and_keeps_the_count_of_strays,
        (
            Change(
                ExecutionUnit,
                "_count_strays",
                "with m.If(some & ~self.strays.all()):",
                "with m.If(self.reset):\n"
                "        m.d.sync += self.strays.eq(0)\n"
                "    with m.Elif(some & ~self.strays.all()):",
            ),
            Change(
                Model,
                "_cancel",
                "self._missing = set()",
                "self._missing = set(); self._strays = 0",
            ),
        ),
    ),
    "a reset in the cycle of `done` is the task's error": WrongRule(
        test_a_reset_behind_the_end_of_a_task_changes_nothing_of_it,
        (
            Change(
                ExecutionUnit,
                "_explain",
                "m.If(by_reset)",
                "m.If(by_reset | self.reset)",
            ),
            Change(
                Model,
                "tick",
                SHOWS,
                f"{SHOWS}\n"
                '    if inputs["reset"] and self._shown_error is not None:\n'
                "        self._shown_error = self._error.pack("
                '{"code": HostError.RESET, "core": 0, "argument": 0})',
            ),
        ),
        (7,),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (ExecutionUnit, Model), rules, monkeypatch)
