"""``warploom defer``: what deferred submission would save."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from warploom_sim.commands.parameters import (
    PRESET,
    OutputFile,
    json_option,
    refuse_overwriting,
    refuse_same,
    set_option,
)
from warploom_sim.commands.request_options import request_option
from warploom_sim.json_file import write_json
from warploom_sim.screen import table_console
from warploom_sim.traces.gpus import Gpu
from warploom_spec import Config


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path))
@request_option("gpu")
@click.option(
    "--rtl",
    is_flag=True,
    help="Of a trace: let the C driver send its launches to the RTL, folded and one by one.",
)
@click.option("--config", type=PRESET, help="With --rtl: preset of the core.  [default: default]")
@set_option
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
    rtl: bool,
    config: str | None,
    settings: tuple[str, ...],
    json_file: Path | None,
    marks: Path | None,
    patched: Path | None,
) -> None:
    """Say what deferring the calls of a trace or a program would save.

    In a trace, repeated launches are folded into loops of at most 4, 16, 32 and 64 launches an
    iteration. A trace holds no kernel arguments, so the figures are an upper bound. A driver's
    accesses at the mailbox are counted, with one made-up argument a launch. Without --rtl nothing
    is simulated.

    With --rtl the launches, folded for the core's templates, go through the RTL of FrontEnd over
    AXI4-Lite, as LOOPs and single launches of the C driver. Every launch and every block is
    compared, stream by stream, with the same launches sent one by one, and with what their words
    say. Block lengths are the recorded ones times 1/32.

    In a program (x86-64, as nvcc makes it, with its symbol table), each loop that holds CUDA calls
    is listed with its class, or with the reason why it must make its calls itself.

    The exit code is 0, 1 if the RTL launched something else, 2 if the input was refused, 3 if a
    program that is needed failed or a file could not be written.

    \b
    Examples:
      warploom defer traces/gpt2_generate.json.gz
      warploom defer mine.json.gz --json figures.json
      warploom defer traces/gpt2_generate.json.gz --rtl --json figures.json
      warploom defer mine.json.gz --rtl --set loop_templates=16
      warploom defer program --json loops.json --marks program.marks
      warploom defer program --patched program.marked
    """
    for output in (json_file, marks, patched):
        refuse_overwriting(output, [file])
    refuse_same(json=json_file, marks=marks, patched=patched)
    from warploom_sim.methods.defer import defer_program

    if defer_program.is_program(file):
        for flag, given in (("--gpu", gpu), ("--rtl", rtl)):
            if given:
                raise click.UsageError(f"{flag} is of traces; FILE is a program.")
        defer_program.report(file, defer_program.LoopOutputs(json_file, marks, patched))
        return
    if marks or patched:
        raise click.UsageError("--marks and --patched are of programs; FILE is no ELF file.")
    if not rtl and (config or settings):
        raise click.UsageError("--config and --set are of the core of --rtl.")
    problems = _trace(file, gpu, _core(config, settings) if rtl else None, json_file)
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        sys.exit(1)


def _core(config: str | None, settings: tuple[str, ...]) -> Config:
    """Return the core of ``--rtl``; refuse one without templates, or without a simulator."""
    from warploom_sim.cosim.simulators import require
    from warploom_sim.methods.defer import defer_rtl
    from warploom_sim.replay.bench.driver_build import SIMULATOR
    from warploom_sim.variant import variant

    core = variant(config or "default", settings).config
    defer_rtl.check_core(core)
    require(SIMULATOR)
    return core


def _trace(file: Path, gpu: Gpu | None, core: Config | None, json_file: Path | None) -> list[str]:
    """Print a trace's figures, with those of the RTL where a core is given; say what differs."""
    from warploom_sim.methods.defer import defer_trace

    trace = defer_trace.read_trace(file, gpu)
    figures = defer_trace.trace_figures(trace)
    problems: list[str] = []
    if core:
        from warploom_sim.methods.defer import defer_rtl

        outcome = defer_rtl.run_trace(trace, core)
        figures["rtl"], problems = outcome.figures, outcome.problems
    _print_trace(figures)
    if core:
        _print_rtl(figures["rtl"])
    if json_file:
        write_json(json_file, figures)
    return problems


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


def _print_rtl(figures: dict[str, Any]) -> None:
    said = f"{figures['compared_events']:,} events compared, {figures['mismatches']:,} mismatches"
    table = Table("", "folded", "one by one", title=f"on the RTL: {said}")
    for name in ("transactions", "polls", "cycles_doorbell_to_last_launch"):
        cells = (figures[name], figures[f"{name}_one_by_one"])
        shown = ("-" if cell is None else f"{cell:,}" for cell in cells)
        table.add_row(name.replace("_", " "), *shown)
    table.add_row("LOOPs", f"{figures['loops']:,}", "0")
    table.add_row("templates", f"{figures['templates']:,}", "0")
    for column in table.columns[1:]:
        column.justify = "right"
    table_console().print(table)
