"""Gains of a trace: those of `compare`, kept between runs, in JSON and table, and the advice."""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tb.support.trace_files import (
    call,
    document,
    kernel,
    random_document,
    waiting_document,
    write,
)
from warploom_golden.replay.machine import RELAXATIONS, together
from warploom_sim import cli, gains, replay
from warploom_sim.replay import replay_gains
from warploom_sim.replay.python_api import request_of
from warploom_sim.replay.replay_job import prepare
from warploom_sim.sweep.execute import execute
from warploom_sim.sweep.plan import plan
from warploom_spec import RESOURCES

#: What a configuration can ask for, too: twice the SMs of `tiny`, and registers for every block.
ASKED = {"sms": "sms=4", "registers": "register_units=511"}


@pytest.fixture(autouse=True)
def own_build(own_folder: None) -> None:
    """Keep what is found in a folder of the test's own."""


def crowded(folder: Path, **changes: Any) -> Path:
    """Write a trace whose blocks are short of registers: two fit on an SM of `tiny`."""
    events = []
    for n in range(12):
        takes = {"grid": [7 + n, 1, 1], "block": [32, 1, 1], "registers per thread": 128}
        events += [call(n, float(3 * n)), kernel(n, 1000.0 + n, stream=n % 3, **takes) | changes]
    return write(folder, document() | {"traceEvents": events})


def compared(trace: Path, **given: list[Any]) -> dict[str, int]:
    """Return what `compare` says of runs at the recorded lengths: cycles by contention."""
    found = {}
    runs = plan((trace,), {"config": ["tiny"], "time_scale": [Fraction(1)], **given})
    for run in runs:
        row = execute(run, trace.read_bytes()).row
        assert row is not None
        found[row["contention"]] = row["cycles"]
    return found


@pytest.mark.parametrize("name", ASKED)
def test_compare_says_the_same_to_the_cycle(tmp_path: Path, name: str, seed: int) -> None:
    trace = crowded(tmp_path)
    options = {"seed": seed % 1000, "kill_every": 5, "arrivals": "trace", "knee": 3}
    given = {option: [value] for option, value in options.items()}
    given["contention"] = ["none", "sharing"]
    before = compared(trace, **given)
    after = compared(trace, **given, settings=[ASKED[name]])
    found = [
        gain for gain in gains(trace, "tiny", contention="sharing", **options) if gain.name == name
    ]
    assert [replay_gains.contention_of(gain) for gain in found] == ["none", "sharing"]
    for gain in found:
        contention = replay_gains.contention_of(gain)
        assert (gain.before, gain.cycles) == (before[contention], after[contention])
        assert gain.cycles != gain.before
        # More registers let more blocks run, which slow each other down: the gain may be below 0.
        assert gain.cycles < gain.before or (name, contention) == ("registers", "sharing")
    assert before["none"] != before["sharing"]


WAITING: tuple[dict[str, Any], ...] = (
    {},
    {"priorities": ("0=3", "4=1"), "kill_every": 3},
    {"events": "ignore"},
)


@pytest.mark.thorough
def test_as_it_is_a_gain_has_the_cycles_of_the_replay(tmp_path: Path, seed: int) -> None:
    """With event waits, kept or ignored, and with priorities and kills."""
    trace = write(tmp_path, waiting_document(random.Random(seed), 24, 8))
    found = []
    for options in WAITING:
        for sharing in ({}, {"contention": "sharing", "knee": 3}):
            given = {"seed": seed % 1000, **sharing, **options}
            run = replay(trace, "tiny", time_scale=1, **given)
            mine = [one for one in gains(trace, "tiny", **given) if one.knee == sharing.get("knee")]
            before = {one.before for one in mine if one.name not in ("places", "ahead")}
            assert before == {int(run.launches.end.max()) + 1}
            found.append(min(before))
    # Each of the six is another run.
    assert len(set(found)) == len(found)


