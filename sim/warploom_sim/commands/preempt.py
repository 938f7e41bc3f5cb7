"""``warploom preempt``: measures the latency and the cost of preemption on recorded traces."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click

from warploom_sim.commands.parameters import (
    POLICY,
    PRESET,
    RECLAIM,
    TRACE_FILE,
    OutputFile,
    Share,
    as_settings,
    json_option,
    number_option,
    refuse_overwriting,
    refuse_same,
    set_option,
)
from warploom_sim.commands.request_options import Parsed, knee_of, request_option
from warploom_sim.replay.option_kinds import Scale

#: Factor of the recorded block lengths with ``--rtl``, where long blocks cost time.
_RTL_SCALE: Final = Fraction(1, 32)
MODES: Final = ("reset", "drain", "yield", "wait", "auto")


@click.command()
@click.argument("traces", metavar="LOW HIGH | TRACE", nargs=-1, required=True, type=TRACE_FILE)
@number_option(
    "--urgent", 0, metavar="STREAM", show_default=False, help="The trace's urgent stream."
)
@click.option(
    "--mode",
    "modes",
    type=click.Choice(MODES),
    multiple=True,
    default=MODES,
    show_default=True,
    help="How low launches make way; one run each, may be repeated.",
)
@click.option(
    "--idempotent",
    type=Share(),
    metavar="SHARE",
    default=Fraction(1),
    show_default=True,
    help="Share of the low kernels that are idempotent, drawn by kernel.",
)
@click.option(
    "--config", type=PRESET, default="default", show_default=True, help="Preset of the machine."
)
@set_option
@click.option("--policy", type=POLICY, help="Placement instead of the preset's.")
@click.option("--reclaim", type=RECLAIM, help="Reclaim policy instead of the preset's.")
@click.option(
    "--time-scale",
    type=Parsed(Scale()),
    help="Block lengths are the recorded ones times this.  [default: 1; with --rtl 1/32]",
)
@request_option("contention")
@request_option("knee")
@request_option("gpu")
@request_option("events")
@number_option("--arrivals", 1, 10**6, default=1000, help="Urgent launches of each run.")
@click.option(
    "--distance",
    type=Parsed(Scale()),
    default=Fraction(2),
    show_default=True,
    help="Mean distance between urgent launches, in mean low launches.",
)
@number_option(
    "--report-time", 0, 500, default=5, help="Cycles that an SM takes to report a killed block."
)
@number_option("--seed", 0, 2**32 - 1, default=1, help="Seed of distances, lengths and draws.")
@click.option(
    "--rtl",
    is_flag=True,
    help="Run the modes on the RTL; compare every event with the model, and check the law.",
)
@json_option(help="Also write the figures to FILE.")
@click.option(
    "--plot",
    metavar="FILE",
    type=OutputFile(),
    help="Also draw the distribution of latencies (.png, .svg, .pdf).",
)
def preempt(
    traces: tuple[Path, ...],
    config: str,
    settings: tuple[str, ...],
    policy: str | None,
    reclaim: str | None,
    contention: str | None,
    knee: int | None,
    json_file: Path | None,
    time_scale: Fraction | None,
    events: str | None,
    rtl: bool,
    **options: Any,
) -> None:
    """Let urgent launches preempt a recorded workload, and measure how long they wait.

    Each mode is one run: the low trace is repeated while urgent launches come at random distances.
    Latency is counted from an urgent launch's acceptance to its first block. The tables compare it
    with waiting for a window of 8 launches, with synchronous launching, and with published figures.

    With --rtl the modes run on the RTL of LaunchPath. Every event is compared with the
    model's, and each urgent launch with the law of how long it may take.

    The exit code is 0, 1 if RTL and model differ, if less was compared than the launches demand, or
    if the law is broken or met no launch, 2 if the input was refused, 3 if a program failed or a
    file could not be written.

    \b
    Examples:
      warploom preempt traces/two_streams_priority.json.gz --urgent 31
      warploom preempt low.json.gz high.json.gz --mode reset --mode drain --json p.json
      warploom preempt mine.json.gz --urgent 7 --idempotent 0.5 --plot latency.svg
      warploom preempt traces/two_streams_priority.json.gz --urgent 31 --rtl --arrivals 100
    """
    from warploom_sim.methods.preempt import measurement
    from warploom_sim.variant import variant

    refuse_overwriting(json_file, traces)
    refuse_overwriting(options["plot"], traces)
    refuse_same(json=json_file, plot=options["plot"])
    chosen = as_settings(policy=policy, reclaim=reclaim)
    machine = variant(config, (*settings, *chosen)).config
    warps = knee_of(contention, knee)
    modes = tuple(dict.fromkeys(options.pop("modes")))
    scale = time_scale or (_RTL_SCALE if rtl else Fraction(1))
    problems = measurement.run(
        measurement.PreemptOptions(
            traces=traces,
            modes=modes,
            config=machine,
            settings=settings,
            knee=warps,
            time_scale=scale,
            keeps_waits=events != "ignore",
            rtl=rtl,
            json=json_file,
            **options,
        )
    )
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        sys.exit(1)
