"""The figures that docs/sim/compare.md prints are those of the runs that it names."""

import re
from pathlib import Path
from typing import Any

import pytest

from tb.support.trace_files import WITHOUT_EVENT_WAITS
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_sim import replay
from warploom_sim.sweep.run_figures import run_figures

ROOT = Path(__file__).parents[3]
LINES = (ROOT / "docs" / "sim" / "compare.md").read_text().splitlines()
TRACES = list(WITHOUT_EVENT_WAITS)
deep = pytest.mark.deep


def figures(trace: str, **options: Any) -> dict[str, Any]:
    return run_figures(replay(ROOT / "traces" / f"{trace}.json.gz", **options))


def percentiles(values: dict[str, float]) -> str:
    """Return cycles, or shares in percent, as the page has them."""
    return " / ".join(
        f"{100 * value:.1f}" if isinstance(value, float) else f"{value:,}"
        for value in values.values()
    )


@pytest.mark.parametrize("contention", ["none", pytest.param("sharing", marks=deep)])
@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(name, marks=() if name == "least_loaded" else deep)
        for name in PREDICTED_POLICIES
    ],
)
def test_policies_on_resnet(policy: str, contention: str) -> None:
    run = figures("resnet50_infer", policy=policy, contention=contention)
    latency, lost = percentiles(run["latency"]), percentiles(run["sm_time_lost"])
    assert f"| `{policy}` | {contention} | {run['cycles']:,} | {latency} | {lost} |" in LINES


@pytest.mark.parametrize(
    "trace", [pytest.param(name, marks=() if "stencil" in name else deep) for name in TRACES]
)
def test_cost_of_in_order_reclaim(trace: str) -> None:
    cells = [trace]
    for contention in ("none", "sharing"):
        cycles = [
            figures(trace, reclaim=reclaim, contention=contention)["cycles"]
            for reclaim in ("out_of_order", "in_order")
        ]
        cells += [*(f"{each:,}" for each in cycles), f"{100 * (cycles[1] / cycles[0] - 1):+.1f} %"]
    assert f"| {' | '.join(cells)} |" in LINES


def test_the_tables_have_every_run() -> None:
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
    """How many cycles `least_loaded` saves, and what the p99 of the SM time lost becomes."""
    cycles, lost = {}, {}
    for line in LINES:
        if found := re.match(r"\| `(\w+)` \| (\w+) \| ([\d,]+) \|.* / ([\d.]+) \|$", line):
            key = found[1], found[2]
            cycles[key], lost[key] = int(found[3].replace(",", "")), found[4]
    saved = {
        contention: cycles["round_robin", contention] - cycles["least_loaded", contention]
        for contention in ("none", "sharing")
    }
    text = " ".join(LINES)
    before, after = lost["round_robin", "none"], lost["least_loaded", "none"]
    assert before == after
    assert f"stays at {after} %, and the whole run takes {-saved['none']} cycles more" in text
    before, after = lost["round_robin", "sharing"], lost["least_loaded", "sharing"]
    assert before == after
    said = f"the p99 stays at {after} %, and the run takes {saved['sharing']:,} cycles less."
    assert said in text
