"""``warploom trace``: look at trace files."""

from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from warploom_sim.commands.parameters import TRACE_FILE, json_option, refuse_overwriting
from warploom_sim.commands.request_options import request_option
from warploom_sim.json_file import write_json
from warploom_sim.screen import table_console
from warploom_sim.traces.gpus import Gpu


@click.group()
def trace() -> None:
    """Look at trace files.

    \b
    Example:
      warploom trace info traces/resnet50_infer.json.gz
    """


@trace.command()
@click.argument("file", type=TRACE_FILE)
@request_option("gpu")
@request_option("strict")
@json_option(help="Also write the figures to FILE.")
def info(file: Path, gpu: Gpu | None, strict: bool, json_file: Path | None) -> None:
    """Say what a trace holds: launches, blocks, shapes, streams, time.

    The exit code is 0, 2 if the input was refused, 3 if a file could not be written.

    \b
    Examples:
      warploom trace info mine.json.gz
      warploom trace info mine.json.gz --json figures.json
      warploom trace info old.json --gpu V100
      warploom trace info mine.json.gz --strict
    """
    refuse_overwriting(json_file, [file])
    from warploom_sim.traces import trace_reader

    loaded = trace_reader.load(file, strict=strict, gpu=gpu.device if gpu else None)
    if strict:
        loaded.times.refuse(file)
        loaded.refuse_ignored_waits(keeps=True)
    for note in loaded.reading_notes():
        click.echo(note, err=True)
    figures = loaded.summary()
    table = Table("figure", "value", title=escape(str(file)))
    for name, value in figures.items():
        table.add_row(
            name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value)
        )
    table_console().print(table)
    if json_file:
        write_json(json_file, figures)
