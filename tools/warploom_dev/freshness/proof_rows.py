"""Proofs: whether a bench and its block are those that were asked about."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from warploom_dev.formal import formal_report, outcomes
from warploom_dev.formal.aiger import bench_hash
from warploom_dev.formal.formal_report import Row
from warploom_dev.freshness.question import Question
from warploom_dev.verification.property_rules import PROPERTY_RULES
from warploom_sim.json_file import write_json

#: The file of `docs/figures` that has the rows.
FIGURES: Final = "formal"
#: Each property's page, the name of its block.
_BLOCK_OF: Final = {name: page for page, names in PROPERTY_RULES.items() for name in names}


def questions() -> Iterator[Question]:
    """Yield one for each bench, and one for each property without a row."""
    committed: dict[str, dict[str, Row]] = {name: {} for name in outcomes.benches()}
    for row in formal_report.read(formal_report.FILE):
        committed.setdefault(row["bench"], {})[row["check"]] = row
    for bench in outcomes.benches():
        checks, rows = outcomes.stated(bench).checks, committed[bench]
        block = next((_BLOCK_OF[f"{bench}.{c}"] for c in checks if f"{bench}.{c}" in _BLOCK_OF), "")
        ask = functools.partial(
            Question,
            figures=FIGURES,
            block=block,
            command=f'make formal ARGS="{bench} --update"',
            declared=False,
        )
        if rows:
            yield ask(
                row=bench,
                marked=any(row["stale"] for row in rows.values()),
                is_fresh=functools.partial(is_fresh, bench, list(rows.values())),
            )
        for check in checks:
            if check not in rows:
                yield ask(row=f"{bench}.{check}", marked=None, is_fresh=None)


def is_fresh(name: str, rows: Sequence[Row]) -> bool:
    """Return whether rows are of the present properties, as stated now, and of their hardware."""
    bench = outcomes.stated(name)
    for row in rows:
        check = bench.checks.get(row["check"])
        said = (row["size"], row["text"], row["bug"], row["cover"])
        if check is None or said != (bench.size, check.text, check.fault, check.cover):
            return False
        if row["proof_answer"] not in ("proven", f"bounded, {check.bound} cycles"):
            return False
    return {bench_hash(outcomes.make(name))} == {row["bench_hash"] for row in rows}


def mark(stale: Mapping[str, bool]) -> None:
    """Write the marks of benches' rows; those that are not named keep theirs.

    A row of a property that is there no more is dropped.
    """
    rows = formal_report.read(formal_report.FILE)
    marked = [{**row, "stale": stale.get(row["bench"], row["stale"])} for row in rows]
    write_json(formal_report.FILE, formal_report.merged(marked, []))
