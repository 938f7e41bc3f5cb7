"""``python -m warploom_dev figures``: which committed rows are of other hardware than is there."""

import os
import sys
import warnings

import click

from warploom_sim.commands.parameters import blocks_argument, number_option
from warploom_sim.json_file import write_together
from warploom_sim.screen import progress_bar
from warploom_sim.verilog.blocks import BLOCKS


@click.command()
@blocks_argument(type=click.Choice(list(BLOCKS)))
@click.option("--check", is_flag=True, help="Write nothing; fail if a row is stale.")
@number_option(
    "--jobs", 1, default=os.cpu_count() or 1, show_default="one a core", help="Rows side by side."
)
def figures(blocks: tuple[str, ...], check: bool, jobs: int) -> None:
    """Mark the committed rows whose hardware has changed since they were measured.

    Area and clock rate, mutants, coverage and proofs are compared with what is there now by their
    hashes; nothing is measured. The marks go into docs/figures, and beside the rows on their pages
    and in README. A row that is measured again loses its mark. With BLOCK, only its rows are
    compared, and --check also fails if the block lacks one.

    The exit code is 0, 1 if a row is stale or its mark is wrong (--check), 2 if something was
    refused, 3 if a program that is needed failed or a file could not be written.

    \b
    Examples:
      python -m warploom_dev figures
      python -m warploom_dev figures --check
      python -m warploom_dev figures grid_walker --check
    """
    from amaranth.hdl import UnusedElaboratable

    from warploom_dev.freshness import (
        coverage_rows,
        family_rows,
        mutant_rows,
        proof_rows,
        shown,
        synth_rows,
    )
    from warploom_dev.freshness.question import answers
    from warploom_dev.pages import require

    # A bench is also made to read what it states.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    require(*shown.PAGES)
    kinds = (synth_rows, family_rows, mutant_rows, coverage_rows, proof_rows)
    questions = [
        question
        for kind in kinds
        for question in kind.questions()
        if not blocks or question.block in blocks
    ]
    with progress_bar() as progress:
        task = progress.add_task("rows", total=len(questions))
        found = answers(questions, jobs, lambda: progress.advance(task))
    wrong = [answer.wrong(finished=bool(blocks)) for answer in found]
    if check:
        wrong += [answer.wrong_mark() for answer in found]
    for line in filter(None, wrong):
        click.echo(line, err=check)
    if check:
        sys.exit(1 if any(wrong) else 0)
    for kind in kinds:
        kind.mark({a.question.row: a.stale for a in found if a.question.figures == kind.FIGURES})
    write_together(shown.texts())
