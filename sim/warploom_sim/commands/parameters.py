"""Option types that the commands share."""

import functools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

TRACE_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


class OutputFile(click.Path):
    """A file to write, in a folder that exists: refused before hours of work, not after."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; refuse one in a folder that does not exist."""
        super().convert(value, param, ctx)
        path = Path(value)
        if not path.parent.is_dir():
            self.fail(f"{value!r} is in a folder that does not exist.", param, ctx)
        return path


json_option = functools.partial(
    click.option, "--json", "json_file", metavar="FILE", type=OutputFile()
)


class TimeScale(click.ParamType[Fraction]):
    """A positive fraction of the recorded time, such as 1/32."""

    name = "fraction"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Return the fraction; refuse what is none or is not above 0."""
        try:
            scale = Fraction(value)
        except (ValueError, ZeroDivisionError):
            scale = Fraction(0)
        if scale <= 0:
            self.fail(f"{value!r} is not a fraction above 0, such as 1/32, 0.5 or 1.", param, ctx)
        return scale


def write_json(path: Path, figures: object) -> None:
    """Write figures as JSON, with a line's end."""
    path.write_text(json.dumps(figures, indent=2) + "\n")
