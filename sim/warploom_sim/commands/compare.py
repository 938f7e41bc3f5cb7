"""``warploom compare``: many replays beside each other, or two launch by launch."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from warploom_sim.commands.parameters import (
    TRACE_FILE,
    OutputFile,
    OutputFolder,
    number_option,
    refuse_overwriting,
    refuse_same,
)
from warploom_sim.commands.request_options import Parsed, given_options, request_options
from warploom_sim.commands.sim import default_traces
from warploom_sim.cosim.simulators import SIMULATORS, require
from warploom_sim.failure import MismatchError
from warploom_sim.json_file import write_json
from warploom_sim.replay.option_kinds import Whole
from warploom_sim.replay.request_fields import Surface
from warploom_sim.screen import progress_bar, table_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warploom_sim.sweep.comparison import Job
    from warploom_sim.sweep.plan import Run
    from warploom_sim.sweep.result_folder import Row

#: Seeds of each combination where none is named.
SEEDS: Final = 5
#: More seeds than tell apart what is of use.
MOST_SEEDS: Final = 1000
_NEW_FORM = "two results are compared by: warploom compare --from A.json B.json"


class LaunchCounts(Parsed):
    """Numbers of launches; the names of two results, which stood here before, get the new form."""

    def __init__(self) -> None:
        super().__init__(Whole(1), several=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the numbers."""
        if isinstance(value, str) and value.endswith(".json"):
            self.fail(f"{value!r}; legal: {self.kind.legal}. {_NEW_FORM}", param, ctx)
        return super().convert(value, param, ctx)


