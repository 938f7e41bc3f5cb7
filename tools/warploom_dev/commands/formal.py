"""``python -m warploom_dev formal``: proofs of the RTL."""

import sys
import warnings
from pathlib import Path

import click

from warploom_sim.commands.parameters import (
    blocks_argument,
    json_option,
    number_option,
    update_option,
)
from warploom_sim.json_file import write_json
from warploom_sim.screen import progress_bar, table_console
from warploom_spec import WarploomError


@click.command()
@blocks_argument()
@click.option("--negative", is_flag=True, help="Seeded bugs: every one must be found.")
@click.option("--cover", is_flag=True, help="Interesting cases alone: every one must be reachable.")
@click.option("--quick", is_flag=True, help="Leave out what takes longest.")
@number_option(
    "--limit",
    1,
    metavar="SECONDS",
    default=900,
    help="Give a question up after so long; that is a failure.",
)
@update_option(help="Ask all; write each row of the committed figures and their page when known.")
@json_option(help="Also write the outcomes to FILE.")
def formal(
    blocks: tuple[str, ...],
    negative: bool,
    cover: bool,
    quick: bool,
    limit: int,
    update: bool,
    json_file: Path | None,
) -> None:
    """Prove what must hold of the blocks in every cycle, and reach its interesting cases.

    Inputs take any value in any cycle, the reset included. What a prover finds is run again in a
    simulator; build/formal keeps the waveforms.

    The exit code is 0, 1 if something is not proved, not reached, or not found, 2 if something was
    refused, 3 if a program that is needed failed or a file could not be written.

    \b
    Examples:
      python -m warploom_dev formal                  everything that is to be proved and reached
      python -m warploom_dev formal grid_walker --quick
      python -m warploom_dev formal --negative       every seeded bug
      python -m warploom_dev formal config_filter --cover --json outcomes.json
    """
    if update and (negative or cover or quick):
        raise click.UsageError("--update asks everything: it goes with no other choice.")
    from amaranth.hdl import UnusedElaboratable

    from warploom_dev.formal import formal_report, outcomes

    # A bench is also made to read what it states.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    kinds = [kind for kind, on in (("bug", negative), ("cover", cover)) if on]
    if not kinds:
        kinds = list(outcomes.KINDS) if update else ["proof", "cover"]
    names = blocks or outcomes.benches()
    if update:
        formal_report.check_writable()
    if not any(outcomes.chosen(name, quick) for name in names):
        raise WarploomError(f"{', '.join(names)} has no check{' with --quick' if quick else ''}")
    total = len(kinds) * sum(len(outcomes.chosen(name, quick)) for name in names)
    found = []
    with progress_bar() as progress:
        task = progress.add_task("", total=total)
        for name in names:
            for outcome in outcomes.outcomes(
                name,
                kinds,
                quick=quick,
                limit=limit,
                step=lambda what: progress.update(task, description=what),
            ):
                progress.advance(task)
                found.append(outcome)
                # What is known is kept, whatever ends the run.
                if update and len(found) % len(kinds) == 0:
                    formal_report.keep(found[-len(kinds) :])
    table_console().print(formal_report.screen_table(found))
    if json_file:
        write_json(json_file, formal_report.rows(found))
    if wrong := [outcome for outcome in found if not outcome.good]:
        for outcome in wrong:
            where = f", see {outcome.waveform}" if outcome.waveform else ""
            what = f"{outcome.bench}.{outcome.check.name}, {outcome.kind}: {outcome.text}{where}"
            click.echo(f"failed: {what}", err=True)
        sys.exit(1)
