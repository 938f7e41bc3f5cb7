"""Packets in a failure's report: the fields that differ, by name."""

import re

import pytest
from amaranth.hdl import Signal
from amaranth.lib import data

from tb.launch.test_launch_check import case
from tb.support.planted import plant
from tb.support.seeded_faults import LAUNCH_CHECK
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_sim.cosim.lockstep.packet_fields import differing, fields_of
from warploom_spec import layouts, preset

NESTED = data.StructLayout(
    {
        "valid": 1,
        "empty": 0,
        "parts": data.ArrayLayout(3, 2),
        "inner": data.StructLayout({"low": 4, "high": 8}),
    }
)


def test_fields_stand_where_the_layout_has_them():
    assert tuple(field[:3] for field in fields_of(Signal(NESTED))) == (
        ("valid", 0, 1),
        ("parts[0]", 1, 3),
        ("parts[1]", 4, 3),
        ("inner.low", 7, 4),
        ("inner.high", 11, 8),
    )
    assert fields_of(Signal(8)) == ()


def test_the_fields_that_differ_are_named():
    fields = fields_of(Signal(NESTED))
    got = 1 | 5 << 4 | 0x7A << 11
    assert differing(fields, got, 1 | 5 << 4 | 0x7B << 11) == [
        ("inner.high", "122 (0x7a)", "123 (0x7b)")
    ]
    assert differing(fields, got, got ^ 1 ^ 2 << 4) == [("valid", "1", "0"), ("parts[1]", "5", "7")]
    assert differing(fields, got, got) == []
    # A value that a simulator could not resolve is -1.
    assert differing(fields, -1, got) == []


def test_a_failures_report_names_the_fields(seed, monkeypatch):
    plant(monkeypatch, [LAUNCH_CHECK["warps"]])
    # With one seed in ten the first difference is a refusal, which has no number of warps.
    for n in range(24):
        with pytest.raises(LockstepError) as caught:
            run([case("tiny", seed + n)], "amaranth", waves=False)
        if "warps" in named_fields(caught.value):
            return
    raise AssertionError("the fault's own field is never named")


def named_fields(error):
    """Return the fields that a report names; demand that they are the packet's, and differ."""
    report = str(error)
    (port,) = re.findall(r"^  (o__payload): got 0x[0-9a-f]+, want 0x[0-9a-f]+$", report, re.M)
    named = re.findall(r"^    (\w+): got (\d+).*, want (\d+)", report, re.M)
    names = {field.name for field in layouts.checked_launch(preset("tiny")).present}
    assert port and named and {name for name, _, _ in named} <= names
    assert all(got != want for _, got, want in named)
    assert error.failure.fields
    return {name for name, _, _ in named}
