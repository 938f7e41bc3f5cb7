"""``warploom sim``: replay traces through the RTL."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click

from warploom_sim.commands.parameters import (
    ARRIVALS,
    CONTENTION,
    HOST,
    POLICY,
    PRESET,
    RECLAIM,
    SIMULATOR,
    TRACE_FILE,
    OutputFile,
    TimeScale,
    WaveCycles,
    json_option,
    number_option,
    refuse_overwriting,
    refuse_same,
    set_option,
)
from warploom_sim.cosim.simulators import SIMULATORS, require
from warploom_sim.replay.request import ARRIVALS as ARRIVAL_WORDS
from warploom_sim.replay.request import CONTENTIONS, DEFAULT_KNEE, HOSTS, MOST_KNEE, ReplayOptions
from warploom_spec import WarploomError

#: Replayed when none is named: one network's inference, and blocks of three dimensions.
DEFAULT_TRACES: Final = ("resnet50_infer.json.gz", "stencil3d_shapes.json.gz")


@click.command()
@click.argument("traces", metavar="[TRACE]...", nargs=-1, type=TRACE_FILE)
@click.option(
    "--sim",
    "simulator",
    type=SIMULATOR,
    default=SIMULATORS[0],
    show_default=True,
    help="Simulator that runs the RTL.",
)
@click.option(
    "--config",
    type=PRESET,
    default="default",
    show_default=True,
    help="Preset that the RTL is generated from.",
)
@number_option(
    "--launches",
    1,
    help="Only the first N launches of each trace.",
)
@number_option("--device", 0, help="Only the kernels of GPU N of each trace.  [default: all]")
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse a trace with kernels whose launch call is not recorded, which are left out else.",
)
@click.option("--policy", type=POLICY, help="Placement policy instead of the preset's.")
@click.option("--reclaim", type=RECLAIM, help="Reclaim policy instead of the preset's.")
@set_option
@number_option(
    "--seed",
    0,
    2**32 - 1,
    default=1,
    help="Seed of the jitter of the block lengths, and of kills.",
)
@click.option(
    "--time-scale",
    type=TimeScale(),
    metavar="FRACTION",
    default=Fraction(1, 32),
    show_default=True,
    help="Block lengths are the recorded ones times this.",
)
@number_option(
    "--kill-every",
    1,
    help="Kill launches N, 2N, ... (the first is launch 0), each after a seeded number of blocks.",
)
@click.option(
    "--arrivals",
    type=ARRIVALS,
    default=ARRIVAL_WORDS[0],
    show_default=True,
    help="Whether launches arrive at the recorded times of their calls, or one after the other.",
)
@click.option(
    "--host",
    type=HOST,
    default=HOSTS[0],
    show_default=True,
    help="Whether a source sends the launches, or a host rings doorbells over AXI4-Lite.",
)
@click.option(
    "--contention",
    type=CONTENTION,
    default=CONTENTIONS[0],
    show_default=True,
    help="Whether the blocks of an SM slow each other down.",
)
@number_option(
    "--knee",
    1,
    MOST_KNEE,
    help=f"With contention: warps that an SM runs at full speed.  [default: {DEFAULT_KNEE}]",
)
@click.option("--waves", is_flag=True, help="Also write a waveform, and a view for GTKWave.")
@click.option(
    "--wave-cycles",
    metavar="A:B",
    type=WaveCycles(),
    help="With --waves: write cycles A to B alone.",
)
@json_option(help="Also write the figures to FILE, those of each launch among them.")
@click.option(
    "--launches-csv",
    metavar="FILE",
    type=OutputFile(),
    help="Also write a row for each launch to FILE.",
)
@click.option(
    "--timeline",
    metavar="FILE",
    type=OutputFile(),
    help="Also write a timeline to FILE, which ui.perfetto.dev opens.",
)
@click.option(
    "--report",
    metavar="FILE",
    type=OutputFile(),
    help="Also write a report to FILE: one HTML page with charts and tables.",
)
@click.option("--forced-fault", hidden=True, help="Plant a fault, to see it found.")
def sim(traces: tuple[Path, ...], json_file: Path | None, knee: int | None, **options: Any) -> None:
    """Replay kernel-launch traces through the RTL and compare it with the golden models.

    A trace is what the PyTorch profiler writes (Chrome trace JSON, plain or gzip). Without one the
    repository's resnet50_infer and stencil3d_shapes are replayed.

    The exit code is 0 if all was equal, 1 if something differed, 2 if the input was refused, 3 if a
    program that is needed failed or a file could not be written.

    \b
    Examples:
      warploom sim
      warploom sim --sim icarus --launches 20
      warploom sim mine.json.gz --config large --policy least_loaded --json report.json
      warploom sim --kill-every 3 --launches 30
      warploom sim mine.json.gz --timeline run.pftrace --report run.html
      warploom sim mine.json.gz --set sms=4 --set block_slots=16 --launches-csv launches.csv
      warploom sim mine.json.gz --waves --wave-cycles 20000:21000
      warploom sim mine.json.gz --contention sharing --knee 8
      warploom sim mine.json.gz --arrivals trace
      warploom sim --host axi
    """
    if knee is not None and options["contention"] == "none":
        raise click.BadParameter(
            f"{knee} without contention; give --contention sharing, too.", param_hint="'--knee'"
        )
    if options["wave_cycles"] and not options["waves"]:
        raise click.BadParameter(
            "{}:{} without a waveform; give --waves, too.".format(*options["wave_cycles"]),
            param_hint="'--wave-cycles'",
        )
    for name, without in (("kill_every", None), ("arrivals", "none")):
        if options["host"] == "axi" and options[name] != without:
            option = f"--{name.replace('_', '-')}"
            raise click.BadParameter(f"axi with {option}; legal: direct.", param_hint="'--host'")
    options["knee"] = knee or DEFAULT_KNEE
    request = ReplayOptions(traces=traces or default_traces(), json=json_file, **options)
    refuse_overwriting(json_file, request.traces)
    refuse_overwriting(request.launches_csv, request.traces, "--launches-csv")
    refuse_overwriting(request.timeline, request.traces, "--timeline")
    refuse_overwriting(request.report, request.traces, "--report")
    refuse_same(
        json=json_file,
        launches_csv=request.launches_csv,
        timeline=request.timeline,
        report=request.report,
    )
    require(request.simulator)
    # The replay pulls in Amaranth and NumPy: --help and refusals need neither.
    from warploom_sim.commands import sim_run

    sys.exit(sim_run.run(request))


def default_traces() -> tuple[Path, ...]:
    """Return the repository's traces that are replayed when none is named.

    Raises
    ------
    WarploomError
        If this is an installed package: the recordings are the repository's.
    """
    folder = Path(__file__).parents[3] / "traces"
    found = tuple(folder / name for name in DEFAULT_TRACES)
    if not all(path.is_file() for path in found):
        raise WarploomError(
            f"no trace named, and the recordings ({', '.join(DEFAULT_TRACES)}) come with the"
            " repository, not with the package; name one: warploom sim FILE"
        )
    return found
