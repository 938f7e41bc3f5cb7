"""The figures that docs/sim/compare.md prints are those of the runs that it names."""

import re
import statistics
from pathlib import Path
from typing import Any

import pytest

from tb.support.trace_files import WITHOUT_EVENT_WAITS, uneven_document, write
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_sim.replay import python_api
from warploom_sim.sweep.combinations import combine
from warploom_sim.sweep.plan import plan
from warploom_sim.sweep.run_figures import run_figures
from warploom_sim.sweep.table import change

ROOT = Path(__file__).parents[3]
LINES = (ROOT / "docs" / "sim" / "compare.md").read_text().splitlines()
TRACES = list(WITHOUT_EVENT_WAITS)
deep = pytest.mark.deep


SEEDS = (1, 2, 3, 4, 5)
#: In the order of the page's command: changes are to the first one.
POLICIES = ("round_robin", "first_fit", "least_loaded", "freed_first")


def rows(trace: str | Path, **given: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return what `compare` finds of a trace: a row for each combination."""
    path = trace if isinstance(trace, Path) else ROOT / "traces" / f"{trace}.json.gz"
    runs = plan((path,), given | {"config": ("default",), "seed": SEEDS})
    found = {run.run_id: run_figures(python_api.run(run.request)) for run in runs}
    known = {run.run_id: run.identity() | found[run.run_id] | {"wall_s": 0.0} for run in runs}
    return combine(runs, known)


def shares(values: dict[str, float]) -> str:
    return " / ".join(f"{100 * value:.1f}" for value in values.values())


def own_cells(row: dict[str, Any]) -> str:
    cells = (row["policy"], row["contention"], row["cycles_mean"], row["cycles_sd"])
    return "| `{}` | {} | {:,.0f} | {:,.0f} |".format(*cells)


@pytest.mark.thorough
def test_one_policy_on_resnet() -> None:
    (row,) = rows("resnet50_infer", policy=("least_loaded",), contention=("none",))
    (line,) = [line for line in LINES if line.startswith(own_cells(row))]
    assert line.endswith(f" | {shares(row['sm_time_lost'])} |")


@deep
@pytest.mark.parametrize("contention", ["none", "sharing"])
def test_policies_on_resnet(contention: str) -> None:
    for row in rows("resnet50_infer", policy=POLICIES, contention=(contention,)):
        rest = (change(row), row["verdict"], shares(row["sm_time_lost"]))
        assert f"{own_cells(row)} {' | '.join(rest)} |" in LINES


@deep
@pytest.mark.parametrize("trace", TRACES)
def test_cost_of_in_order_reclaim(trace: str) -> None:
    cells = [trace]
    found = rows(trace, reclaim=("out_of_order", "in_order"), contention=("none", "sharing"))
    for row in found:
        cells.append(f"{row['cycles_mean']:,.0f}")
        if row["reclaim"] == "in_order":
            assert row["told_apart_from_first"]
            cells.append(f"{row['change_percent']:+.1f} %")
    assert f"| {' | '.join(cells)} |" in LINES


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("trace", "streams"),
    [
        ("stencil3d_shapes", 1),
        ("two_streams_priority", 2),
        ("overlapped_training", 2),
        ("googlenet_branches", 5),
        ("", 1),
        ("", 8),
    ],
)
def test_what_another_seed_changes(tmp_path: Path, trace: str, streams: int) -> None:
    cells = [f"`{trace}`" if trace else "drawn at random", str(streams)]
    path = trace or write(tmp_path, uneven_document(streams))
    for row in rows(path, contention=("none", "sharing")):
        cycles = row["cycles"]
        sd = statistics.stdev(cycles) / statistics.mean(cycles)
        cells += [f"{100 * sd:.2f}", f"{100 * (max(cycles) / min(cycles) - 1):.2f}"]
    assert f"| {' | '.join(cells)} |" in LINES


def test_the_tables_have_every_run() -> None:
    assert sorted(POLICIES) == sorted(PREDICTED_POLICIES)
    text = "\n".join(LINES)
    for policy in PREDICTED_POLICIES:
        for contention in ("none", "sharing"):
            assert text.count(f"\n| `{policy}` | {contention} | ") == 1
    for trace in TRACES:
        assert len(re.findall(rf"^\| {trace} \|", text, re.MULTILINE)) == 1


def test_the_sentence_has_the_tables_lowest_and_highest_cost() -> None:
    rows = [line.split(" | ") for line in LINES if re.match(r"\| \w+ \| [\d,]+ \|", line)]
    assert len(rows) == len(TRACES)
    without, sharing = (
        sorted(float(row[column].strip("+ %|")) for row in rows) for column in (3, 6)
    )
    said = (
        f"It costs {without[0]} % to {without[-1]} % of the cycles on 8 SMs; with contention,"
        f" {sharing[0]} % to {sharing[-1]} %."
    )
    assert said in " ".join(LINES)


def test_the_first_answer_is_the_tables() -> None:
    """How many percent `least_loaded` takes, and what the p99 of the SM time lost becomes."""
    changes, lost = {}, {}
    for line in LINES:
        if found := re.match(r"\| `(\w+)` \| (\w+) \| [\d,]+ \|.* / ([\d.]+) \|$", line):
            key = found[1], found[2]
            cells = [cell.strip() for cell in line.split("|")]
            changes[key], lost[key] = cells[5], found[3]
            assert cells[6] == "cannot be told apart"
    text = " ".join(LINES)
    assert len(changes) == 8
    for contention, said in (("none", "Without contention"), ("sharing", "With contention")):
        before, after = lost["round_robin", contention], lost["least_loaded", contention]
        assert (f"{said} the p99 of the SM time lost is {after} % with `least_loaded`, {before} %"
                " with `round_robin`") in text  # fmt: skip
        assert f"{changes['least_loaded', contention]} %" in text
