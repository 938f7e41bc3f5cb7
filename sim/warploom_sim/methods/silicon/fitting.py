"""Which recordings the turnaround of another one is fitted on."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from warploom_golden.replay.recorded_grid import RecordedGrid, Turnaround, fit
from warploom_sim.methods.silicon import recording
from warploom_sim.methods.silicon.comparison import Fitted


def name(path: Path) -> str:
    """Return a recording's name."""
    return path.name.removesuffix(".gz").removesuffix(".csv")


def fittings(
    grids: Mapping[Path, RecordedGrid], fit_on: Sequence[Path], given: float | None
) -> dict[Path, Fitted]:
    """Return for each recording a turnaround that other recordings show.

    Parameters
    ----------
    grids : dict of path to RecordedGrid
        The recordings that are judged.
    fit_on : sequence of path
        The recordings that the turnaround is fitted on. None: for each recording the others of its
        folder, since a folder holds recordings of one program; itself where there is no other.
    given : float, optional
        Turnaround of all SMs in nanoseconds: nothing is fitted.
    """
    if given is not None:
        return dict.fromkeys(grids, Fitted(Turnaround(given, {}), "given", ()))
    named = {path.resolve(): recording.load(path) for path in fit_on}
    fitted = {}
    for path, grid in grids.items():
        own = path.resolve()
        pool = named or {
            other.resolve(): recorded
            for other, recorded in grids.items()
            if other.resolve().parent == own.parent
        }
        others = {other: recorded for other, recorded in pool.items() if other != own}
        turnaround = fit(list(others.values()) or [grid])
        source = "others" if others else "itself"
        fitted[path] = Fitted(turnaround, source, [name(other) for other in others or (path,)])
    return fitted
