"""``warploom defer``: what deferred submission would save."""

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from warploom_sim.commands.parameters import (
    OutputFile,
    json_option,
    refuse_overwriting,
    refuse_same,
)
from warploom_sim.commands.request_options import request_option
from warploom_sim.json_file import write_json
from warploom_sim.screen import table_console
from warploom_sim.traces.gpus import Gpu


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path))
@request_option("gpu")
@json_option(help="Also write the figures to FILE.")
@click.option(
    "--marks",
    metavar="FILE",
    type=OutputFile(),
    help="Of a program: write the loops' marks to FILE.",
)
@click.option(
    "--patched",
    metavar="FILE",
    type=OutputFile(),
    help="Of a program: write a copy with the marks inside to FILE.",
)
def defer(
    file: Path,
    gpu: Gpu | None,
    json_file: Path | None,
    marks: Path | None,
    patched: Path | None,
) -> None:
    """Say what deferring the calls of a trace or a program would save.

    In a trace, repeated launches are folded into loops of at most 4, 16, 32 and 64 launches an
    iteration. A trace holds no kernel arguments, so the figures are an upper bound. A driver's
    accesses at the mailbox are counted, with one made-up argument a launch; nothing is simulated.

    In a program (x86-64, as nvcc makes it, with its symbol table), each loop that holds CUDA calls
    is listed with its class, or with the reason why it must make its calls itself.

    The exit code is 0, 2 if the input was refused, 3 if a file could not be written.

    \b
    Examples:
      warploom defer traces/gpt2_generate.json.gz
      warploom defer mine.json.gz --json figures.json
      warploom defer program --json loops.json --marks program.marks
      warploom defer program --patched program.marked
    """
    for output in (json_file, marks, patched):
        refuse_overwriting(output, [file])
    refuse_same(json=json_file, marks=marks, patched=patched)
    from warploom_sim.methods.defer import defer_program, defer_trace

    if defer_program.is_program(file):
        if gpu:
            raise click.UsageError("--gpu is of traces; FILE is a program.")
        defer_program.report(file, defer_program.LoopOutputs(json_file, marks, patched))
        return
    if marks or patched:
        raise click.UsageError("--marks and --patched are of programs; FILE is no ELF file.")
    figures = defer_trace.trace_figures(file, gpu=gpu)
    _print_trace(figures)
    if json_file:
        write_json(json_file, figures)


def _print_trace(figures: dict[str, Any]) -> None:
    said = "an upper bound; the mailbox's accesses are counted, not simulated"
    title = f"{figures['trace']}: {figures['launches']:,} launches, {said}"
    table = Table("", *(_row_name(row) for row in figures["rows"]), title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for name in figures["rows"][0]:
        if name != "templates":
            cells = ("-" if row[name] is None else f"{row[name]:,}" for row in figures["rows"])
            table.add_row(name.replace("_", " "), *cells)
    for column in table.columns:
        column.no_wrap = True
    table_console().print(table)


def _row_name(row: dict[str, Any]) -> str:
    return f"{row['templates']} templates" if row["templates"] else "one by one"
