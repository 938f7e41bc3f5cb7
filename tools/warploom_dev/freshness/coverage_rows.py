"""Coverage: whether the counted builds are those of the row."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from warploom_dev.coverage import coverage_figures
from warploom_dev.coverage.counted_builds import builds
from warploom_dev.coverage.coverage_figures import Row
from warploom_dev.coverage.simulation import hash_of
from warploom_dev.freshness.question import Question

#: The file of `docs/figures` that has the rows.
FIGURES: Final = "coverage"


def questions() -> Iterator[Question]:
    """Yield one for each block with builds."""
    committed = coverage_figures.read(coverage_figures.FILE)
    for name in builds():
        row = committed.get(name)
        yield Question(
            figures=FIGURES,
            row=name,
            block=name,
            command=f'make coverage ARGS="{name} --update"',
            marked=row.stale if row else None,
            declared=True,
            is_fresh=functools.partial(is_fresh, row) if row else None,
        )


def is_fresh(row: Row) -> bool:
    """Return whether a row is of the present builds and their hardware."""
    present = builds()[row.block]
    if [build.text for build in present] != [*row.builds]:
        return False
    return all(hash_of(build.component()) == row.builds[build.text] for build in present)


def mark(stale: Mapping[str, bool]) -> None:
    """Write the marks of rows; those that are not named keep theirs."""
    rows = coverage_figures.read(coverage_figures.FILE).values()
    coverage_figures.write(
        coverage_figures.FILE, [replace(row, stale=stale.get(row.block, row.stale)) for row in rows]
    )
