"""Launches that arrive at the recorded times of their calls: through the RTL, and what is shown."""

import csv
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tb.support.shared_replay import SharedReplay
from tb.support.trace_files import random_document, write
from tb.support.whole_replays import find_limits
from warploom_sim import cli, replay
from warploom_sim.replay import rtl_replay
from warploom_sim.replay.simulation_run import SILENCE_LIMIT
from warploom_sim.traces.trace_launches import LATEST_ARRIVAL, arrival_cycles
from warploom_sim.traces.trace_reader import load
from warploom_spec import WarploomError

TRACES = Path(__file__).parents[3] / "traces"
TINY = ("--sim", "icarus", "--config", "tiny")
TRACE = ("--arrivals", "trace")
SCALE = Fraction(1, 32)
COUNT = 12
#: Microseconds in which a small launch ends.
GAP = 60.0


def calls(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in document["traceEvents"] if event["cat"] == "cuda_runtime"]


def spaced(rng: random.Random, count: int, gap: float) -> dict[str, Any]:
    """Draw a trace with a small launch, another one long after it, and then others in bursts."""
    document = random_document(rng, count)
    for event in document["traceEvents"][1:4:2]:
        event["args"] |= {"grid": [4, 1, 1], "block": [32, 1, 1]}
    at = 5.0
    for number, event in enumerate(calls(document)):
        event["ts"] = at
        at += rng.choice((0.0, 0.25, 12.5)) if number else gap
    return document


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    return write(tmp_path, spaced(random.Random(seed), COUNT, GAP))


