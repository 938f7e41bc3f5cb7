"""Which runs a comparison has: every combination once, in order, each with a name of its own."""

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tb.support.trace_files import DEVICE, document, write
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_sim.sweep.labels import baseline, common, label, value, varying
from warploom_sim.sweep.plan import parts, plan
from warploom_spec import WarploomError, preset
from warploom_spec.config import RECLAIMS


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path, document())


def test_every_combination_once_and_in_order(tmp_path: Path, trace: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(trace.read_text())
    scales = (Fraction(1, 32), Fraction(1))
    given = {
        "config": ("tiny", "default"),
        "policy": PREDICTED_POLICIES,
        "reclaim": RECLAIMS,
        "settings": ("sms=3,4", "grid_bits=8,8,8", "grid_bits=9,8,8"),
        "time_scale": scales,
    }
    runs = plan((trace, other), given)
    fields = [(f"sms={s}", f"grid_bits={g}") for s in "34" for g in ("8,8,8", "9,8,8")]
    product = itertools.product(
        (trace, other), scales, ("tiny", "default"), fields, PREDICTED_POLICIES, RECLAIMS
    )
    names = ("trace", "time_scale", "config", "settings", "policy", "reclaim")
    found = [tuple(getattr(run.request, name) for name in names) for run in runs]
    assert found == list(product)
    assert len({run.run_id for run in runs}) == len(runs) == 2 * 2 * 2 * 4 * 4 * 2
    for run in runs:
        sms, bits = (setting.split("=")[1] for setting in run.request.settings)
        width = {"8,8,8": 8, "9,8,8": 9}[bits]
        assert (run.config.sms, run.config.grid_bits) == (int(sms), (width, 8, 8))
        assert run.config.policy == run.request.policy


def test_what_is_the_same_runs_once(trace: Path) -> None:
    own = preset("tiny").policy
    given = {"config": ("tiny",), "policy": (own, own, "first_fit")}
    assert [run.config.policy for run in plan((trace, trace), given)] == [own, "first_fit"]
    same = {"config": ("tiny",), "settings": (f"sms={preset('tiny').sms},7",)}
    bare, seven = plan((trace,), same)
    assert bare.run_id == plan((trace,), {"config": ("tiny",)})[0].run_id
    assert seven.run_id != bare.run_id


def test_a_knee_is_of_contention_alone(trace: Path) -> None:
    given = {"contention": ("none", "sharing"), "knee": (8, 16), "policy": ("first_fit",)}
    runs = plan((trace,), given)
    found = [(run.request.contention, run.request.knee) for run in runs]
    assert found == [("none", None), ("sharing", 8), ("sharing", 16)]
    rows = [run.identity() for run in runs]
    assert varying(rows) == ["contention", "knee"]
    # One knee for all that have one stands in the title.
    assert varying(rows[:2]) == ["contention"]
    assert common(rows[:2])["knee"] == "8"
    assert [label(row, varying(rows)) for row in rows] == [
        "contention none",
        "contention sharing, knee 8",
        "contention sharing, knee 16",
    ]


def test_all_that_decides_the_result_is_in_the_runs_name(tmp_path: Path, trace: Path) -> None:
    content = document()
    content["deviceProperties"].append(DEVICE | {"id": 1})
    content["traceEvents"][3]["args"]["device"] = 1
    write(tmp_path, content)
    changed: list[dict[str, Any]] = [
        {"policy": "first_fit"},
        {"reclaim": "in_order"},
        {"settings": "history_entries=3"},
        {"time_scale": Fraction(1, 2)},
        {"contention": "none"},
        {"knee": 8},
        {"arrivals": "trace"},
        {"events": "ignore"},
        {"priorities": "0=1"},
        {"allocator": "own"},
        {"kill_every": 1},
        {"launches": 1},
        {"seed": 2},
        {"device": 1},
        {"gpu": "A100"},
        {"rtl": True},
        {"rtl": True, "simulator": "icarus"},
    ]

    def name(**given: Any) -> str:
        return plan((trace,), {key: (value,) for key, value in given.items()})[0].run_id

    assert {key for given in changed for key in given} == {*parts(), "rtl"} - {"config"}
    names = {name(config="tiny", **given) for given in ({}, *changed)}
    trace.write_text(trace.read_text() + "\n")
    names.add(name(config="tiny"))
    assert len(names) == len(changed) + 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("sms",), "setting is 'sms'; legal: FIELD=V1,V2, such as sms=4,8"),
        (("smss=4",), "field is 'smss'; legal: sms, "),
        (("sms=4,x",), "sms is 'x'; legal: 1 to 1024"),
        (("sms=4,",), "sms is ''; legal: 1 to 1024"),
        (("grid_bits=16",), "grid_bits is (16,); legal: three widths"),
    ],
)
def test_what_is_refused(trace: Path, settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(WarploomError) as refusal:
        plan((trace,), {"settings": settings})
    assert message in str(refusal.value)


def test_a_policy_is_not_set_twice(trace: Path) -> None:
    given = {"policy": ("first_fit",), "settings": ("policy=first_fit",)}
    with pytest.raises(WarploomError, match="policy is set twice"):
        plan((trace,), given)


def test_a_run_is_held_against_the_first_of_the_same_work(trace: Path) -> None:
    given = {
        "policy": ("first_fit", "least_loaded"),
        "settings": ("sms=4,8",),
        "time_scale": (Fraction(1), Fraction(2)),
        "contention": ("none", "sharing"),
        "knee": (8, 16),
        "arrivals": ("none", "trace"),
    }
    rows = [run.identity() for run in plan((trace,), given)]
    places = [rows.index(baseline(row, rows)) for row in rows]
    # Policies and fields are four runs of each work.
    assert places == [4 * (number // 4) for number in range(2 * 2 * 3 * 4)]


def test_labels_say_what_differs_and_the_title_the_rest(trace: Path) -> None:
    given = {"policy": ("first_fit", "least_loaded"), "settings": ("sms=4,8", "cores=2")}
    rows = [run.identity() for run in plan((trace,), given)]
    assert varying(rows) == ["policy", "sms"]
    assert [label(row, varying(rows)) for row in rows] == [
        "first_fit, sms 4",
        "least_loaded, sms 4",
        "first_fit, sms 8",
        "least_loaded, sms 8",
    ]
    shared = common(rows)
    assert shared["cores"] == "2"
    assert (shared["contention"], shared["knee"]) == ("sharing", "16")
    assert not shared.keys() & {"policy", "sms", "arrivals", "engine"}
    # Contention is on by default: the title says where it is off.
    without = plan((trace,), given | {"contention": ("none",)})
    assert common([run.identity() for run in without])["contention"] == "none"
    assert varying(rows[:1]) == ["policy"]
    assert value({"set": {}}, "sms") == "preset's"
