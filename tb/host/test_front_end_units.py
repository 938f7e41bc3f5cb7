"""A FrontEnd with several units: each hears its own section, its own reset and its own cores."""

import pytest

from tb.support import front_end_script
from tb.support.dispatch_configs import config_of
from tb.support.front_end_script import command, play, read_of, read_section, write_to
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host.front_end import FrontEnd
from warploom_dev.rewrite import Rewrite
from warploom_golden.host import FrontEnd as Model

THREE = config_of("tiny,units=3,sections=4")
#: One part of 9 elements from 100 on.
RUN = (1, 100, 1, 9)
RESET, NO_UNIT = 55, 49


@pytest.mark.parametrize("kind", [FrontEnd, Model], ids=["rtl", "model"])
def test_each_unit_is_its_section_s_own(kind):
    """Each section runs a task. Unit 1 is reset in 50, core 0 of unit 2 arrives in 70.

    Then core 0 of unit 1, which has no part any more, comes three times.
    """
    accesses = [access for section in range(4) for access in command(0, section, RUN)]
    accesses += [read_of(THREE, 40, "UNIT_STATE"), write_to(THREE, 44, "UNIT_RESET", 0b010)]
    accesses += [read_of(THREE, 50, "UNIT_STATE")]
    accesses += [read_section(52, section, "DOORBELL") for section in range(4)]
    accesses += [read_section(60, section, "ERROR") for section in range(4)]
    accesses += [read_of(THREE, 75, "UNIT_STATE")]
    accesses += [read_section(76, section, "ASSIGNED") for section in range(4)]
    accesses += [read_of(THREE, 90, f"STRAYS{unit}") for unit in range(3)]
    recording, found = play(
        kind,
        THREE,
        accesses,
        110,
        cores__2__arrived=lambda cycle: int(70 <= cycle < 74),
        cores__1__arrived=lambda cycle: int(cycle in (81, 83, 85)),
    )
    assert found[:2] == [0b111, 0b101]
    assert found[2:6] == [1, 0, 1, 0]
    assert found[6:10] == [0, RESET, 0, NO_UNIT]
    assert found[10] == 0b001
    assert found[11:15] == [0, 0, 1, 0]
    assert found[15:] == [0, 3, 0]
    for unit in range(3):
        assert len(recording.transfers(f"cores__{unit}__start")) == 1
        assert len(recording.cycles(f"cores__{unit}__cancel")) == int(unit == 1)


WRONG = {
    "all units are reset by bit 0": (
        Rewrite(
            FrontEnd,
            "_units",
            "registers.unit_reset[k]",
            "registers.unit_reset[0]",
        ),
        Rewrite(Model, "_follow", 'control["unit_reset"] >> k & 1', 'control["unit_reset"] & 1'),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    wrong = WrongRule(test_each_unit_is_its_section_s_own, WRONG[rule])
    demand_found(wrong, (FrontEnd, Model), front_end_script, monkeypatch)
