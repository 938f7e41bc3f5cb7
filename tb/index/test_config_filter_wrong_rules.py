"""A rule of ConfigFilter's, wrong in RTL and model alike, is found by its own test."""

import pytest

from tb.index import test_config_filter_rules as rules
from tb.support.planted import Change
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.index import ConfigFilter
from warploom_golden.index import ConfigFilter as Model


def test_a_count_of_errors_that_wraps_in_rtl_and_model_alike_is_found(monkeypatch):
    wrong = WrongRule(
        rules.test_the_error_counter_stays_at_its_highest_value,
        (
            Change(ConfigFilter, "_pulses", "self.error_count + ~highest", "self.error_count + 1"),
            Change(
                Model,
                "_release",
                "min(self._error_count + 1, highest)",
                "(self._error_count + 1) % (highest + 1)",
            ),
        ),
        (pytest.MonkeyPatch,),
    )
    demand_found(wrong, (ConfigFilter, Model), rules, monkeypatch)
