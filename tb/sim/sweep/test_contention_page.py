"""What docs/replay/contention.md says of more registers is what `compare` finds."""

from pathlib import Path

import pytest

from tb.sim.sweep.test_compare_page import rows

PAGE = Path(__file__).parents[3] / "docs" / "replay" / "contention.md"


@pytest.mark.deep
@pytest.mark.parametrize("trace", ["overlapped_training", "gpt2_generate"])
def test_more_registers_with_and_without_contention(trace: str) -> None:
    given = {"config": ("default",), "settings": ("register_units=256,384,511",)}
    fewer = {
        (row["set"]["register_units"], row["contention"]): f"{-row['change_percent']:.1f} %"
        for row in rows(trace, **given, contention=("none", "sharing"))
    }
    lines = PAGE.read_text().splitlines()
    for units in ("384", "511"):
        assert (
            f"| {trace} | {units} | {fewer[units, 'none']} | {fewer[units, 'sharing']} |" in lines
        )
