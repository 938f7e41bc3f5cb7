"""``warploom merge``: several tasks as one kernel, beside separate launches."""

from pathlib import Path
from typing import Any

import click

from warploom_sim.commands.parameters import (
    POLICY,
    PRESET,
    RECLAIM,
    TRACE_FILE,
    json_option,
    number_option,
    refuse_overwriting,
)
from warploom_sim.commands.request_options import Parsed, request_option
from warploom_sim.json_file import write_json
from warploom_sim.replay.option_kinds import Scale
from warploom_sim.screen import progress_bar, table_console

MODES = ("spin", "gate")
ORDERS = ("topological", "interleaved", "longest_first")
CHARGES = ("maximum", "task")


@click.command()
@click.argument("file", metavar="TRACE|TASKS.toml", type=TRACE_FILE)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="gate",
    show_default=True,
    help="Whose cycles are the figure 'cycles'; both modes run.",
)
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    default=ORDERS[0],
    show_default=True,
    help="In which order the planner places tasks.",
)
@click.option(
    "--charge",
    type=click.Choice(CHARGES),
    default=CHARGES[0],
    show_default=True,
    help="What a merged block takes of its SM: the maxima over the tasks, or its own task's need;"
    " both run.",
)
@click.option(
    "--config", type=PRESET, default="default", show_default=True, help="Preset of the machine."
)
@number_option("--max-tasks", 1, 64, default=16, help="Tasks of one merged launch.")
@number_option("--launches", 1, help="Only the first N launches of a trace.")
@click.option("--policy", type=POLICY, help="Placement policy instead of the preset's.")
@click.option("--reclaim", type=RECLAIM, help="Reclaim policy instead of the preset's.")
@number_option(
    "--seed", 0, 2**32 - 1, default=1, help="Seed of the jitter of a trace's block lengths."
)
@click.option(
    "--time-scale",
    type=Parsed(Scale()),
    default="1/32",
    show_default=True,
    help="A trace's block lengths are the recorded ones times this.",
)
@request_option("gpu")
@click.option(
    "--h200",
    "beside_h200",
    is_flag=True,
    help="Also print three tasks as an NVIDIA H200 ran them.",
)
@json_option(help="Also write the figures to FILE.")
def merge(file: Path, beside_h200: bool, json_file: Path | None, **settings: Any) -> None:
    """Run several tasks as one kernel, and print its cycles beside those of separate launches.

    Of a trace, the next two launches of every stream become one merged launch, again and again.
    A task file says tasks and what they need; docs/merging/merged_kernels.md has one. Cycles are
    those of a golden event model. Both modes run with both charging rules.

    The exit code is 0, 2 if the input was refused, 3 if a file could not be written.

    \b
    Examples:
      warploom merge traces/resnet50_infer.json.gz
      warploom merge traces/two_streams_priority.json.gz --charge task --json merged.json
      warploom merge tasks.toml --order interleaved --mode spin
    """
    refuse_overwriting(json_file, [file])
    from warploom_sim.methods.merge import h200, merge_report
    from warploom_sim.methods.merge.run import RUNS, MergeOptions, prepare, run

    options = MergeOptions(file=file, **settings)
    job = prepare(options)
    with progress_bar() as progress:
        task = progress.add_task("blocks", total=len(RUNS) * job.blocks)
        figures = run(options, job, lambda blocks: progress.advance(task, blocks))
    console = table_console()
    merge_report.show(console, figures)
    if beside_h200:
        figures["h200"] = list(h200.compare())
        merge_report.show_h200(console, figures["h200"])
    if json_file:
        write_json(json_file, figures)
