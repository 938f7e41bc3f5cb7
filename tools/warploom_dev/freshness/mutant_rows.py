"""Mutants: whether hardware and length of the bench are those that were measured."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from warploom_dev.freshness.question import Question
from warploom_dev.mutate import campaign, mutate_figures, netlist
from warploom_dev.mutate.mutate_figures import MUTANTS, Row

#: The file of `docs/figures` that has the rows.
FIGURES: Final = "mutate"


def questions() -> Iterator[Question]:
    """Yield one for each bench."""
    committed = mutate_figures.read(mutate_figures.FILE)
    for name in campaign.benches():
        row = committed.get(name)
        sample = f" --mutants {row.wanted}" if row and row.wanted < MUTANTS else ""
        yield Question(
            figures=FIGURES,
            row=name,
            block=name,
            command=f'make mutate ARGS="{name} --update{sample}"',
            marked=row.stale if row else None,
            declared=True,
            is_fresh=functools.partial(is_fresh, row) if row else None,
        )


def is_fresh(row: Row) -> bool:
    """Return whether a row is of a bench as long as the present one, and of its hardware."""
    cases = campaign.benches()[row.block](row.seed)
    if sum(case.cycles for case in cases) != row.cycles:
        return False
    return netlist.rtl_hash(cases[0].build()[0]) == row.rtl_hash


def mark(stale: Mapping[str, bool]) -> None:
    """Write the marks of rows; those that are not named keep theirs."""
    rows = mutate_figures.read(mutate_figures.FILE).values()
    mutate_figures.write(
        mutate_figures.FILE, [replace(row, stale=stale.get(row.block, row.stale)) for row in rows]
    )
