"""``warploom defer``: what deferred submission would save."""

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from warploom_sim.commands.parameters import json_option, refuse_overwriting
from warploom_sim.commands.screen import table_console
from warploom_sim.json_file import write_json


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path))
@json_option(help="Also write the figures to FILE.")
def defer(file: Path, json_file: Path | None) -> None:
    """Say what deferring the repeated launches of a trace would save.

    Repeated launches are folded into loops of at most 4, 16, 32 and 64 launches an iteration. A
    trace holds no kernel arguments, so the figures are an upper bound.

    The exit code is 0, 2 if the input was refused, 3 if a file could not be written.

    \b
    Examples:
      warploom defer traces/gpt2_generate.json.gz
      warploom defer mine.json.gz --json figures.json
    """
    refuse_overwriting(json_file, [file])
    from warploom_sim import defer_trace

    figures = defer_trace.trace_figures(file)
    _print_trace(figures)
    if json_file:
        write_json(json_file, figures)


def _print_trace(figures: dict[str, Any]) -> None:
    title = f"{figures['trace']}: {figures['launches']:,} launches, an upper bound"
    table = Table("", *(_row_name(row) for row in figures["rows"]), title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for name in figures["rows"][0]:
        if name != "templates":
            cells = (f"{row[name]:,}" for row in figures["rows"])
            table.add_row(name.replace("_", " "), *cells)
    for column in table.columns:
        column.no_wrap = True
    table_console().print(table)


def _row_name(row: dict[str, Any]) -> str:
    return f"{row['templates']} templates" if row["templates"] else "one by one"
