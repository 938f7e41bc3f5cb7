"""The committed outcomes, and the tables of them: on the terminal and on the page."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from warploom_dev.figure_rows import marked
from warploom_dev.formal.formal_bench import THE_CORE
from warploom_dev.formal.outcomes import KINDS, Outcome, benches, stated
from warploom_dev.pages import markdown_table, require, section_replaced
from warploom_sim.json_file import write_json, write_whole
from warploom_spec import WarploomError

#: What ran last, and the page, in the repository.
FILE: Final = Path("docs/figures/formal.json")
PAGE: Final = Path("docs/tools/formal.md")
_BEGIN: Final = "<!-- Written by `python -m warploom_dev formal --update`. -->"

Row = dict[str, Any]
_HEADINGS: Final = (
    "block",
    "size",
    "what holds",
    "proof",
    "s",
    "seeded bug",
    "found in",
    "cover",
    "reached in",
)
_ASSUMED: Final = ("block", "given of its inputs", "checked as", "proof there")
_NARROWED: Final = ("block", "input", "free bits of its fields", "0")
_TEXT_COLUMNS: Final = frozenset(
    {*_HEADINGS, *_ASSUMED, *_NARROWED} - {"s", "found in", "reached in"}
)


def rows(found: Iterable[Outcome]) -> list[Row]:
    """Return one row a check, of all that was asked about it, with its bench's hash."""
    by_check: dict[tuple[str, str], Row] = {}
    for outcome in found:
        check = outcome.check
        row = by_check.setdefault(
            (outcome.bench, check.name),
            {
                "bench": outcome.bench,
                "size": outcome.size,
                "check": check.name,
                "text": check.text,
                "bug": check.fault,
                "cover": check.cover,
                "bench_hash": outcome.bench_hash,
                "stale": False,
            },
        )
        row[f"{outcome.kind}_answer"] = outcome.text
        row[f"{outcome.kind}_seconds"] = round(outcome.answer.seconds, 1)
        row[f"{outcome.kind}_good"] = outcome.good
    return list(by_check.values())


def read(path: Path = FILE) -> list[Row]:
    """Read the committed rows; a file that is not there holds none.

    Raises
    ------
    WarploomError
        If the file is no list of rows.
    """
    if not path.exists():
        return []
    try:
        data: list[Row] = json.loads(path.read_text())
        for row in data:
            row.setdefault("stale", False)
            _cells(row)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WarploomError(f"{path} is no list of outcomes: {error!r}") from error
    return data


def merged(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Return the new rows and what they leave of the old ones, in the order of the benches.

    A row of a check that is there no more is dropped.
    """
    by_check = {(row["bench"], row["check"]): row for row in (*old, *new)}
    order = [(name, check) for name in benches() for check in stated(name).checks]
    return [by_check[key] for key in order if key in by_check]


def check_writable() -> None:
    """Write the committed rows and the page as they are: what cannot be, is seen before hours go.

    Raises
    ------
    WarploomError
        If the page is not there, or lacks the lines between which the tables stand.
    """
    require(PAGE)
    write(merged(read(), []))


def keep(found: Sequence[Outcome]) -> None:
    """Write the row of one check, of which all was asked, unless something is not as it must be."""
    if all(outcome.good for outcome in found):
        write(merged(read(), rows(found)))


def write(kept: Sequence[Row]) -> None:
    """Write the committed rows and the page's tables."""
    text = page_text(PAGE.read_text(), kept)
    write_json(FILE, kept)
    write_whole(PAGE, text)


def page_text(text: str, kept: Sequence[Row]) -> str:
    """Return the page with its tables written anew."""
    ours = markdown_table(_HEADINGS, [_cells(row) for row in kept], _TEXT_COLUMNS)
    made = {name: stated(name) for name in dict.fromkeys(row["bench"] for row in kept)}
    proofs = {f"{row['bench']}.{row['check']}": row["proof_answer"] for row in kept}
    assumed = [
        [name, given.text, _source(given.source), proofs.get(given.source, "-")]
        for name, bench in made.items()
        for given in bench.assumptions.values()
    ]
    narrowed = [
        [name, f"`{port}`", *_narrowed(fields)]
        for name, bench in made.items()
        for port, fields in bench.narrowed.items()
    ]
    given = markdown_table(_ASSUMED, assumed, _TEXT_COLUMNS)
    small = markdown_table(_NARROWED, narrowed, _TEXT_COLUMNS)
    tables = f"{ours}\n\nTaken as given:\n\n{given}\n\nNot free, but 0:\n\n{small}"
    return section_replaced(PAGE, text, _BEGIN, tables)


def _source(source: str) -> str:
    """Name the check that an assumption is, or who keeps it."""
    return "the core keeps it" if source == THE_CORE else f"`{source}`"


def _narrowed(fields: dict[str, tuple[int, int]]) -> list[str]:
    """Say which fields have so many free bits of their width, and which have none."""
    some = [f"{name} {free} of {width}" for name, (free, width) in fields.items() if free]
    none = [name for name, (free, _) in fields.items() if not free]
    return [", ".join(some) or "-", ", ".join(none) or "-"]


def _cells(row: Row) -> list[str]:
    return [
        marked(row["bench"], row["stale"]),
        row["size"],
        row["text"],
        row["proof_answer"],
        str(row["proof_seconds"]),
        f"`{row['bug']}`",
        row["bug_answer"],
        row["cover"],
        row["cover_answer"],
    ]


def screen_table(found: Sequence[Outcome]) -> Table:
    """Return the outcomes of one run, a line each check."""
    kinds = [kind for kind in KINDS if any(outcome.kind == kind for outcome in found)]
    table = Table("block", "size", "check", title="Properties")
    for kind in kinds:
        table.add_column(kind)
        table.add_column("s", justify="right")
    for row in rows(found):
        cells = [row["bench"], row["size"], row["check"]]
        for kind in kinds:
            what = f"{row['bug']}: " if kind == "bug" else ""
            cells += [what + row[f"{kind}_answer"], str(row[f"{kind}_seconds"])]
        table.add_row(*cells)
    return table