def sim(tmp_path: Path, *arguments: object) -> tuple[Result, dict[str, Any]]:
    """Run ``warploom sim`` with ``--json``; return what it printed, and the figures."""
    file = tmp_path / "figures.json"
    file.unlink(missing_ok=True)
    words = ["sim", *map(str, arguments), "--json", str(file)]
    result = CliRunner().invoke(cli.main, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result, json.loads(file.read_text()) if file.exists() else {}


def equal_figures(tmp_path: Path, *arguments: object) -> dict[str, Any]:
    result, figures = sim(tmp_path, *arguments)
    assert result.exit_code == 0, result.output
    assert (figures["verdict"], figures["mismatches"]) == ("equal", 0)
    assert figures["compared_events"] >= figures["demanded_events"] > 0
    return figures


@pytest.mark.thorough
@pytest.mark.parametrize(
    "more",
    [
        ("--reclaim", "in_order", "--kill-every", 2),
        ("--contention", "sharing", "--knee", 3, "--kill-every", 3),
    ],
    ids=["kills in order", "kills and contention"],
)
def test_rtl_and_model_are_equal(tmp_path: Path, trace: Path, more: tuple[object, ...]) -> None:
    figures = equal_figures(tmp_path, trace, *TINY, *more, *TRACE)
    arrivals = arrival_cycles(load(trace), SCALE)
    assert [one["arrival"] for one in figures["per_launch"]] == arrivals
    for one in figures["per_launch"]:
        assert one["transfer"] >= max(1, one["arrival"])
        if one["fate"] == "FINISHED":
            assert one["latency"] == one["end"] - one["arrival"]
    assert figures["cycles"] > arrivals[-1]
    assert figures["head_blocked"]["arrivals"] > 0


@pytest.mark.thorough
def test_a_gap_between_two_launches_is_no_silence(tmp_path: Path, seed: int) -> None:
    trace = write(tmp_path, spaced(random.Random(seed), 2, 256.0))
    figures = equal_figures(tmp_path, trace, *TINY, *TRACE)
    # A block takes 3 microseconds at most.
    longest = 3 * 1980 / 32
    assert figures["refused"] == {}
    assert figures["per_launch"][1]["arrival"] == 15_840 > SILENCE_LIMIT + 10 * longest
    assert figures["head_blocked"]["arrivals"] > 0.5


@pytest.mark.thorough
def test_the_same_from_python(tmp_path: Path, trace: Path) -> None:
    run = replay(trace, "tiny", time_scale="1/32", arrivals="trace")
    figures = equal_figures(tmp_path, trace, *TINY, *TRACE)
    assert (run.cycles, run.settings.arrivals) == (figures["cycles"], "trace")
    assert run.launches.arrival.tolist() == arrival_cycles(load(trace), SCALE)
    assert find_limits(run).shares()["arrivals"] == pytest.approx(
        figures["head_blocked"]["arrivals"], abs=1e-4
    )
    free = replay(trace, "tiny", time_scale="1/32")
    assert free.settings.arrivals == "none"
    assert (free.launches.arrival == free.launches.transfer).all()
    assert free.cycles < run.cycles
    with pytest.raises(WarploomError, match="arrivals is 'late'; legal: none, trace"):
        replay(trace, "tiny", time_scale="1/32", arrivals="late")


@pytest.mark.thorough
def test_an_rtl_that_is_told_other_arrivals_is_found(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = rtl_replay.simulation_process

    def later(*arguments: Any) -> Any:
        *others, arrivals = arguments
        late = [arrivals[0], arrivals[1] + 1, *arrivals[2:]]
        return start(*others, late)

    monkeypatch.setattr(rtl_replay, "simulation_process", later)
    result, figures = sim(tmp_path, trace, *TINY, *TRACE)
    assert (result.exit_code, figures["verdict"]) == (1, "different")
    assert "answers 1, launch 1 " in result.output
    assert "differs: cycle" in result.output
    assert "--arrivals trace" in result.output


@pytest.mark.thorough
def test_what_is_written_says_how_it_was_replayed(
    tmp_path: Path, seed: int, plain_replay: SharedReplay
) -> None:
    trace = write(tmp_path, spaced(random.Random(seed), 3, GAP))
    rows, report, timeline = (tmp_path / name for name in ("l.csv", "r.html", "t.pftrace"))
    views = ("--report", report, "--timeline", timeline, "--launches-csv", rows)
    result, figures = sim(tmp_path, trace, *TINY, *TRACE, *views)
    assert result.exit_code == 0, result.output
    assert figures["arrivals"] == "trace"
    assert "arrivals" in result.stdout and timeline.stat().st_size > 0
    text = report.read_text()
    assert text.count("--arrivals trace") == 1
    assert "no launch has arrived" in text
    with rows.open() as file:
        arrivals = [int(row["arrival"]) for row in csv.DictReader(file)]
    assert arrivals == arrival_cycles(load(trace), SCALE)
    assert plain_replay.figures["arrivals"] == "none"


def test_arrivals_are_the_calls_times_exactly(tmp_path: Path) -> None:
    document = random_document(random.Random(1), 4)
    # Microseconds since the machine's start: halves of a cycle are rounded to even.
    times = [4346905054993.5, 4346905054993.5, 4346905054994.5, 4346905055055.25]
    for event, at in zip(calls(document), times, strict=True):
        event["ts"] = at
    trace = load(write(tmp_path, document))
    assert arrival_cycles(trace, Fraction(1)) == [0, 0, 1980, 122265]
    assert arrival_cycles(trace, Fraction(1, 1980 * 2)) == [0, 0, 0, 31]
    assert arrival_cycles(trace, Fraction(1), 3) == [0, 0, 1980]


@pytest.mark.parametrize("missing", ["all calls", "too late"])
def test_a_trace_without_call_times_is_refused_in_one_line(tmp_path: Path, missing: str) -> None:
    document = random_document(random.Random(2), 4)
    if missing == "all calls":
        for event in calls(document):
            document["traceEvents"].remove(event)
        said = "no runtime or driver call in the trace has it"
    else:
        calls(document)[3]["ts"] = 4e9
        said = f"legal: up to {LATEST_ARRIVAL} (choose a smaller time scale, or fewer launches)"
    before = sorted(tmp_path.iterdir())
    trace = write(tmp_path, document)
    result, figures = sim(tmp_path, trace, *TINY, *TRACE)
    assert (result.exit_code, result.stdout, figures) == (2, "", {})
    assert said in result.stderr and len(result.stderr.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == [*before, trace]
    result, _ = sim(tmp_path, trace, *TINY, "--arrivals", "late")
    assert result.exit_code == 2 and "'late'; legal: none, trace" in result.stderr


@pytest.mark.deep
@pytest.mark.parametrize("more", [(), ("--reclaim", "in_order"), ("--kill-every", 5)], ids=str)
@pytest.mark.parametrize("name", ["resnet50_infer", "stencil3d_shapes", "two_streams_priority"])
def test_whole_recordings_are_equal(tmp_path: Path, name: str, more: tuple[object, ...]) -> None:
    for contention in ("none", "sharing"):
        trace = TRACES / f"{name}.json.gz"
        figures = equal_figures(tmp_path, trace, *TRACE, *more, "--contention", contention)
        assert figures["arrivals"] == "trace"
