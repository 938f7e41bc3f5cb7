"""``warploom steal``: cooperative work stealing in front of execution units."""

import sys
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.table import Table

from warploom_sim.commands.parameters import (
    SIMULATOR,
    OutputFile,
    json_option,
    number_option,
    refuse_same,
)
from warploom_sim.cosim.simulators import SIMULATORS, require
from warploom_sim.json_file import write_json
from warploom_sim.methods import WITHOUT_CONTENTION
from warploom_sim.screen import progress_bar, table_console

ALGORITHMS = ("merge_sort", "matrix_product", "n_queens", "quadrature")


@click.command()
@click.argument("algorithm", type=click.Choice(ALGORITHMS))
@number_option("--workers", 1, 1024, default=4, help="Workers, each on a CPU core of its own.")
@number_option("--units", 1, 4096, help="Execution units.  [default: as many as workers]")
@number_option("--seed", 0, 2**32 - 1, default=1, help="Seed of data and of random victims.")
@number_option("--size", 1, help="Size of the problem instead of the algorithm's own.")
@click.option(
    "--mapping",
    type=click.Choice(("one_to_one", "one_to_many")),
    default="one_to_one",
    show_default=True,
    help="Whether a worker uses one unit, or all of its share for each leaf.",
)
@click.option(
    "--victims",
    type=click.Choice(("random", "round_robin", "most_loaded")),
    default="random",
    show_default=True,
    help="Whom a worker without tasks steals from.",
)
@click.option(
    "--steal",
    type=click.Choice(("one", "half")),
    default="one",
    show_default=True,
    help="How many of the victim's tasks.",
)
@number_option("--queue", 1, 2**20, default=1024, help="Entries of each worker's queue.")
@number_option("--nesting", 0, 4096, default=64, help="Tasks that may wait below another one.")
@click.option(
    "--sync",
    type=click.Choice(("fence", "atomic")),
    default="fence",
    show_default=True,
    help="How a mailbox round is ordered.",
)
@click.option(
    "--rtl",
    is_flag=True,
    help="Run against the RTL of mailbox and units, over AXI4-Lite.",
)
@click.option(
    "--sim",
    "simulator",
    type=SIMULATOR,
    default=SIMULATORS[0],
    show_default=True,
    help="Simulator of --rtl.",
)
@json_option(help="Also write the figures to FILE.")
@click.option(
    "--timeline",
    metavar="FILE",
    type=OutputFile(),
    help="Also write a timeline for ui.perfetto.dev.",
)
@click.option(
    "--plot",
    metavar="FILE",
    type=OutputFile(),
    help="Also draw speed-up over workers (.png, .svg, .pdf).",
)
def steal(
    algorithm: str,
    size: int | None,
    rtl: bool,
    simulator: str,
    json_file: Path | None,
    timeline: Path | None,
    plot: Path | None,
    **settings: Any,
) -> None:
    """Run an algorithm on workers that steal tasks from each other.

    Workers split the problem until a piece is small enough for an execution unit. The answer is
    computed and compared with NumPy's or a closed one. Cycles are those of a discrete-event model;
    with --rtl they are clock cycles of the mailbox and units in RTL, which the workers reach over
    AXI4-Lite, and a model of the cores computes the leaves.

    The exit code is 0 if the answer was right, 1 if not, 2 if the input was refused, 3 if a program
    that is needed failed or a file could not be written.

    \b
    Examples:
      warploom steal merge_sort --workers 8
      warploom steal n_queens --workers 16 --victims most_loaded --steal half
      warploom steal merge_sort --workers 8 --rtl --size 8192
      warploom steal quadrature --workers 8 --timeline q.pftrace --plot q.svg --json q.json
    """
    from warploom_golden.stealing import Costs, StealOptions
    from warploom_sim.methods.steal import steal_report
    from warploom_sim.plots import check_plot
    from warploom_spec.extras import need

    refuse_same(json=json_file, timeline=timeline, plot=plot)
    settings["units"] = settings["units"] or settings["workers"]
    settings["max_nesting"] = settings.pop("nesting")
    options = StealOptions(costs=Costs(sync=settings.pop("sync")), **settings)
    if rtl:
        _run_rtl(algorithm, size, options, simulator, json_file, [timeline, plot])
    if timeline:
        need("perfetto.trace_builder.proto_builder", "report", "a timeline")
    if plot:
        check_plot(plot)
    with progress_bar() as progress:
        count = 1 + (len(steal_report.points(options.workers)) if plot else 0)
        task = progress.add_task(algorithm, total=count)
        run, figures = steal_report.run_once(algorithm, size, options)
        progress.advance(task)
        if timeline:
            steal_report.write_steal_timeline(timeline, f"warploom steal {algorithm}", run)
        if plot:
            found = []
            for point in steal_report.speedups(algorithm, size, options):
                found.append(point)
                progress.advance(task)
            steal_report.write_speedup_plot(plot, algorithm, found)
    _print(figures, steal_report.FIGURES)
    if json_file:
        write_json(json_file, figures)
    sys.exit(0 if figures["correct"] else 1)


def _run_rtl(
    algorithm: str,
    size: int | None,
    options: Any,
    simulator: str,
    json_file: Path | None,
    unused: list[Path | None],
) -> NoReturn:
    """Run against the RTL, print and write its figures, and exit."""
    if any(unused):
        raise click.UsageError("--rtl writes neither --timeline nor --plot.")
    require(simulator)
    from warploom_sim.methods.steal import steal_rtl

    with progress_bar() as progress:
        progress.add_task(f"{algorithm} on {simulator}", total=None)
        figures = steal_rtl.run_rtl(algorithm, size, options, simulator)
    _print(figures, steal_rtl.FIGURES)
    if json_file:
        write_json(json_file, figures)
    sys.exit(0 if figures["correct"] else 1)


def _print(figures: dict[str, Any], meanings: dict[str, str]) -> None:
    answer = "right" if figures["correct"] else "WRONG"
    table = Table("figure", "value", "meaning", title=f"{figures['algorithm']}: answer {answer}")
    table.columns[1].justify = "right"
    for name, meaning in meanings.items():
        table.add_row(name.replace("_", " "), f"{figures[name]:,}", meaning)
    console = table_console()
    console.print(table)
    console.print(WITHOUT_CONTENTION, highlight=False, soft_wrap=True)