def test_the_time_scale_does_not_count_and_the_knee_does(tmp_path: Path) -> None:
    trace = crowded(tmp_path)
    plain = gains(trace, "tiny")
    assert plain == gains(trace, "tiny", time_scale="1/4") == gains(trace, "tiny", time_scale="1")
    other = gains(trace, "tiny", contention="sharing", knee=2)
    one, two = ({(g.name, g.knee): g for g in found} for found in (plain, other))
    assert all(one[name, None] == two[name, None] for name in RELAXATIONS)
    assert all(one[name, 16].before != two[name, 2].before for name in RELAXATIONS)


def test_gains_of_one_contention_are_found_alone(tmp_path: Path) -> None:
    trace = crowded(tmp_path)
    request = request_of(trace, "tiny", {"contention": "sharing", "knee": 3})
    job = prepare(request)
    both = replay_gains.gains_of(job)
    for contention, knee in (("none", None), ("sharing", 3)):
        found = replay_gains.gains_of(job, [contention])
        known = {one.name for one in found}
        assert {*RELAXATIONS} <= known
        assert found == [one for one in both if one.knee == knee and one.name in known]


def test_what_was_found_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = crowded(tmp_path)
    found = gains(trace, "tiny")

    def refuse(*_: object) -> None:
        raise AssertionError("the model ran again")

    monkeypatch.setattr(replay_gains, "find_gains", refuse)
    assert gains(trace, "tiny") == found
    kept = (
        {"seed": 2},
        {"kill_every": 4},
        {"arrivals": "trace"},
        {"priorities": ("1=1",)},
        {"sms": 3},
    )
    for changed in kept:
        with pytest.raises(AssertionError, match="ran again"):
            gains(trace, "tiny", **changed)


def sim(trace: Path, *options: object) -> Result:
    words = ["sim", trace, "--config", "tiny", "--sim", "icarus", *options]
    return CliRunner().invoke(cli.main, [*map(str, words)])


