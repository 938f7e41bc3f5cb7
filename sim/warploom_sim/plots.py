"""Plots as files: PNG, SVG or PDF by the file's ending."""

import io
from pathlib import Path
from typing import Any, Final

from warploom_sim.json_file import write_whole
from warploom_spec import WarploomError
from warploom_spec.extras import need

#: What keeps the date out of each kind of file.
_NO_DATE: Final[dict[str, dict[str, None]]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
KINDS: Final = tuple(_NO_DATE)


def check_plot(path: Path) -> None:
    """Refuse a plot before the work that it would show.

    Raises
    ------
    WarploomError
        If the ending is none of `KINDS`, or matplotlib is not installed.
    """
    if path.suffix not in KINDS:
        raise WarploomError(f"plot is {str(path)!r}; legal: a name that ends in {', '.join(KINDS)}")
    need("matplotlib", "report", "a plot")


def new_figure(**settings: Any) -> tuple[Any, Any]:
    """Return a figure and its axes, drawn without a screen."""
    figure = need("matplotlib.figure", "report", "a plot").Figure(
        figsize=(7, 4.5), layout="constrained"
    )
    axes = figure.subplots(**settings)
    return figure, axes


def write_figure(path: Path, figure: Any) -> None:
    """Write a figure whole, or not at all."""
    drawn = io.BytesIO()
    # Neither date nor random names: the same figure gives the same file.
    with need("matplotlib", "report", "a plot").rc_context({"svg.hashsalt": "warploom"}):
        figure.savefig(drawn, format=path.suffix[1:], dpi=150, metadata=_NO_DATE[path.suffix])
    write_whole(path, drawn.getvalue())
