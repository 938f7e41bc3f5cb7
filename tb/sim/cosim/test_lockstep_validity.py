"""The lockstep harness compares a pulse's fields, and a payload, only while they are valid."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tb.support.deep_values import thorough_but
from tb.support.lockstep_runs import failure_of
from tb.support.port_zoo import PortZoo
from tb.support.pulse_zoo import PULSE, PulseZoo, Sending, make_pulses
from tb.support.record import record
from warploom_sim.cosim.lockstep import Case, Ports, run_one
from warploom_sim.cosim.lockstep.validity import Validity


def sends(inputs: Mapping[str, int], outputs: Mapping[str, int]) -> bool:
    return inputs["send"] == 1


def shows(inputs: Mapping[str, int], outputs: Mapping[str, int]) -> bool:
    """Tell whether a pulse is seen, by one who looks at no valid."""
    return outputs["pulse"] != 0 or outputs["pair"] != 0


def case(seed: int, **options: str) -> Case:
    events = {"sends": sends, "shows": shows}
    return Case(
        make=make_pulses, seed=seed, cycles=600, stimulus=Sending, options=options, events=events
    )


@pytest.mark.parametrize("simulator", thorough_but(["amaranth"], ["amaranth", "icarus"]))
def test_fields_that_are_not_valid_are_not_compared(simulator: str, seed: int) -> None:
    """The component keeps its last number on all outputs; its model has 0 there."""
    result = run_one(case(seed), simulator)
    assert result.counts["shows"] == result.counts["sends"] > 0
    # Three outputs in every cycle; two more while they are valid.
    sent = (result.compared - 3 * 600) / 2
    assert result.counts["sends"] <= sent < 600


@pytest.mark.parametrize(
    ("fault", "port"),
    [("PULSE", "pulse"), ("PAIR", "pair"), ("PAYLOAD", "o__payload"), ("VALID", "pulse")],
)
@pytest.mark.parametrize("simulator", thorough_but(["amaranth"], ["amaranth", "icarus"]))
def test_a_wrong_field_that_is_valid_is_found(
    simulator: str, fault: str, port: str, seed: int
) -> None:
    failure = failure_of(case(seed, fault=fault), simulator, waves=False).failure
    ((found, got, want),) = failure.differences
    assert found == port
    if fault == "VALID":
        # The model's pulse is not valid: all of it is 0.
        assert want == "0x0" and failure.fields[0] == ("pulse", "valid", "1", "0")
    else:
        wrong = 1 << PULSE.offsets["code"] if fault == "PULSE" else 1
        assert int(got, 16) ^ int(want, 16) == wrong


def without_the_wrong_bit(outputs: Mapping[str, int]) -> dict[str, int]:
    """Return `pulse` without the bit that the fault ``PULSE`` changes."""
    return {"pulse": outputs["pulse"] & ~(1 << PULSE.offsets["code"])}


def test_what_a_case_says_to_mean_nothing_is_not_compared(seed: int) -> None:
    run_one(replace(case(seed, fault="PULSE"), meant=without_the_wrong_bit), "amaranth")
    other = replace(case(seed, fault="PAIR"), meant=without_the_wrong_bit)
    assert failure_of(other, waves=False).failure.differences[0][0] == "pair"


class Unsent:
    """A number that is sent in cycle 0 alone."""

    def next(self, outputs: Mapping[str, int | None] | None) -> dict[str, int]:
        return {"send": int(outputs is None), "number": 5, "fault": 0}


def test_a_recording_shows_a_pulse_that_is_not_valid_as_zero() -> None:
    seen = record(PulseZoo(), Unsent(), 3)
    assert seen.port("pulse") == [PULSE.pack({"valid": 1, "code": 5}), 0, 0]
    assert seen.port("pair") == [5, 0, 0]


def test_outputs_without_a_valid_are_always_compared() -> None:
    """Neither is a stream that is always valid, nor an input."""
    assert Validity(Ports.of(PortZoo())).valids == {}
    assert set(Validity(Ports.of(PulseZoo())).valids) == {"pulse", "pair", "o__payload"}
