"""Tables of mutants killed and survived, for the terminal."""

from collections.abc import Iterable

from rich.table import Table

from warploom_dev.mutate.mutate_figures import Row


def rates_table(rows: Iterable[Row]) -> Table:
    """Return one line for each block."""
    table = Table(title="Mutants that the blocks' benches notice")
    table.add_column("block")
    for heading in (
        *("mutants", "killed", "rate", "equivalent beside", "bench cycles", "median kill, cycle"),
    ):
        table.add_column(heading, justify="right")
    for row in rows:
        median = "-" if row.median_cycle is None else f"{row.median_cycle:,}"
        table.add_row(
            row.block,
            str(row.mutants),
            str(row.killed),
            f"{row.rate:.1%}",
            str(row.equivalent),
            f"{row.cycles:,}",
            median,
        )
    return table


def survivors_table(rows: Iterable[Row]) -> Table:
    """Return one line for each survivor."""
    table = Table(title="Survivors")
    for heading in (
        *("block", "mutation", "source", "shown in cycle", "reason", "what would kill it"),
    ):
        table.add_column(heading, overflow="fold")
    for row in rows:
        for survivor in row.survivors:
            shown = "not proven" if not survivor.proven else str(survivor.shown_after)
            table.add_row(
                row.block,
                survivor.mutation,
                survivor.source.replace(" ", "\n"),
                shown,
                survivor.reason or "-",
                survivor.cure or "-",
            )
    return table
