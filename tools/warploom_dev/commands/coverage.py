"""``python -m warploom_dev coverage``: which branches and bits the tests reach."""

import os
import shutil
import sys
from pathlib import Path

import click

from warploom_dev.coverage import coverage_figures
from warploom_sim.commands.parameters import (
    blocks_argument,
    json_option,
    number_option,
    update_option,
)
from warploom_sim.json_file import write_json, write_whole
from warploom_sim.screen import table_console
from warploom_spec import WarploomError


@click.command()
@blocks_argument()
@number_option("--seed", 0, default=1, help="Seed of the tests.")
@update_option(help="Write the committed figures and the page.")
@number_option(
    "--jobs", 1, default=os.cpu_count() or 1, show_default="one a core", help="Tests side by side."
)
@json_option(help="Also write the figures to FILE.")
def coverage(
    blocks: tuple[str, ...], seed: int, update: bool, jobs: int, json_file: Path | None
) -> None:
    """Count the branches and the toggles of the RTL that the tests reach.

    The lockstep cases of each block's tests run on Verilator, in builds that count. Without BLOCK,
    all blocks. Run it in the repository, where the tests are.

    The exit code is 0, 1 if a block's tests reach less than 90 % of its branches or toggles, if
    waivers leave out more than 5 % of them, or if a hard case never happened, 2 if something was
    refused, 3 if a test or a program that is needed failed.

    \b
    Examples:
      python -m warploom_dev coverage
      python -m warploom_dev coverage mailbox grid_walker
      python -m warploom_dev coverage mailbox --update
    """
    from warploom_spec.extras import need

    need("cocotb", "sim", "python -m warploom_dev coverage")
    from warploom_dev.coverage import coverage_report
    from warploom_dev.coverage.counted_builds import builds
    from warploom_dev.coverage.measure import row_of, run_tests
    from warploom_dev.pages import require
    from warploom_sim.build_cache import build_root

    if update:
        require(coverage_report.PAGE)
    known = builds()
    for name in blocks:
        if name not in known:
            raise WarploomError(f"block is {name!r}; legal: {', '.join(known)}")
    wanted = blocks or tuple(known)
    for name in wanted:
        shutil.rmtree(build_root() / "coverage" / name, ignore_errors=True)
    run_tests(wanted, seed, jobs)
    rows = [row_of(name, seed) for name in wanted]
    table_console().print(coverage_report.table(rows))
    if json_file:
        write_json(json_file, [row.to_json() for row in rows])
    if update:
        committed = coverage_figures.read(coverage_figures.FILE)
        committed |= {row.block: row for row in rows}
        coverage_figures.write(coverage_figures.FILE, committed.values())
        write_whole(coverage_report.PAGE, coverage_report.page_with(committed.values()))
    short = [line for row in rows for line in coverage_figures.shortfalls(row)]
    for line in short:
        click.echo(line, err=True)
    if short:
        sys.exit(1)
