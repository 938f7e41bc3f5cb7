"""``python -m warploom_dev bench``: how quick simulators and models are here."""

from pathlib import Path

import click
from rich.table import Table

from warploom_sim.commands.parameters import (
    SIMULATOR,
    TRACE_FILE,
    json_option,
    number_option,
    refuse_overwriting,
    several_option,
)
from warploom_sim.commands.sim import default_traces
from warploom_sim.cosim.simulators import SIMULATORS, require
from warploom_sim.json_file import write_json
from warploom_sim.screen import progress_bar, table_console


@click.command()
@several_option(
    "--sim",
    "simulators",
    type=SIMULATOR,
    help="Only this Verilog simulator; may be repeated.  [default: all]",
)
@number_option(
    "--repeat",
    1,
    default=5,
    help="Repetitions, beside a first one that is not counted.",
)
@click.option("--trace", type=TRACE_FILE, help="Replay this trace.  [default: resnet50_infer]")
@json_option(help="Also write the figures to FILE.")
def bench(
    simulators: tuple[str, ...], repeat: int, trace: Path | None, json_file: Path | None
) -> None:
    """Measure cycles a second on each simulator, and how quick models and trace import are.

    The median of the repetitions is what counts; the spread, highest minus lowest, says how much
    the machine was disturbed. Simulators replay the first launches of the trace, the event
    model all of them: each needs one that is not refused.

    The exit code is 0, 2 if something was refused, 3 if a program that is needed failed or a file
    could not be written.

    \b
    Examples:
      python -m warploom_dev bench
      python -m warploom_dev bench --sim verilator --repeat 3 --json bench.json
    """
    refuse_overwriting(json_file, [trace] if trace else [])
    simulators = simulators or SIMULATORS
    for simulator in simulators:
        require(simulator)
    # Amaranth and NumPy: --help and refusals need neither.
    from warploom_dev.benchmarks import benchmarks

    todo = list(benchmarks(trace or default_traces()[0], simulators))
    measured = []
    with progress_bar() as progress:
        task = progress.add_task("", total=repeat * len(todo))
        for benchmark in todo:
            progress.update(task, description=benchmark.name)
            measured.append(benchmark.run(repeat, lambda: progress.advance(task)))
    table = Table("what", "median", "unit", "lowest", "highest", "spread")
    for result in measured:
        low, high = min(result.values), max(result.values)
        figures = (_figure(value) for value in (low, high))
        table.add_row(
            result.name, _figure(result.median), result.unit, *figures, f"{result.spread:.0%}"
        )
    for column in (1, 3, 4, 5):
        table.columns[column].justify = "right"
    table_console().print(table)
    if json_file:
        write_json(json_file, {"benchmarks": [result.to_json() for result in measured]})


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
