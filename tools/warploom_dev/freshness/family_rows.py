"""Area on other families: whether Verilog and flow are those that were measured."""

import functools
from collections.abc import Iterator, Mapping

from warploom_dev.freshness.question import Question
from warploom_dev.freshness.synth_rows import locked_tools
from warploom_dev.synth import families, source
from warploom_dev.synth.families import FamilyRow

#: The file of `docs/figures` that has the rows.
FIGURES = "families"


def questions() -> Iterator[Question]:
    """Yield one for each row."""
    version = locked_tools()[families.TOOL]
    for row in families.read().values():
        yield Question(
            figures=FIGURES,
            row=row.name,
            block=families.target().module,
            command=f"python -m warploom_dev families --family {row.family} --update",
            marked=row.stale,
            declared=True,
            is_fresh=functools.partial(is_fresh, row, version),
        )


def is_fresh(row: FamilyRow, version: str) -> bool:
    """Return whether a row is of the present flow and Verilog."""
    if row.recipe_hash != families.recipe_hash(row.family, version):
        return False
    return source.generate(families.target()).netlist_hash == row.netlist_hash


def mark(stale: Mapping[str, bool]) -> None:
    """Write the marks of rows; those that are not named keep theirs."""
    families.write(families.marked_rows(stale, families.read()))
