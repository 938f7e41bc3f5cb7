"""Coverage block by block: the committed figures, and in what a block falls short."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from warploom_dev.coverage.points import KINDS
from warploom_dev.coverage.waivers import WITHOUT_POINTS
from warploom_dev.figure_rows import read_rows, write_rows

#: Where the committed figures are, in the repository.
FILE: Final = Path("docs/figures/coverage.json")
#: The part of the branches, and of the toggles, that the tests must reach in each block.
GOAL: Final = 0.9
#: The part of a block's points of one kind that waivers may leave out.
MOST_WAIVED: Final = 0.05
#: Lacking points that a row names.
NAMED: Final = 12


@dataclass(frozen=True, kw_only=True)
class Share:
    """How many points of one kind there are.

    Attributes
    ----------
    reached, total : int
        Without those that are waived.
    waived : int
        Those that waivers leave out.
    """

    reached: int
    total: int
    waived: int

    @property
    def rate(self) -> float:
        """Part of the points that was reached; 1 if there is none."""
        return self.reached / self.total if self.total else 1.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """One block's figures.

    Attributes
    ----------
    block : str
        Its name.
    builds : dict of str to str
        The configurations whose points count, each with the SHA-256 of its RTLIL.
    seed : int
        Of the tests.
    cycles : int
        That the tests ran on these builds.
    branch, toggle : Share
        Points of each kind, all builds together.
    lacking : list of str
        Points that were not reached: all branches, and of the toggles the signals with most.
    cases : dict of str to int
        The hard cases that the tests' observers count, and how often each happened.
    stale : bool
        Whether hardware or builds had changed since when the marks were written.
    """

    block: str
    builds: dict[str, str]
    seed: int
    cycles: int
    branch: Share
    toggle: Share
    lacking: list[str]
    cases: dict[str, int]
    stale: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Row":
        """Rebuild a row from `to_json`'s data."""
        shares: dict[str, Any] = {kind: Share(**data[kind]) for kind in KINDS}
        return cls(**{**data, **shares})


def read(path: Path) -> dict[str, Row]:
    """Read rows by block, as `read_rows` does."""
    return {row.block: row for row in read_rows(path, Row.from_json)}


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write rows in the order of their blocks' names."""
    ordered: list[Row] = sorted(rows, key=lambda row: row.block)
    write_rows(path, ordered)


def shortfalls(row: Row) -> list[str]:
    """Say in what a block falls short; nothing if it does not."""
    found = [] if row.cycles else [f"{row.block}: its tests ran 0 cycles; legal: at least 1"]
    for kind in KINDS:
        share: Share = getattr(row, kind)
        if (share.total > 0) == ((row.block, kind) in WITHOUT_POINTS):
            legal = "0" if share.total else "at least 1"
            found.append(
                f"{row.block}: it has {share.total} points of kind {kind} that count; legal:"
                f" {legal} (WITHOUT_POINTS in waivers.py)"
            )
        if share.rate < GOAL:
            found.append(
                f"{row.block}: its tests reach {share.reached} of {share.total} points of kind"
                f" {kind} ({share.rate:.1%}), not {GOAL:.0%}; lacking: {', '.join(row.lacking)}"
            )
        points = share.total + share.waived
        if share.waived > MOST_WAIVED * points:
            found.append(
                f"{row.block}: waivers leave out {share.waived} of {points} points of kind {kind},"
                f" more than {MOST_WAIVED:.0%}"
            )
    never = [name for name, count in row.cases.items() if not count]
    if never:
        found.append(f"{row.block}: these cases never happened: {', '.join(never)}")
    return found
