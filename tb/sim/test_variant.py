"""Presets with fields changed: what they are called, and what is refused."""

from dataclasses import replace

import pytest

from warploom_sim.variant import variant
from warploom_spec import PRESETS, WarploomError, preset


@pytest.mark.parametrize("name", PRESETS)
def test_nothing_changed_is_the_preset(name: str) -> None:
    same = f"sms={preset(name).sms}"
    for settings in ((), (same,), (same, f"policy={preset(name).policy}")):
        made = variant(name, settings)
        assert (made.name, made.config) == (name, preset(name))


def test_the_name_has_every_change_in_the_fields_order() -> None:
    settings = ["policy=first_fit", "step_from_host=True", "grid_bits=16,8,4", "sms=4"]
    made = variant("tiny", settings)
    assert made.name == "tiny-sms_4-grid_bits_16_8_4-policy_first_fit-step_from_host_True"
    changes = {"policy": "first_fit", "step_from_host": True, "grid_bits": (16, 8, 4), "sms": 4}
    assert made.config == replace(preset("tiny"), **changes)
    assert variant("tiny", settings[::-1]) == made


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["sms=300"], "sms is 300; legal: 1 to 256"),
        (["sms=x"], "sms is 'x'; legal: 1 to 256"),
        (["sms="], "sms is ''; legal: 1 to 256"),
        (["sms=-1"], "sms is -1; legal: 1 to 256"),
        (["sms=4.0"], "sms is '4.0'; legal: 1 to 256"),
        ([f"sms={'9' * 5000}"], "; legal: 1 to 256"),
        (["warp_size=7"], "warp_size is 7; legal: 2, 4, 8, 16, 32, 64"),
        (["policy=x"], "policy is 'x'; legal: first_fit, round_robin, least_loaded, freed_first"),
        (["reclaim=x"], "reclaim is 'x'; legal: in_order, out_of_order"),
        (["grid_bits=16"], "grid_bits is (16,); legal: three widths from 1 to (31, 16, 16)"),
        (["grid_bits=1,2,x"], "grid_bits is (1, 2, 'x'); legal: three widths from 1 to"),
        (["step_from_host=1"], "step_from_host is '1'; legal: True, False"),
        (["SMS=4"], "field is 'SMS'; legal: sms, warp_size, "),
        (["sms"], "setting is 'sms'; legal: FIELD=VALUE, such as sms=4"),
        (["sms=4", "policy=first_fit", "sms=5"], "sms is set twice: to 4 and 5"),
    ],
)
def test_what_is_none_is_refused_with_what_is_legal(settings: list[str], message: str) -> None:
    with pytest.raises(WarploomError) as refusal:
        variant("default", settings)
    assert message in str(refusal.value)


def test_a_name_that_no_file_system_takes_is_refused() -> None:
    tiny, large = vars(preset("tiny")), vars(preset("large"))
    changed = [f"{f}={v}" for f, v in large.items() if v != tiny[f] and f != "grid_bits"][:16]
    more = ["grid_bits=31,16,16", "word_bits=17", "kill_timeout=100", "cores=2", "max_tables=2"]
    assert len(variant("tiny", changed).name) <= 255
    message = "21 fields are changed, .* legal: up to 255"
    with pytest.raises(WarploomError, match=message):
        variant("tiny", [*changed, *more])