@pytest.mark.thorough
def test_table_and_json_have_each_gain_and_the_largest_is_the_advice(tmp_path: Path) -> None:
    trace, file = crowded(tmp_path), tmp_path / "f.json"
    done = sim(trace, "--launches", 6, "--json", file)
    assert done.exit_code == 0, done.output
    shown = json.loads(file.read_text())["gains"]
    assert shown == replay_gains.as_json(gains(trace, "tiny", launches=6))
    names = {one["name"] for one in shown}
    # Registers keep the third block out of an SM, slots and all else the fifth one.
    assert names == {*RELAXATIONS, together(RESOURCES)}
    assert {(one["name"], one["contention"]) for one in shown} == {
        (name, contention) for name in names for contention in ("none", "sharing")
    }
    percents = {(one["name"], one["contention"]): one["fewer_cycles_percent"] for one in shown}
    rows = [[cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines()]
    for name in names:
        pair = [percents[name, contention] for contention in ("none", "sharing")]
        cells = [f"{round(percent, 1) + 0.0:.1f}" for percent in pair]
        assert ["", replay_gains.label(name), *cells, ""] in rows
    changes = (one for one in shown if one["name"] != together(RESOURCES))
    best = max(changes, key=lambda one: one["fewer_cycles_percent"])["name"]
    label = replay_gains.label(best)
    assert f"\n{label[0].upper()}{label[1:]} would help most: " in done.stdout


@pytest.mark.thorough
def test_a_length_that_the_model_refuses_leaves_gains_out(tmp_path: Path) -> None:
    """Its base length is above 2^26 - 1 at scale 1, and not at 1/32."""
    file = tmp_path / "f.json"
    # One launch that waits for nothing: 60,000 us are 118,800,000 cycles.
    trace = write(
        tmp_path, document() | {"traceEvents": [call(1, 1.0), kernel(1) | {"dur": 60_000.0}]}
    )
    done = sim(trace, "--time-scale", "1/40000", "--json", file)
    assert done.exit_code == 0, done.output
    assert json.loads(file.read_text())["gains"] == []
    assert "trace.json: no gains: " in done.stderr and "help most" not in done.stdout


def test_refused_launches_gain_nothing(tmp_path: Path, seed: int) -> None:
    """`tiny` refuses some shapes of the trace; they are answered, and no more."""
    trace = write(tmp_path, random_document(random.Random(seed), 24))
    found = gains(trace, "tiny", seed=seed)
    assert {gain.name for gain in found} >= {*RELAXATIONS}
    assert min(gain.cycles for gain in found) > 0


# --- the words -----------------------------------------------------------------------------------
def listed(**percents: tuple[float, float]) -> list[dict[str, Any]]:
    known = dict.fromkeys(RELAXATIONS, (0.0, 0.0)) | percents
    return [
        {"name": name, "contention": contention, "fewer_cycles_percent": pair[column]}
        for column, contention in enumerate(("none", "sharing"))
        for name, pair in known.items()
    ]


def test_labels_are_those_of_the_relaxations() -> None:
    assert [*replay_gains.LABELS] == [*RELAXATIONS]


def test_the_largest_gain_is_the_advice() -> None:
    assert replay_gains.advice(listed(sms=(48.4, 48.9), shared=(5.2, 4.6), order=(5.1, 0.3))) == [
        "Twice the SMs would help most: 48.4 % fewer cycles without contention, 48.9 % with it.",
        "Next best: shared memory without bound, 5.2 % fewer cycles without contention, 4.6 % with"
        " it.",
    ]


def test_contention_may_ask_for_something_else() -> None:
    assert replay_gains.advice(listed(sms=(48.4, 48.7), registers=(62.7, 19.5))) == [
        "Registers without bound would help most: 62.7 % fewer cycles without contention, 19.5 %"
        " with it.",
        "With contention it is twice the SMs: 48.4 % fewer cycles without contention, 48.7 % with"
        " it.",
    ]


def test_resources_that_hide_each_other_are_named() -> None:
    """As a row of their own, and in a sentence with the best of them alone."""
    rows = listed(sms=(20.0, 30.0), slots=(0.0, 0.0), barriers=(0.3, 0.1))
    for contention, gain in (("none", 47.1), ("sharing", 2.6)):
        known = {"contention": contention, "fewer_cycles_percent": gain}
        rows.append({"name": "slots+barriers"} | known)
    assert replay_gains.by_name(rows)[0] == ("slots+barriers", (47.1, 2.6))
    assert replay_gains.advice(rows) == [
        "Block slots and barriers without bound together would help most: 47.1 % fewer cycles"
        " without contention, 2.6 % with it.",
        "With contention it is twice the SMs: 20.0 % fewer cycles without contention, 30.0 % with"
        " it.",
        "Block slots and barriers hide each other: without bound together they gain 47.1 % without"
        " contention and 2.6 % with contention, the best of them alone 0.3 % without contention and"
        " 0.1 % with contention.",
    ]
    assert replay_gains.label("slots+warps+barriers") == (
        "block slots, warps and barriers without bound together"
    )
    assert replay_gains.label(together(RESOURCES)) == "all resources without bound together"


def test_all_resources_together_are_named_and_are_not_the_advice() -> None:
    rows = listed(sms=(20.0, 30.0), warps=(2.0, 1.0))
    for contention, gain in (("none", 86.1), ("sharing", 16.1)):
        known = {"contention": contention, "fewer_cycles_percent": gain}
        rows.append({"name": together(RESOURCES)} | known)
    first, _, last = replay_gains.advice(rows)
    assert first.startswith("Twice the SMs would help most: 20.0 % ")
    assert last.startswith("All resources hide each other: without bound together they gain 86.1 %")


def test_the_advice_under_one_contention_speaks_of_that_alone() -> None:
    rows = [
        one for one in listed(sms=(20.0, 30.0), order=(5.0, 4.0)) if one["contention"] != "none"
    ]
    assert replay_gains.advice(rows) == [
        "Twice the SMs would help most: 30.0 % fewer cycles with contention.",
        "Next best: a stream for each launch, 4.0 % fewer cycles with contention.",
    ]


def test_where_nothing_helps_the_advice_says_so() -> None:
    (words,) = replay_gains.advice(listed(rate=(0.04, -0.1)))
    assert words.startswith("No relaxed bound would help")


def test_no_gain_has_a_minus_before_a_zero() -> None:
    assert [replay_gains.said(percent) for percent in (-0.02, 0.04, -0.06, 12.34)] == [
        "0.0",
        "0.0",
        "-0.1",
        "12.3",
    ]
