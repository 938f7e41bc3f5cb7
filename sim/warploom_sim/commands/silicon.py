"""``warploom silicon``: a real GPU's dispatching beside the golden dispatcher's."""

from functools import partial
from pathlib import Path
from typing import Final

import click

from warploom_sim.commands.parameters import (
    TRACE_FILE,
    OutputFile,
    json_option,
    number_option,
    refuse_overwriting,
    refuse_same,
)
from warploom_sim.json_file import write_json
from warploom_sim.screen import progress_bar, table_console
from warploom_spec import WarploomError

#: Folder of the repository's recordings.
FOLDER: Final = Path(__file__).parents[3] / "silicon"


@click.command()
@click.argument("recordings", metavar="[FILE]...", nargs=-1, type=TRACE_FILE)
@number_option(
    "--turnaround",
    0,
    1_000_000,
    metavar="NS",
    default=None,
    show_default="fitted",
    help="Time from a block's end to the next start in its slot.",
)
@click.option(
    "--fit",
    "fit_on",
    metavar="FILE",
    type=TRACE_FILE,
    multiple=True,
    help="Fit the turnaround on this recording, for all others; may be repeated. Default: for each"
    " recording the others of its folder.",
)
@click.option("--plot", metavar="FILE", type=OutputFile(), help="Also draw start times to FILE.")
@json_option(help="Also write the figures to FILE.")
def silicon(
    recordings: tuple[Path, ...],
    turnaround: int | None,
    fit_on: tuple[Path, ...],
    plot: Path | None,
    json_file: Path | None,
) -> None:
    """Place the blocks of grids that a GPU ran, and compare with where the GPU placed them.

    A recording says of each block its SM, its start and its end; silicon/record_blocks.cu makes
    one on your own GPU. Without FILE the repository's recordings of an NVIDIA H100 and H200 are
    taken. The lengths of the blocks are always the recorded ones, and so is the first wave. The
    turnaround, from a block's end to the next start in its slot, comes from other recordings. Below
    each table stands what the recording says, and what it does not.

    The exit code is 0, 2 if a recording was refused, 3 if a file could not be written.

    \b
    Examples:
      warploom silicon
      warploom silicon --plot starts.png --json silicon.json
      warploom silicon mine.csv other.csv
      warploom silicon mine.csv --fit other.csv
    """
    if fit_on and turnaround is not None:
        raise click.UsageError("--fit and --turnaround exclude each other")
    paths = recordings or default_recordings()
    refuse_overwriting(json_file, (*paths, *fit_on))
    refuse_overwriting(plot, (*paths, *fit_on))
    refuse_same(plot=plot, json=json_file)
    from warploom_sim.methods.silicon import recording, silicon_report
    from warploom_sim.methods.silicon.comparison import compare, work
    from warploom_sim.methods.silicon.fitting import fittings, name
    from warploom_sim.methods.silicon.recorder import constants, dated
    from warploom_sim.plots import check_plot

    if plot:
        check_plot(plot)
    grids = {path: recording.load(path) for path in paths}
    fitted = fittings(grids, fit_on, turnaround)
    compared = []
    with progress_bar() as progress:
        task = progress.add_task("blocks", total=sum(map(work, grids.values())))
        for path, grid in grids.items():
            of_rule = constants(name(path), grid, fitted[path])
            advance = partial(progress.advance, task)
            one = dated(grid, fitted[path], of_rule)
            compared.append(compare(name(path), grid, one, of_rule, advance))
    silicon_report.show(table_console(), compared)
    if plot:
        silicon_report.draw(plot, compared)
    if json_file:
        write_json(json_file, [one.figures for one in compared])


def default_recordings() -> tuple[Path, ...]:
    """Return the repository's recordings, one folder for each program that made them.

    Raises
    ------
    WarploomError
        If this is an installed package: the recordings are the repository's.
    """
    found = tuple(sorted(FOLDER.rglob("*.csv.gz")))
    if not found:
        raise WarploomError(
            "no recording named, and the repository's do not come with the package; name one:"
            " warploom silicon FILE"
        )
    return found
