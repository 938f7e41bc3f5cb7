"""``python -m warploom_dev synth``: area and clock rate on an FPGA."""

import dataclasses
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from warploom_sim.commands.parameters import (
    POLICY,
    PRESET,
    RECLAIM,
    json_option,
    number_option,
    several_option,
    update_option,
)
from warploom_sim.json_file import write_json
from warploom_sim.screen import progress_bar, table_console
from warploom_spec import WarploomError

if TYPE_CHECKING:
    from warploom_dev.synth.measure import Job, Key, Row
    from warploom_dev.synth.targets import Target


@click.command()
@several_option("--block", "blocks", metavar="NAME", help="Only this block; may be repeated.")
@several_option(
    "--config",
    "configs",
    type=PRESET,
    help="Only rows of this preset; may be repeated.",
)
@several_option(
    "--policy",
    "policies",
    type=POLICY,
    help="Only dispatchers of this policy; may be repeated.",
)
@several_option(
    "--reclaim",
    "reclaims",
    type=RECLAIM,
    help="Only dispatchers of this reclaim; may be repeated.",
)
@number_option(
    "--seeds",
    0,
    help="Place and route each row with N seeds; 0 measures area alone. With --check: up to N of"
    " the row's seeds, again.  [default: the row's; with --check 0]",
)
@click.option("--check", is_flag=True, help="Fail if the committed figures are stale.")
@update_option(help="Write the committed figures and the pages.")
@click.option("--breakdown", is_flag=True, help="Also say where area and critical path are.")
@click.option(
    "--paths",
    is_flag=True,
    help="Also say between which blocks paths take more than --period, for each seed.",
)
@click.option(
    "--period",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    help="A clock period in ns, for --paths.",
)
@number_option(
    "--jobs",
    1,
    default=os.cpu_count(),
    show_default="one a core",
    help="Programs that run side by side.",
)
@json_option(help="Also write the figures to FILE.")
def synth(
    blocks: tuple[str, ...],
    configs: tuple[str, ...],
    policies: tuple[str, ...],
    reclaims: tuple[str, ...],
    seeds: int | None,
    check: bool,
    update: bool,
    breakdown: bool,
    paths: bool,
    period: float,
    jobs: int,
    json_file: Path | None,
) -> None:
    """Measure the blocks' area and clock rate on an ECP5, beside the committed figures.

    What was measured before and has not changed is not measured again: build/synth keeps it. Run it
    in the repository, where docs/figures/synth.json is.

    The exit code is 0, 1 if the committed figures are stale (--check), 2 if something was refused,
    3 if a program that is needed failed or a file could not be written.

    \b
    Examples:
      python -m warploom_dev synth
      python -m warploom_dev synth --block BlockDispatcher --config default --seeds 1
      python -m warploom_dev synth --block IndexGenerator --seeds 0 --breakdown
      python -m warploom_dev synth --block LaunchCheck --seeds 1 --paths --period 9.09
      python -m warploom_dev synth --check
      python -m warploom_dev synth --check --block IndexGenerator --config tiny --seeds 1
    """
    if check and update:
        raise click.UsageError("--update goes not with --check, which writes nothing.")
    if paths and (seeds == 0 or (check and not seeds)):
        raise click.UsageError("--paths places and routes: --seeds must be 1 or more.")
    from warploom_dev.pages import require
    from warploom_dev.synth import costs, synth_figures, synth_report, targets

    # Before any work: the figures are the repository's.
    require(
        *((synth_figures.FILE,) if check else ()),
        *((synth_report.PAGE, *costs.PAGES) if update else ()),
    )
    chosen = targets.select(block=blocks, config=configs, policy=policies, reclaim=reclaims)
    required = chosen
    committed = synth_figures.read(synth_figures.FILE)
    if update:
        # A page that cannot be written is told of before an hour's work.
        synth_report.page_text(synth_report.PAGE.read_text(), list(committed.values()))
        costs.page_texts(committed.values())
    if check:
        placed = {key: len(row.seeds) for key, row in committed.items()}
        again = ((t, min(placed.get(t.key, 0), seeds or 0)) for t in chosen)
        chosen = tuple(dataclasses.replace(t, seeds=number) for t, number in again)
    elif seeds is not None:
        if update:
            _refuse_too_few(seeds, required)
        chosen = tuple(dataclasses.replace(t, seeds=seeds) for t in chosen)
    # A rate is compared with one of the same nextpnr.
    same = {key: row.placed_by for key, row in committed.items() if check and row.placed_by}
    measured = _measure(chosen, jobs, same, paths)
    rows = [synth_figures.keep_rates(row, committed) for _, row in measured]
    console = table_console()
    console.print(synth_report.figures_table(rows, committed))
    if (peers := synth_report.peers_table(row.block for row in rows)).row_count:
        console.print(peers)
    if breakdown:
        from warploom_dev.synth.breakdown import breakdown_text

        for job, _ in measured:
            click.echo(breakdown_text(job))
    if paths:
        from warploom_dev.synth.path_families import families_text

        for job, row in measured:
            for seed in row.seeds:
                click.echo(families_text(job, seed, period))
    if json_file:
        write_json(json_file, [row.to_json() for row in rows])
    if update:
        kept = committed | {row.key: row for row in rows}
        if lost := synth_figures.missing(kept, required):
            raise WarploomError(
                f"--seeds is {seeds} with --update, and no clock rate of this Verilog and this flow"
                f" is there to keep: {'; '.join(lost)}; the committed figures stay as they were;"
                " leave --seeds out"
            )
        synth_figures.write(synth_figures.FILE, kept.values())
        written = synth_figures.read(synth_figures.FILE)
        synth_report.write_page(written)
        costs.write_pages(written.values())
    wrong = synth_figures.stale(committed, rows) + synth_figures.missing(committed, required)
    if check and wrong:
        for line in wrong:
            click.echo(f"stale: {line}", err=True)
        click.echo(f"{synth_figures.FILE} is stale; run: make synth ARGS=--update", err=True)
        sys.exit(1)


def _refuse_too_few(seeds: int, required: "Sequence[Target]") -> None:
    """Refuse rows that --check would refuse: of fewer seeds than a row needs, but for none."""
    most = max(required, key=lambda target: target.seeds)
    if 0 < seeds < most.seeds:
        raise click.UsageError(
            f"--seeds is {seeds} with --update, but {most.name} needs {most.seeds}; legal:"
            f" {most.seeds} or more, or 0, which keeps the clock rates of what has not changed."
        )


def _measure(
    chosen: "Sequence[Target]", jobs: int, placed_by: "Mapping[Key, str]", paths: bool
) -> "list[tuple[Job, Row]]":
    from warploom_dev.synth import measure

    with progress_bar() as progress:
        task = progress.add_task("synthesis", total=measure.steps(chosen))

        def step(done: str) -> None:
            progress.update(task, advance=1, description=done)

        def tell(line: str) -> None:
            click.echo(line, err=True)

        return measure.measure(chosen, jobs, step, tell, placed_by=placed_by, delays=paths)
