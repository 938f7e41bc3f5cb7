"""What mutation found, block by block: the committed figures, and why each survivor survives."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from warploom_dev.figure_rows import read_rows, write_rows

#: Where the committed figures are, in the repository.
FILE: Final = Path("docs/figures/mutate.json")
#: The part of the mutants that a bench must notice.
GOAL: Final = 0.95
#: Mutants of each block in the committed figures.
MUTANTS: Final = 200
#: Mutants of a block's sample, which stands there until all are measured.
SAMPLE: Final = 48


@dataclass(frozen=True, kw_only=True)
class Survivor:
    """A mutant that no bench noticed.

    Attributes
    ----------
    mutation, source : str
        What is changed, and the lines that it comes from.
    shown_after : int or None
        The cycle from power-up in which some inputs, legal or not, show the difference.
    proven : bool
        Whether it was proven to differ; if not, it may be equivalent and is counted all the same.
    reason, cure : str
        Written by hand: why the bench does not notice it, and what would.
    """

    mutation: str
    source: str
    shown_after: int | None
    proven: bool
    reason: str = ""
    cure: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One block's figures.

    Attributes
    ----------
    block : str
        Its name.
    params : dict
        Of the bench's component.
    seed : int
        Of the choice of mutants and of the bench.
    cycles : int
        Length of the bench.
    wanted : int
        Mutants that were asked for: `MUTANTS`, or `SAMPLE` in a committed row.
    mutants : int
        Those run that are not equivalent to the block; ``killed`` of them the bench noticed.
    equivalent : int
        Those beside them that are proven equivalent, and not counted.
    median_cycle : int or None
        The cycle of the bench in which half of the killed were noticed.
    survivors : list of Survivor
        The others.
    netlist_hash : str
        SHA-256 of the netlist that the mutants were drawn from, source positions included: these
        take part in the draw.
    rtl_hash : str
        SHA-256 of the component's RTLIL without source positions, by which a row is found stale.
    stale : bool
        Whether hardware or length of the bench had changed since when the marks were written.
    """

    block: str
    params: dict[str, Any]
    seed: int
    cycles: int
    wanted: int = MUTANTS
    mutants: int
    killed: int
    equivalent: int
    median_cycle: int | None
    survivors: list[Survivor] = field(default_factory=list)
    netlist_hash: str
    rtl_hash: str
    stale: bool = False

    @property
    def rate(self) -> float:
        """Part of the mutants that was killed; 0 if there was none."""
        return self.killed / self.mutants if self.mutants else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Row":
        """Rebuild a row from `to_json`'s data."""
        survivors = [Survivor(**survivor) for survivor in data["survivors"]]
        return cls(**{**data, "survivors": survivors})


def read(path: Path) -> dict[str, Row]:
    """Read rows by block, as `read_rows` does."""
    return {row.block: row for row in read_rows(path, Row.from_json)}


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write rows in the order of their blocks' names."""
    ordered: list[Row] = sorted(rows, key=lambda row: row.block)
    write_rows(path, ordered)


def keep_reasons(row: Row, committed: dict[str, Row]) -> Row:
    """Take the reasons from the committed row for survivors that it has, too.

    Only where hardware and proof are the same: in another netlist a cell of the same name may be
    another one, and a reason that calls a mutant equivalent is wrong once it is proven to differ.
    """
    old = committed.get(row.block)
    if old is None or old.rtl_hash != row.rtl_hash:
        return row
    known = {(s.mutation, s.proven): s for s in old.survivors}
    survivors = [
        dataclasses.replace(s, reason=same.reason, cure=same.cure)
        if (same := known.get((s.mutation, s.proven)))
        else s
        for s in row.survivors
    ]
    return dataclasses.replace(row, survivors=survivors)


def shortfalls(row: Row, wanted: int) -> list[str]:
    """Say in what a block falls short; nothing if it does not."""
    found = []
    if row.mutants < wanted:
        found.append(f"{row.block}: its netlist gave {row.mutants} mutants, not {wanted}")
    if row.rate < GOAL:
        found.append(
            f"{row.block}: its bench notices {row.rate:.1%} of the mutants, not {GOAL:.0%}"
        )
    return found
