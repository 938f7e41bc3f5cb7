"""``python -m warploom_dev families``: FrontEnd's area on other families of FPGAs."""

import sys

import click

from warploom_sim.commands.parameters import several_option, update_option
from warploom_sim.json_file import write_whole
from warploom_sim.screen import progress_bar


@click.command()
@several_option("--family", "chosen", metavar="NAME", help="Only this family; may be repeated.")
@click.option("--both", is_flag=True, help="Also with first values of memories.")
@click.option("--check", is_flag=True, help="Fail if the committed figures are stale.")
@update_option(help="Write the committed figures and the page.")
def families(chosen: tuple[str, ...], both: bool, check: bool, update: bool) -> None:
    """Measure the area of FrontEnd for `tiny` with Yosys's flows for other families.

    One flow runs after the other, each for minutes. What was measured before and has not changed is
    not measured again: build/families keeps it.

    The exit code is 0, 1 if the committed figures are stale (--check), 2 if something was refused,
    3 if a program that is needed failed or a file could not be written.

    \b
    Examples:
      python -m warploom_dev families
      python -m warploom_dev families --family gowin --update
    """
    if check and update:
        raise click.UsageError("--update goes not with --check, which writes nothing.")
    from warploom_dev.pages import require
    from warploom_dev.synth import families as made
    from warploom_dev.synth.synth_report import PAGE
    from warploom_spec import WarploomError

    for name in chosen:
        if name not in made.FAMILIES:
            raise WarploomError(f"--family is {name}; legal: {', '.join(made.FAMILIES)}")
    require(PAGE)
    committed = made.read()
    with progress_bar() as progress:
        names = chosen or tuple(made.FAMILIES)
        task = progress.add_task("families", total=len(names) * (1 + both))
        rows = list(made.measure_all(names, both, lambda _: progress.advance(task)))
    for row in rows:
        click.echo("  ".join(made.cells_of(row)))
    if update:
        kept = committed | {row.key: row for row in rows}
        made.write(kept)
        page = made.page_text(PAGE.read_text(), list(made.read().values()))
        write_whole(PAGE, page)
    wrong = [line for row in rows for line in made.stale(committed, row)]
    if check and wrong:
        for line in wrong:
            click.echo(f"stale: {line}", err=True)
        sys.exit(1)
