"""``warploom compare --from``: two runs of one trace, launch by launch."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tb.support.trace_files import random_document, write
from warploom_sim import cli, replay
from warploom_sim.replay.launch_figures import launch_figures

FIGURES = ("cycles", "latency", "after_last_offer")
#: So many that `tiny` refuses some and runs some, whatever the seed.
LAUNCHES = 24


def run_file(folder: Path, trace: Path, name: str, **fields: Any) -> tuple[Path, dict[str, Any]]:
    """Write what ``warploom sim --json`` writes, as far as it is read."""
    run = replay(trace, "tiny", **fields)
    figures = {"trace": trace.name, "cycles": run.cycles, "verdict": "equal"}
    content = figures | {"per_launch": launch_figures(run), "more": []}
    path = folder / name
    path.write_text(json.dumps(content))
    return path, content


@pytest.fixture
def runs(tmp_path: Path, seed: int) -> tuple[Path, dict[str, Any], Path, dict[str, Any]]:
    trace = write(tmp_path, random_document(random.Random(seed), LAUNCHES))
    a = run_file(tmp_path, trace, "a.json", reclaim="in_order", time_scale="1")
    b = run_file(tmp_path, trace, "b.json", reclaim="out_of_order", time_scale="1/2")
    return (*a, *b)


def difference(*arguments: object) -> Result:
    words = ["compare", "--from", *map(str, arguments)]
    return CliRunner().invoke(cli.main, words, catch_exceptions=False)


def test_every_launch_is_subtracted(tmp_path: Path, runs: Any) -> None:
    first, a, second, b = runs
    file = tmp_path / "d.json"
    result = difference(first, second, "--json", file)
    assert result.exit_code == 0, result.output
    written = json.loads(file.read_text())
    assert (written["a"], written["b"]) == (str(first), str(second))
    (trace,) = written["traces"]
    assert trace["cycles"] == {
        "a": a["cycles"],
        "b": b["cycles"],
        "change": b["cycles"] - a["cycles"],
    }
    assert len(trace["launches"]) == LAUNCHES
    refused = 0
    for row, one, other in zip(trace["launches"], a["per_launch"], b["per_launch"], strict=True):
        assert (row["launch"], row["name"], row["blocks"]) == (
            one["launch"],
            one["name"],
            one["blocks"],
        )
        refused += one["end"] is None
        for figure in FIGURES:
            change = None if one["end"] is None else other[figure] - one[figure]
            assert row[figure] == {"a": one[figure], "b": other[figure], "change": change}
    ran = [row["cycles"]["change"] for row in trace["launches"] if row["cycles"]["a"] is not None]
    assert 0 < refused == LAUNCHES - len(ran) < LAUNCHES
    longer, shorter = sum(change > 0 for change in ran), sum(change < 0 for change in ran)
    # Of half as long blocks.
    assert shorter > longer
    counts = f"{longer} launches longer, {shorter} shorter, {len(ran) - longer - shorter} as before"
    assert f"{counts}, {refused} that did not run in both\n" in result.stdout
    most = max(trace["launches"], key=lambda row: abs(row["cycles"]["change"] or 0))
    line = next(line for line in result.stdout.splitlines() if line.count("|") > 5 and "(" in line)
    assert line.split("|")[1].strip() == str(most["launch"])
    assert f"{most['cycles']['b']:,} ({most['cycles']['change']:+,})" in line
    assert result.stdout.isascii()


def test_the_table_holds_the_top_launches(runs: Any) -> None:
    first, _, second, _ = runs
    rows = [
        line for line in difference(first, second, "--top", 3).stdout.split("\n") if '"ke' in line
    ]
    assert len(rows) == 3


def test_a_run_less_itself_is_nothing(runs: Any) -> None:
    first, a, _, _ = runs
    ran = sum(one["end"] is not None for one in a["per_launch"])
    assert f"0 launches longer, 0 shorter, {ran} as before" in difference(first, first).stdout


def other(content: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return copy.deepcopy(content) | changes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: other(c, trace="t"), "is of trace.json, "),
        (
            lambda c: other(c, per_launch=c["per_launch"][1:]),
            f"have {LAUNCHES} and {LAUNCHES - 1} launches; legal",
        ),
        (lambda c: other(c, per_launch=c["per_launch"][::-1]), 'launch 0 is "kernel0" and "k'),
        (lambda c: other(c, verdict="different"), "RTL and model differ; legal: a run in which"),
        (lambda c: other(c, per_launch=[{}]), "has no figures of launches; legal: what warploom"),
        (lambda c: other(c, cycles="x"), "has no figures of launches"),
        (lambda c: {}, "has no figures of launches"),
        (lambda c: [c], "has no figures of launches"),
        (lambda c: "text", "has no figures of launches"),
    ],
)
def test_what_is_refused(tmp_path: Path, runs: Any, change: Any, said: str) -> None:
    first, _, second, b = runs
    second.write_text(json.dumps(change(b)))
    file = tmp_path / "d.json"
    result = difference(first, second, "--json", file)
    assert (result.exit_code, result.stdout, file.exists()) == (2, "", False)
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_no_json_no_trace_no_plot(tmp_path: Path, runs: Any) -> None:
    first, _, second, _ = runs
    second.write_bytes(b"\xff")
    assert "has no figures of launches" in difference(first, second).stderr
    assert difference(first, first, first).exit_code == 2
    assert difference(first, first, "--plot", tmp_path / "p.svg").exit_code == 2
    assert f"{str(first)!r} is the trace itself" in difference(first, first, "--json", first).stderr
