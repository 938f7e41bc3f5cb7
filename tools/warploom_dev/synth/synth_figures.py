"""The committed figures: read, compare, write."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from warploom_dev.figure_rows import read_rows, write_rows
from warploom_dev.synth.measure import Key, Row, with_rates
from warploom_dev.synth.placer import NATIVE, WHEEL
from warploom_dev.synth.targets import Target, all_targets
from warploom_spec import WarploomError

#: Where the committed figures are, in the repository.
FILE: Final = Path("docs/figures/synth.json")
#: Figures that follow from the Verilog and the tools alone, without place and route.
AREA: Final = ("lut4", "ccu2c", "dpr16x4", "lut4eq", "ff", "ebr", "dsp", "port_bits")
#: What the figures belong to: the Verilog, and the flow that measured it.
HASHES: Final = ("netlist_hash", "recipe_hash")
#: Figures that follow from the rates of the seeds.
_FROM_RATES: Final = ("fmax_mhz", "seeds")


def read(path: Path) -> dict[Key, Row]:
    """Read figures; a file that is not there holds none.

    Raises
    ------
    WarploomError
        If the file is no list of rows, or a row is there twice; says which.
    """
    found: dict[Key, Row] = {}
    for row in read_rows(path, Row.from_json):
        if row.key in found:
            raise WarploomError(f"{path} has two rows for {' '.join(filter(None, row.key))}")
        found[row.key] = row
    return found


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write rows in the targets' order; rows of no target are dropped."""
    by_key = {row.key: row for row in rows}
    kept = [by_key[target.key] for target in all_targets() if target.key in by_key]
    write_rows(path, kept)


def stale(committed: dict[Key, Row], measured: Sequence[Row]) -> list[str]:
    """Say what the committed figures have wrong.

    Nothing, when hashes and areas are the measured ones, each clock rate is the median of its
    seeds', and the seeds that were placed again reached what they had reached.
    """
    found = []
    for row in measured:
        name = " ".join(filter(None, row.key))
        if row.key not in committed:
            found.append(f"{name}: not in the committed figures")
            continue
        old = committed[row.key]
        found += (
            f"{name}: {field} is {getattr(old, field)}, measured {getattr(row, field)}"
            for field in (*HASHES, *AREA)
            if getattr(old, field) != getattr(row, field)
        )
        found += (f"{name}: {wrong}" for wrong in _wrong_rates(old, row))
    return found


def _wrong_rates(old: Row, row: Row) -> Iterator[str]:
    """Say where a committed row's rates contradict each other, or those placed again."""
    derived = with_rates(old, old.fmax_each, old.placed_by, *old.seeds[:1])
    for field in _FROM_RATES:
        if getattr(old, field) != getattr(derived, field):
            given, due = getattr(old, field), getattr(derived, field)
            yield f"{field} is {given}, but the seeds' rates make it {due}"
    if old.fmax_each and old.placed_by not in (WHEEL, NATIVE):
        yield f"placed_by is {old.placed_by}; legal: {WHEEL}, {NATIVE}"
    if row.placed_by != old.placed_by:
        # Another nextpnr places cells elsewhere.
        return
    placed_again = zip(row.seeds, old.fmax_each, row.fmax_each, strict=False)
    for seed, rate, reached in placed_again:
        if rate != reached:
            yield f"seed {seed} is said to reach {rate} MHz, placed again {reached}"


def missing(committed: dict[Key, Row], targets: Sequence[Target]) -> list[str]:
    """Say which targets were placed with fewer seeds than they need, or from another seed on."""
    rows = [(target, committed[target.key]) for target in targets if target.key in committed]
    few = [
        f"{target.name}: placed with {len(row.seeds)} seeds, not {target.seeds}"
        for target, row in rows
        if row.fits and len(row.seeds) < target.seeds
    ]
    return few + [
        f"{target.name}: its seeds begin with {row.seeds[0]}, not {target.first_seed}"
        for target, row in rows
        if row.seeds and row.seeds[0] != target.first_seed
    ]


def keep_rates(row: Row, committed: dict[Key, Row]) -> Row:
    """Take the clock rate from the committed row where this run placed none and nothing changed."""
    old = committed.get(row.key)
    if row.seeds or old is None:
        return row
    if any(getattr(old, field) != getattr(row, field) for field in HASHES):
        return row
    # The median is taken anew: --update must not hand on one that --check refuses.
    return with_rates(row, old.fmax_each, old.placed_by, *old.seeds[:1])
