"""``python -m warploom_dev record``: a terminal's picture of a run of ``make sim``."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from warploom_dev.pages import require
from warploom_dev.terminal_picture import picture
from warploom_sim.failure import ProgramError
from warploom_sim.json_file import write_whole

#: Where the picture stands; README leads to it.
PICTURE: Final = Path("docs/sim/make_sim.svg")
COLUMNS: Final = 104


@click.command()
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def record(options: tuple[str, ...]) -> None:
    """Run `make sim`, and write what it prints as docs/sim/make_sim.svg.

    The run takes half a minute once the simulation is built. OPTIONS, behind `--`, go to `warploom
    sim`. A run that fails leaves the picture as it was.

    The exit code is 0, 2 if something was refused, 3 if the run failed or the picture could not be
    written.

    \b
    Examples:
      python -m warploom_dev record
      python -m warploom_dev record -- --launches 20 --config tiny
    """
    require(PICTURE.parent)
    write_whole(PICTURE, picture(_printed(options), "make sim", COLUMNS))


def _printed(options: Sequence[str]) -> str:
    """Return what the run prints, without its progress."""
    command = [str(Path(sys.executable).with_name("warploom")), "sim", *options]
    shown = os.environ | {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=shown)
    if done.returncode:
        raise ProgramError(f"warploom sim failed:\n{done.stderr[-1500:]}")
    return done.stdout