def _renamed(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.BadParameter(f"give --launches {value} instead.", param_hint="'--first'")


@click.command()
@click.argument("traces", metavar="[TRACE]...", nargs=-1, type=TRACE_FILE)
@request_options(Surface.COMPARE, {"launches": LaunchCounts()}, {"seed": "those of --seeds"})
@number_option(
    "--seeds",
    1,
    MOST_SEEDS,
    default=None,
    help=f"Seeds 1 to N, whose mean and spread are a row.  [default: {SEEDS}]",
)
@click.option("--first", hidden=True, expose_value=False, callback=_renamed)
@click.option(
    "--results",
    type=OutputFolder(),
    default=Path("build/compare"),
    show_default=True,
    help="Folder of the results: Parquet, a row a run. Runs that are there do not run again.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run on the workers of this Dask scheduler, tcp://..., not on this machine.",
)
@number_option("--workers", 1, help="Processes on this machine.  [default: one for each CPU]")
@click.option(
    "--from",
    "pair",
    nargs=2,
    metavar="A.json B.json",
    type=TRACE_FILE,
    help="Compare two runs of `warploom sim --json` launch by launch; traces are not replayed.",
)
@number_option("--top", 0, default=20, help="With --from: launches in the table.")
@click.option(
    "--plot", metavar="FILE", type=OutputFile(), help="Also write a plot: .png, .svg or .pdf."
)
@click.option(
    "--csv",
    "csv_file",
    metavar="FILE",
    type=OutputFile(),
    help="Also write all figures to FILE, a row for each combination.",
)
def compare(
    traces: tuple[Path, ...],
    seeds: int | None,
    plot: Path | None,
    csv_file: Path | None,
    results: Path,
    scheduler: str | None,
    workers: int | None,
    pair: tuple[Path, Path] | None,
    top: int,
    **values: Any,
) -> None:
    """Replay traces with every combination of the options' values, and print them side by side.

    The golden event model replays; with --rtl the RTL as well, compared event by event. Each
    combination runs with several seeds: its row says mean and spread, and whether it can be told
    apart from the others. Finished runs are kept, so that a comparison that was broken off goes on
    where it was.

    The exit code is 0, 1 if RTL and model differ, 2 if the input was refused, 3 if a program that
    is needed failed or a file could not be written.

    \b
    Examples:
      warploom compare mine.json.gz --policy round_robin,least_loaded --plot policies.png
      warploom compare mine.json.gz --reclaim in_order,out_of_order --json runs.json
      warploom compare mine.json.gz --contention none,sharing --knee 8,16
      warploom compare mine.json.gz --arrivals none,trace --policy round_robin,least_loaded
      warploom compare mine.json.gz --set sms=4,8,16 --set block_slots=16,32 --seeds 10
      warploom compare mine.json.gz --allocator shared,own --set history_entries=1,2,4,8
      warploom compare a.json b.json --scheduler tcp://10.0.0.1:8786 --results runs
      warploom compare mine.json.gz --policy round_robin,least_loaded --report policies.html
      warploom compare --from first.json second.json
    """
    began = time.monotonic()
    given = given_options(values)
    json_file: Path | None = given.pop("json", None)
    report: Path | None = given.pop("report", None)
    if pair:
        if traces or given or seeds:
            raise click.UsageError("--from compares two files that are there: no TRACE, no replay.")
        for option, file in (("--csv", csv_file), ("--report", report)):
            if file:
                raise click.UsageError(f"{option} is of runs; with --from there is none.")
        _compare_launches(*pair, top, json_file, plot)
        return
    if seeds and "seed" in given:
        raise click.UsageError("--seeds stands for seeds 1 to N, --seed names them; give one.")
    traces = traces or default_traces()
    outputs = {"json": json_file, "plot": plot, "csv": csv_file, "report": report}
    for name, output in outputs.items():
        refuse_overwriting(output, traces, f"--{name}")
    refuse_same(**outputs)
    if given.get("rtl"):
        for simulator in given.get("simulator", SIMULATORS[:1]):
            require(simulator)
    from warploom_sim.plots import check_plot
    from warploom_sim.sweep.combinations import as_json, by_combination, combine, write_csv
    from warploom_sim.sweep.comparison import prepare_comparison
    from warploom_sim.sweep.table import killed_nobody, show_comparison, time_scale_warning

    if plot:
        check_plot(plot)
    lists = {n: one if isinstance(one, tuple) else (one,) for n, one in given.items()}
    lists.setdefault("seed", tuple(range(1, (seeds or SEEDS) + 1)))
    if report:
        from warploom_sim.views.html_report.page import check_report

        check_report()
    job = prepare_comparison(traces, lists, results)
    if report:
        from warploom_sim.sweep.comparison_page import check_pairs

        check_pairs([group[0].identity() for group in by_combination(job.runs)])
    for note in job.notes:
        click.echo(note, err=True)
    ran = len(job.missing)
    _run(job, scheduler, workers)
    rate = round(60 * ran / (time.monotonic() - began), 1) if ran else None
    rows = combine(job.runs, job.rows)
    if warning := time_scale_warning(rows):
        click.echo(warning, err=True)
    for said in killed_nobody(rows):
        click.echo(said, err=True)
    show_comparison(table_console(), rows)
    faults = [job.time_faults[runs[0].request.trace] for runs in by_combination(job.runs)]
    files = [as_json(row, rate) | each for row, each in zip(rows, faults, strict=True)]
    if json_file:
        write_json(json_file, files)
    if csv_file:
        write_csv(csv_file, files)
    if plot:
        from warploom_sim.sweep.plot import plot_comparison

        plot_comparison(plot, rows)
    if report:
        _write_report(report, rows, by_combination(job.runs))


def _write_report(path: Path, rows: "Sequence[Row]", runs: "Sequence[Sequence[Run]]") -> None:
    """Write the page, and show how far it is."""
    from warploom_sim.sweep.comparison_page import runs_of_report, write_comparison

    total = runs_of_report(runs)
    with progress_bar(f"report: about {total} more runs, most of them for gains") as bar:
        task = bar.add_task("report: parts of each run, gains", total=total)
        write_comparison(path, rows, runs, lambda more: bar.advance(task, more))
    click.echo(f"report: {path}")


def _run(job: "Job", scheduler: str | None, workers: int | None) -> None:
    """Run what is missing, and show how far it is; end with 1 if RTL and model differ."""
    from warploom_sim.sweep.comparison import run_missing

    missing = len(job.missing)
    kept = f"{len(job.runs) - missing} kept in {job.results.folder}"
    with progress_bar(f"{missing} runs to do, {kept}") as bar:
        task = bar.add_task("runs", total=len(job.runs), completed=len(job.rows))
        try:
            run_missing(job, scheduler, workers, lambda: bar.advance(task))
        except MismatchError as error:
            bar.stop()
            click.echo(str(error), err=True)
            sys.exit(1)


def _compare_launches(
    first: Path, second: Path, top: int, json_file: Path | None, plot: Path | None
) -> None:
    """Print what changed from one run to the other, launch by launch."""
    if plot:
        raise click.UsageError("--plot is of runs; with --from there is none.")
    refuse_overwriting(json_file, (first, second))
    from warploom_sim.sweep.launch_difference import as_json, read_pairs, show_difference

    pairs = read_pairs(first, second)
    console = table_console()
    for pair in pairs:
        show_difference(console, pair, top)
    if json_file:
        write_json(json_file, as_json(pairs, first, second))
