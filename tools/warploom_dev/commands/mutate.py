"""``python -m warploom_dev mutate``: whether the blocks' benches notice a wrong gate."""

import functools
import os
import sys
import warnings
from pathlib import Path

import click
from rich.progress import Progress, TaskID

from warploom_dev.mutate import mutate_figures
from warploom_sim.commands.parameters import (
    blocks_argument,
    json_option,
    number_option,
    update_option,
)
from warploom_sim.json_file import write_json, write_whole
from warploom_sim.screen import progress_bar, table_console
from warploom_spec import WarploomError


@click.command()
@blocks_argument()
@number_option(
    "--mutants",
    1,
    default=mutate_figures.MUTANTS,
    help="Mutants of each block that are not equivalent to it.",
)
@number_option(
    "--seed",
    0,
    default=1,
    help="Seed of the choice of mutants and of the benches.",
)
@update_option(
    help="Write the committed figures and the page. They are of"
    f" {mutate_figures.MUTANTS} mutants of each block, or of a sample of {mutate_figures.SAMPLE}."
)
@number_option(
    "--jobs",
    1,
    default=os.cpu_count() or 1,
    show_default="one a core",
    help="Mutants that run side by side.",
)
@json_option(help="Also write the figures to FILE.")
def mutate(
    blocks: tuple[str, ...],
    mutants: int,
    seed: int,
    update: bool,
    jobs: int,
    json_file: Path | None,
) -> None:
    """Change one bit of a block's netlist at a time and run the block's own bench against it.

    A mutant that the bench notices is killed; one that it does not notice is proven equivalent to
    the block, and not counted, or it is a survivor. Without BLOCK, all blocks. Run it in the
    repository, where the benches are.

    The exit code is 0, 1 if a bench kills less than 95 % of a block's mutants or the block has too
    few, 2 if something was refused or a bench fails without a mutation, 3 if a program that is
    needed failed or a file could not be written.

    \b
    Examples:
      python -m warploom_dev mutate
      python -m warploom_dev mutate grid_walker index_packer --mutants 50
      python -m warploom_dev mutate block_dispatcher --seed 7 --json dispatcher.json
    """
    legal = (mutate_figures.SAMPLE, mutate_figures.MUTANTS)
    if update and mutants not in legal:
        raise click.UsageError(
            f"--mutants is {mutants} with --update; legal: {legal[0]} (a sample), {legal[1]}."
        )
    from warploom_spec.extras import need

    need("cocotb", "sim", "python -m warploom_dev mutate")
    from amaranth.hdl import UnusedElaboratable

    from warploom_dev.mutate import mutate_report
    from warploom_dev.mutate.campaign import benches, campaign
    from warploom_dev.pages import require

    # A component is also made to read its ports.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    if update:
        require(mutate_figures.FILE, mutate_report.PAGE)
    known = benches()
    for name in blocks:
        if name not in known:
            raise WarploomError(f"block is {name!r}; legal: {', '.join(known)}")
    committed = mutate_figures.read(mutate_figures.FILE)
    if update:
        # A page that cannot be written is told of before hours of work.
        _write_page(committed)
    rows = []
    with progress_bar() as progress:
        for name in blocks or known:
            task = progress.add_task(name, total=mutants)
            step = functools.partial(_show, progress, task, name)
            row = campaign(name, known[name], mutants, seed, step, jobs)
            rows.append(mutate_figures.keep_reasons(row, committed))
            if update:
                committed[name] = rows[-1]
                mutate_figures.write(mutate_figures.FILE, committed.values())
                _write_page(committed)
    console = table_console()
    console.print(mutate_report.rates_table(rows))
    if any(row.survivors for row in rows):
        console.print(mutate_report.survivors_table(rows))
    if json_file:
        write_json(json_file, [row.to_json() for row in rows])
    short = [line for row in rows for line in mutate_figures.shortfalls(row, mutants)]
    for line in short:
        click.echo(line, err=True)
    if short:
        if update:
            click.echo(
                f"{mutate_figures.FILE} is written all the same; make test refuses it", err=True
            )
        sys.exit(1)


def _write_page(committed: dict[str, mutate_figures.Row]) -> None:
    from warploom_dev.mutate import mutate_report

    page = mutate_report.PAGE
    write_whole(page, mutate_report.page_text(page.read_text(), committed.values()))


def _show(progress: Progress, task: TaskID, name: str, counted: int, what: str) -> None:
    progress.update(task, description=f"{name}: {what}", completed=counted)
