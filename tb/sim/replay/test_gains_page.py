"""The gains that docs/replay/gains.md prints are those of the traces."""

import re
from pathlib import Path

import pytest

from warploom_golden.replay.machine import RELAXATIONS
from warploom_sim import gains
from warploom_sim.replay import replay_gains

ROOT = Path(__file__).parents[3]
LINES = (ROOT / "docs" / "replay" / "gains.md").read_text().splitlines()
HEAD = next(line for line in LINES if line.startswith("| relaxed | "))
TRACES = HEAD.strip("| ").split(" | ")[1:]


@pytest.mark.deep
@pytest.mark.parametrize("trace", TRACES)
def test_the_page_has_the_gains_of_the_trace(trace: str) -> None:
    column = 1 + TRACES.index(trace)
    rows = [
        line.strip("| ").split(" | ")
        for line in LINES
        if re.match(r"\| `[\w+]+` \| (-?\d|- )", line)
    ]
    shown = {row[0].strip("`"): row[column] for row in rows}
    found = replay_gains.as_json(gains(ROOT / "traces" / f"{trace}.json.gz", "default"))
    expected = {
        name: ", ".join(f"{round(percent, 1) + 0.0:.1f}" for percent in percents)
        for name, percents in replay_gains.by_name(found)
    }
    assert {name: cell for name, cell in shown.items() if cell != "-"} == expected
    assert shown.keys() >= {*RELAXATIONS}
