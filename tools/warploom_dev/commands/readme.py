"""``python -m warploom_dev readme``: README's badges and its table of what works."""

from pathlib import Path

import click

from warploom_dev.beside_streams import FIGURES as BESIDE
from warploom_dev.method_figures import FILE, MEASUREMENTS, measure
from warploom_dev.pages import require
from warploom_dev.readme import FORMAL, LATENCY, MUTANTS, PAGE, SYNTH, WORKFLOW, page_text
from warploom_sim.json_file import write_json, write_whole
from warploom_spec import WarploomError


@click.command()
@click.option("--update", is_flag=True, help="Write badges and table anew.")
@click.option(
    "--measure", "measured", is_flag=True, help="First measure the methods' figures (a minute)."
)
def readme(update: bool, measured: bool) -> None:
    """Compare README's badges and table with their data, or write them anew.

    The badges need the project's public address, `Repository` under [project.urls] in
    pyproject.toml; the figures stand in docs/figures.

    The exit code is 0, 2 if README differs or was refused, 3 if a file could not be written.

    \b
    Examples:
      python -m warploom_dev readme
      python -m warploom_dev readme --update
      python -m warploom_dev readme --measure --update
    """
    require(PAGE, SYNTH, LATENCY, FORMAL, MUTANTS, BESIDE, WORKFLOW)
    if measured:
        write_json(FILE, {name: measure(name) for name in MEASUREMENTS})
    require(FILE)
    there = PAGE.read_text()
    made = page_text(Path(), there)
    if update:
        write_whole(PAGE, made)
    elif made != there:
        raise WarploomError(f"{PAGE} differs from its data; run it with --update")
