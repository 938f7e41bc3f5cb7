"""``warploom compare``: many replays beside each other, or two launch by launch."""

import sys
from pathlib import Path
from typing import Any

import click

from warploom_sim.commands.parameters import (
    TRACE_FILE,
    Choices,
    OutputFile,
    OutputFolder,
    TimeScales,
    Wholes,
    json_option,
    number_option,
    refuse_overwriting,
    refuse_same,
    several_option,
)
from warploom_sim.commands.sim import default_traces
from warploom_sim.cosim.simulators import SIMULATORS, require
from warploom_sim.failure import MismatchError
from warploom_sim.json_file import write_json
from warploom_sim.replay.request import ALLOCATORS, ARRIVALS, CONTENTIONS, DEFAULT_KNEE, MOST_KNEE
from warploom_sim.screen import progress_bar, table_console
from warploom_spec import PRESETS
from warploom_spec.config import POLICIES, RECLAIMS


@click.command()
@click.argument("traces", metavar="[TRACE]...", nargs=-1, type=TRACE_FILE)
@click.option(
    "--config",
    "configs",
    type=Choices(PRESETS),
    default="default",
    show_default=True,
    help="Presets, such as default,large.",
)
@click.option("--policy", "policies", type=Choices(POLICIES), help="Instead of the preset's.")
@click.option("--reclaim", "reclaims", type=Choices(RECLAIMS), help="Instead of the preset's.")
@several_option(
    "--set",
    "settings",
    metavar="FIELD=V1,V2",
    help="Values of a field of the preset, such as sms=4,8; may be given more than once.",
)
@click.option(
    "--time-scale",
    "time_scales",
    type=TimeScales(),
    metavar="FRACTION,...",
    default="1/32",
    show_default=True,
    help="Block lengths are the recorded ones times these.",
)
@click.option(
    "--contention",
    "contentions",
    type=Choices(CONTENTIONS),
    default="none",
    show_default=True,
    help="Whether the blocks of an SM slow each other down.",
)
@click.option(
    "--knee",
    "knees",
    type=Wholes(1, MOST_KNEE),
    metavar="N,...",
    help=f"With contention: warps that an SM runs at full speed.  [default: {DEFAULT_KNEE}]",
)
@click.option(
    "--arrivals",
    type=Choices(ARRIVALS),
    default=ARRIVALS[0],
    show_default=True,
    help="Whether launches arrive at the recorded times of their calls, or one after the other.",
)
@click.option(
    "--allocator",
    "allocators",
    type=Choices(ALLOCATORS),
    default=ALLOCATORS[0],
    show_default=True,
    help="Which kernels get an address of their own in the index memory: from their second launch"
    " on, none, all.",
)
@number_option(
    "--kill-every",
    1,
    help="Kill launches N, 2N, ... (the first is launch 0), each after a seeded number of blocks.",
)
@number_option("--first", 1, help="Only the first N launches of each trace.")
@number_option("--device", 0, help="Only the kernels of GPU N of each trace.  [default: all]")
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse a trace with kernels whose launch call is not recorded, which are left out else.",
)
@number_option(
    "--seed", 0, 2**32 - 1, default=1, help="Seed of the jitter of the block lengths, and of kills."
)
@click.option("--rtl", is_flag=True, help="Run the RTL as well, every event compared.")
@click.option(
    "--sim",
    "simulator",
    type=click.Choice(SIMULATORS),
    default=SIMULATORS[0],
    show_default=True,
    help="With --rtl: simulator that runs it.",
)
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
    "--launches",
    nargs=2,
    metavar="A.json B.json",
    type=TRACE_FILE,
    help="Compare two runs of `warploom sim --json` launch by launch; traces are not replayed.",
)
@number_option("--top", 0, default=20, help="With --launches: launches in the table.")
@click.option(
    "--plot", metavar="FILE", type=OutputFile(), help="Also write a plot: .png, .svg or .pdf."
)
@json_option(help="Also write a list of the runs with all figures to FILE.")
def compare(
    traces: tuple[Path, ...],
    json_file: Path | None,
    plot: Path | None,
    results: Path,
    scheduler: str | None,
    workers: int | None,
    rtl: bool,
    simulator: str,
    launches: tuple[Path, Path] | None,
    top: int,
    **request: Any,
) -> None:
    """Replay traces with every combination of the options' values, and print them side by side.

    The golden event model replays; with --rtl the RTL as well, compared event by event. Finished
    runs are kept, so that a comparison that was broken off goes on where it was.

    The exit code is 0, 1 if RTL and model differ, 2 if the input was refused, 3 if a program that
    is needed failed or a file could not be written.

    \b
    Examples:
      warploom compare mine.json.gz --policy round_robin,least_loaded --plot policies.png
      warploom compare mine.json.gz --reclaim in_order,out_of_order --json runs.json
      warploom compare mine.json.gz --contention none,sharing --knee 8,16
      warploom compare mine.json.gz --arrivals none,trace --policy round_robin,least_loaded
      warploom compare mine.json.gz --set sms=4,8,16 --set block_slots=16,32
      warploom compare mine.json.gz --allocator shared,own --set history_entries=1,2,4,8
      warploom compare a.json b.json --scheduler tcp://10.0.0.1:8786 --results runs
      warploom compare --launches first.json second.json
    """
    if launches:
        if traces:
            raise click.UsageError("--launches compares two files that are there; name no TRACE.")
        _compare_launches(*launches, top, json_file, plot)
        return
    if request["knees"] and set(request["contentions"]) == {"none"}:
        raise click.BadParameter(
            "there is no contention; give --contention sharing, too.", param_hint="'--knee'"
        )
    traces = traces or default_traces()
    for output, option in ((json_file, "--json"), (plot, "--plot")):
        refuse_overwriting(output, traces, option)
    refuse_same(json=json_file, plot=plot)
    if rtl:
        require(simulator)
    from warploom_sim.plots import check_plot
    from warploom_sim.sweep.comparison import prepare_comparison, run_missing
    from warploom_sim.sweep.plan import Request
    from warploom_sim.sweep.table import show_comparison

    if plot:
        check_plot(plot)
    wanted = Request(traces=traces, simulator=simulator if rtl else None, **_no_nones(request))
    job = prepare_comparison(wanted, results)
    for note in job.notes:
        click.echo(note, err=True)
    missing = len(job.missing)
    with progress_bar(f"{missing} runs to do, {len(job.runs) - missing} kept in {results}") as bar:
        task = bar.add_task("runs", total=len(job.runs), completed=len(job.rows))
        try:
            run_missing(job, scheduler, workers, lambda: bar.advance(task))
        except MismatchError as error:
            bar.stop()
            click.echo(str(error), err=True)
            sys.exit(1)
    rows = [job.rows[run.run_id] for run in job.runs]
    show_comparison(table_console(), rows)
    if json_file:
        write_json(json_file, rows)
    if plot:
        from warploom_sim.sweep.plot import plot_comparison

        plot_comparison(plot, rows)


def _compare_launches(
    first: Path, second: Path, top: int, json_file: Path | None, plot: Path | None
) -> None:
    """Print what changed from one run to the other, launch by launch."""
    if plot:
        raise click.UsageError("--plot is of runs; with --launches there is none.")
    refuse_overwriting(json_file, (first, second))
    from warploom_sim.sweep.launch_difference import as_json, read_pairs, show_difference

    pairs = read_pairs(first, second)
    console = table_console()
    for pair in pairs:
        show_difference(console, pair, top)
    if json_file:
        write_json(json_file, as_json(pairs, first, second))


def _no_nones(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
