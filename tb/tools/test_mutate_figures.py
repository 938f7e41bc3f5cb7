"""The committed figures of mutation reach their goal, and the page has them."""

import re
from pathlib import Path

import pytest

from tb.benches.mutation_benches import BENCHES
from warploom_dev.mutate import mutate_figures, mutate_report
from warploom_sim.verilog.blocks import BLOCKS

ROOT = Path(__file__).parents[2]
COMMITTED = mutate_figures.read(ROOT / mutate_figures.FILE)


def test_every_block_has_a_bench_and_figures() -> None:
    assert set(COMMITTED) <= set(BENCHES) == BLOCKS.keys()


def test_the_page_has_the_committed_figures() -> None:
    page = (ROOT / mutate_report.PAGE).read_text()
    assert mutate_report.page_text(page, COMMITTED.values()) == page, "run: make figures"


def named_after(words: str) -> list[str]:
    """Return the blocks that the page's sentence names which begins with the words."""
    page = " ".join((ROOT / "docs" / "tools" / "mutate.md").read_text().split())
    sentence = re.search(rf"{words}[^:]*: ([^.]*)\.", page)
    return re.findall(r"`(\w+)`", sentence[1]) if sentence else []


def test_the_page_names_the_blocks_without_figures() -> None:
    assert named_after("These blocks have no row") == sorted(BENCHES.keys() - COMMITTED.keys())


def test_the_page_names_the_blocks_of_which_a_sample_was_measured() -> None:
    samples = [name for name, row in COMMITTED.items() if row.wanted < mutate_figures.MUTANTS]
    assert named_after("These blocks have a sample") == sorted(samples)


@pytest.mark.parametrize("block", COMMITTED)
def test_the_committed_figures_reach_the_goal_and_give_each_survivors_reason(block: str) -> None:
    row = COMMITTED[block]
    assert row.wanted in (mutate_figures.SAMPLE, mutate_figures.MUTANTS)
    assert mutate_figures.shortfalls(row, row.wanted) == []
    assert row.mutants - row.killed == len(row.survivors)
    for survivor in row.survivors:
        assert survivor.reason and survivor.cure, survivor.mutation
