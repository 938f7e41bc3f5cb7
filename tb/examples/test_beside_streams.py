"""A merged kernel beside streams: page and plot show the committed figures; rows are run anew."""

import math
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from simt_model import Launch, run_grid
from tb.examples import merged_spin
from tb.examples.beside_figures import CHOICES
from tb.examples.beside_streams import ROOT, WAYS, Planned, measure, planned, three_tasks
from warploom_dev.beside_streams import (
    FIGURE,
    MERGED,
    ONE,
    PAGE,
    TWO,
    h200_rows,
    page_text,
    panels,
    read_figures,
)

#: Marks in the SVG stand at these names.
USE = "{http://www.w3.org/2000/svg}use"
FOUND = read_figures(ROOT)
#: The model's cycles may differ from the RTL's by this part.
BOUND = 0.1


def choice(row: dict[str, Any]) -> tuple[int, int, str]:
    return row["sms"], row["blocks"], row["length"]


def test_every_choice_was_measured() -> None:
    assert [choice(row) for row in FOUND["beside"]] == CHOICES
    assert [choice(row) for row in FOUND["spin"]] == [*merged_spin.CHOICES]


def test_the_page_has_the_tables_that_the_figures_give() -> None:
    text = (ROOT / PAGE).read_text()
    assert page_text(text, FOUND) == text
    for part, name in (("beside", MERGED), ("spin", "model")):
        first, *others = FOUND[part]
        assert page_text(text, FOUND | {part: [first | {name: 1}, *others]}) != text


def test_the_plot_has_every_mark_where_the_figures_put_it() -> None:
    groups = {
        group.get("id"): [
            (float(use.get("x", 0)), float(use.get("y", 0))) for use in group.iter(USE)
        ]
        for group in ElementTree.parse(ROOT / FIGURE).iter()
    }
    heights: list[tuple[str, float, float]] = []
    for title, rows in panels(FOUND["beside"]).items():
        for way in (MERGED, TWO):
            for length in dict.fromkeys(row["length"] for row in rows):
                those = [row for row in rows if row["length"] == length and way in row]
                marks = groups.get(f"{title}, {way}, {length}", [])
                assert len(marks) == len(those)
                shares = [math.log2(row[way] / row[ONE]) for row in those]
                heights += [(title, share, y) for share, (_, y) in zip(shares, marks, strict=True)]
    for title in panels(FOUND["beside"]):
        shares, marks = np.array([(share, y) for name, share, y in heights if name == title]).T
        # A logarithmic axis: heights are a straight line of the logarithms.
        slope, start = np.polyfit(shares, marks, 1)
        assert slope < 0
        np.testing.assert_allclose(marks, slope * shares + start, atol=0.01)


def test_merging_loses_in_every_row_on_simtcores() -> None:
    against = {
        beside: [row[MERGED] / row[beside] - 1 for row in FOUND["beside"]] for beside in (ONE, TWO)
    }
    assert min(against[TWO]) > 0
    low, high = (f"{100 * found(against[ONE]):.0f}" for found in (min, max))
    said = " ".join((ROOT / PAGE).read_text().split())
    assert f"in every row, by {low} to {high} % against one stream" in said
    best = min(row[TWO] / row[ONE] for row in FOUND["beside"])
    assert f"up to {100 * (1 - best):.0f} % on four SMs" in said


def test_the_h200_wins_by_merging_for_few_long_blocks_alone() -> None:
    won = [(row["blocks"], row["length"]) for row in h200_rows() if row[MERGED] < row[ONE]]
    assert won == [(33, "40,000 cycles")]


@pytest.mark.parametrize("row", FOUND["spin"], ids=lambda row: " ".join(map(str, choice(row))))
def test_the_model_in_spin_takes_the_rtls_cycles(row) -> None:
    assert abs(row["model"] / row["rtl"] - 1) <= BOUND
    slowed = merged_spin.slowed(row["block_cycles"], row["mix"], row["sms"])
    assert merged_spin.model_cycles(choice(row), row["block_cycles"]) == row["alone"]
    assert merged_spin.model_cycles(choice(row), slowed) == row["model"]


def run_on_model(plan: Planned) -> np.ndarray:
    """Run a plan's launches one after the other; return the memory."""
    run = plan.run
    memory = run.images[-1].bytes.copy()
    for image, grid, block in zip(run.images, run.grids, run.blocks, strict=True):
        launch = Launch(
            entry=run.kernel.entry,
            arguments=image.arguments,
            grid=grid,
            block=block,
            warp_size=8,
            shared_bytes=run.kernel.shared_bytes,
        )
        run_grid(launch, memory)
    return memory


@pytest.mark.parametrize("way", WAYS)
def test_each_way_makes_numpys_results(way) -> None:
    plan = planned(merged_spin.table_of(three_tasks(2)), 2, way, 1)
    assert not plan.case.equal(plan.run.images[-1].bytes)
    assert plan.case.equal(run_on_model(plan))


@pytest.mark.deep
def test_rows_are_measured_anew() -> None:
    """Deep, because the GPU's build takes minutes."""
    (row,) = (row for row in FOUND["beside"] if choice(row) == (4, 2, "short"))
    assert measure([choice(row)]) == [row]
    (row,) = (row for row in FOUND["spin"] if choice(row) == (2, 2, "short"))
    assert merged_spin.measure([choice(row)]) == [row]
