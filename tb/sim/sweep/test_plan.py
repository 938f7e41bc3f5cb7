"""Which runs a comparison has: every combination once, in order, each with a name of its own."""

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tb.support.trace_files import document, write
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_sim.sweep.labels import baseline, common, label, value, varying
from warploom_sim.sweep.plan import Request, plan, sources
from warploom_spec import WarploomError, preset
from warploom_spec.config import RECLAIMS


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path, document())


def test_every_combination_once_and_in_order(tmp_path: Path, trace: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(trace.read_text())
    scales = (Fraction(1, 32), Fraction(1))
    request = Request(
        traces=(trace, other),
        configs=("tiny", "default"),
        policies=PREDICTED_POLICIES,
        reclaims=RECLAIMS,
        settings=("sms=3,4", "grid_bits=8,8,8", "grid_bits=9,8,8"),
        time_scales=scales,
    )
    runs = plan(request)
    fields = [(("sms", s), ("grid_bits", g)) for s in "34" for g in ("8,8,8", "9,8,8")]
    product = itertools.product(
        (trace, other), scales, ("tiny", "default"), fields, PREDICTED_POLICIES, RECLAIMS
    )
    found = [
        (r.trace, r.time_scale, r.preset, r.settings, r.config.policy, r.config.reclaim)
        for r in runs
    ]
    assert found == list(product)
    assert len({run.run_id for run in runs}) == len(runs) == 2 * 2 * 2 * 4 * 4 * 2
    for run in runs:
        width = {"8,8,8": 8, "9,8,8": 9}[dict(run.settings)["grid_bits"]]
        assert (run.config.sms, run.config.grid_bits) == (int(run.settings[0][1]), (width, 8, 8))


def test_what_is_the_same_runs_once(trace: Path) -> None:
    own = preset("tiny").policy
    request = Request(traces=(trace, trace), configs=("tiny",), policies=(own, own, "first_fit"))
    assert [run.config.policy for run in plan(request)] == [own, "first_fit"]
    same = Request(traces=(trace,), configs=("tiny",), settings=(f"sms={preset('tiny').sms},7",))
    bare, seven = plan(same)
    assert bare.run_id == plan(Request(traces=(trace,), configs=("tiny",)))[0].run_id
    assert seven.run_id != bare.run_id


def test_a_knee_is_of_contention_alone(trace: Path) -> None:
    request = Request(
        traces=(trace,), contentions=("none", "sharing"), knees=(8, 16), policies=("first_fit",)
    )
    runs = plan(request)
    found = [(run.contention, run.knee) for run in runs]
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
    base = Request(traces=(trace,), configs=("tiny",))
    changed = [
        replace(base, policies=("first_fit",)),
        replace(base, reclaims=("in_order",)),
        replace(base, settings=("history_entries=3",)),
        replace(base, time_scales=(Fraction(1, 2),)),
        replace(base, contentions=("sharing",)),
        replace(base, contentions=("sharing",), knees=(8,)),
        replace(base, arrivals=("trace",)),
        replace(base, allocators=("own",)),
        replace(base, kill_every=1),
        replace(base, first=1),
        replace(base, seed=2),
        replace(base, device=1),
        replace(base, simulator="icarus"),
    ]
    names = {plan(request)[0].run_id for request in (base, *changed)}
    trace.write_text(trace.read_text() + "\n")
    names.add(plan(base)[0].run_id)
    assert len(names) == len(changed) + 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("sms",), "setting is 'sms'; legal: FIELD=V1,V2, such as sms=4,8"),
        (("smss=4",), "field is 'smss'; legal: sms, "),
        (("sms=4,x",), "sms is 'x'; legal: 1 to 256"),
        (("sms=4,",), "sms is ''; legal: 1 to 256"),
        (("grid_bits=16",), "grid_bits is (16,); legal: three widths"),
    ],
)
def test_what_is_refused(trace: Path, settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(WarploomError) as refusal:
        plan(Request(traces=(trace,), settings=settings))
    assert message in str(refusal.value)


def test_a_policy_is_not_set_twice(trace: Path) -> None:
    request = Request(traces=(trace,), policies=("first_fit",), settings=("policy=first_fit",))
    with pytest.raises(WarploomError, match="policy is set twice"):
        plan(request)


def test_the_hash_of_the_sources_knows_the_rtl(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sources(False) == sources(False) != sources(True)


def test_a_run_is_held_against_the_first_of_the_same_work(trace: Path) -> None:
    request = Request(
        traces=(trace,),
        policies=("first_fit", "least_loaded"),
        settings=("sms=4,8",),
        time_scales=(Fraction(1), Fraction(2)),
        contentions=("none", "sharing"),
        knees=(8, 16),
        arrivals=("none", "trace"),
    )
    rows = [run.identity() for run in plan(request)]
    places = [rows.index(baseline(row, rows)) for row in rows]
    # Policies and fields are four runs of each work.
    assert places == [4 * (number // 4) for number in range(2 * 2 * 3 * 4)]


def test_labels_say_what_differs_and_the_title_the_rest(trace: Path) -> None:
    request = Request(
        traces=(trace,), policies=("first_fit", "least_loaded"), settings=("sms=4,8", "cores=2")
    )
    rows = [run.identity() for run in plan(request)]
    assert varying(rows) == ["policy", "sms"]
    assert [label(row, varying(rows)) for row in rows] == [
        "first_fit, sms 4",
        "least_loaded, sms 4",
        "first_fit, sms 8",
        "least_loaded, sms 8",
    ]
    shared = common(rows)
    assert shared["cores"] == "2"
    assert not shared.keys() & {"policy", "sms", "contention", "engine"}
    assert varying(rows[:1]) == ["policy"]
    assert value({"set": {}}, "sms") == "preset's"
