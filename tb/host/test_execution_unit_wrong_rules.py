"""ExecutionUnit's rules, wrong in RTL and model alike: each is found by its own test."""

import pytest

from tb.host import test_execution_unit_rules as rules
from tb.host.test_execution_unit_rules import CONFIG
from tb.support.planted import Change
from tb.support.record import made
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host.execution_unit import ExecutionUnit
from warploom_dev.rewrite import Rewrite
from warploom_golden.host import ExecutionUnit as Model


def united(test):
    """Return the test of a unit, RTL or model, as one that makes it."""
    return lambda block, *arguments: test(made(block, CONFIG), *arguments)


WRONG = {
    "a time-out names the highest core that is late": WrongRule(
        united(rules.test_a_time_out_names_the_lowest_core_that_is_late),
        (
            Change(
                ExecutionUnit,
                "_explain",
                "latest.eq(lowest_number(late))",
                "latest.eq(len(late) - 1 - lowest_number(late[::-1]))",
            ),
            Rewrite(Model, "_end", "min(self._missing)", "max(self._missing)"),
        ),
        (0b0101,),
    ),
    "a time-out names core 0": WrongRule(
        united(rules.test_a_time_out_names_the_lowest_core_that_is_late),
        (
            Change(
                ExecutionUnit,
                "_explain",
                "latest.eq(lowest_number(late))",
                "latest.eq(0)",
            ),
            Rewrite(Model, "_end", "min(self._missing)", "0"),
        ),
        (0b0011,),
    ),
    "a core without a part is late": WrongRule(
        united(rules.test_a_core_that_got_no_part_is_not_late),
        (
            Rewrite(ExecutionUnit, "elaborate", "late = assigned & ~ended", "late = ~ended"),
            Rewrite(
                Model,
                "_end",
                "self._missing = self._assigned - self._arrived",
                "self._missing = set(self._cores) - self._arrived",
            ),
        ),
    ),
    "strays wrap": WrongRule(
        rules.test_strays_stay_at_the_highest_value,
        (
            Rewrite(
                ExecutionUnit,
                "_count_strays",
                "some & ~self.strays.all()",
                "some",
            ),
            Rewrite(
                Model,
                "_count_strays",
                "min(self._strays + 1, MOST_STRAYS)",
                "(self._strays + 1) % (MOST_STRAYS + 1)",
            ),
        ),
        (pytest.MonkeyPatch,),
    ),
    "strays stay one below the highest value": WrongRule(
        rules.test_strays_stay_at_the_highest_value,
        (
            Rewrite(
                ExecutionUnit,
                "_count_strays",
                "self.strays.all()",
                "self.strays[1:].all()",
            ),
            Rewrite(
                Model,
                "_count_strays",
                "min(self._strays + 1, MOST_STRAYS)",
                "min(self._strays + 1, MOST_STRAYS - 1)",
            ),
        ),
        (pytest.MonkeyPatch,),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (ExecutionUnit, Model), rules, monkeypatch)
