"""Option types that the commands share."""

import functools
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click

from warploom_sim.cosim.simulators import SIMULATORS
from warploom_sim.json_file import is_replaced
from warploom_spec import PRESETS
from warploom_spec.config import POLICIES, RECLAIMS

Command = TypeVar("Command", bound=Callable[..., Any])

TRACE_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
PRESET = click.Choice(list(PRESETS))
POLICY = click.Choice(POLICIES)
RECLAIM = click.Choice(RECLAIMS)
SIMULATOR = click.Choice(SIMULATORS)


class OutputFile(click.Path):
    """A file to write, in a folder that takes one: refused before hours of work, not after."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; refuse one in a folder that does not exist or takes no new file."""
        if not value:
            self.fail("'' is no name; legal: a file in a folder that exists.", param, ctx)
        super().convert(value, param, ctx)
        path = Path(value)
        if not path.parent.is_dir():
            self.fail(f"{value!r} is in a folder that does not exist.", param, ctx)
        if is_replaced(path) and (reason := _takes_no_file(path.resolve().parent)):
            self.fail(f"{value!r} cannot be written: {reason}.", param, ctx)
        return path


class OutputFolder(click.Path):
    """A folder to write files in, made when the first is written: refused before, if it cannot."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; refuse one that is no folder and cannot become one."""
        if not value:
            self.fail("'' is no name; legal: a folder, such as . for the current one.", param, ctx)
        super().convert(value, param, ctx)
        path = Path(value).resolve()
        there = next(folder for folder in (path, *path.parents) if os.path.exists(folder))
        if reason := _takes_no_file(there):
            self.fail(f"{str(value)!r} cannot be written: {reason}.", param, ctx)
        return Path(value)


def _takes_no_file(folder: Path) -> str | None:
    """Return why no file can be made in a folder; None if one can."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return error.strerror
    return None


json_option = functools.partial(
    click.option, "--json", "json_file", metavar="FILE", type=OutputFile()
)
update_option = functools.partial(click.option, "--update", is_flag=True)
blocks_argument = functools.partial(click.argument, "blocks", metavar="[BLOCK]...", nargs=-1)
#: Of an option that may be repeated: the values that a command keeps to.
several_option = functools.partial(click.option, multiple=True)


class Whole(click.IntRange):
    """A whole number within a range, which is named when the value is no number, too.

    Parameters
    ----------
    low, high : int
        Ends of the range, included; without ``high`` it has no upper end.
    """

    def __init__(self, low: int, high: int | None = None):
        super().__init__(min=low, max=high)
        self.name = f"whole number; legal: {low} {'or more' if high is None else f'to {high}'}"


set_option = several_option(
    "--set",
    "settings",
    metavar="FIELD=VALUE",
    help="Change a field of the preset, such as sms=4; may be given more than once.",
)


def as_settings(**chosen: str | None) -> tuple[str, ...]:
    """Return the options of fields that were given, each as ``--set`` has it."""
    return tuple(f"{field}={value}" for field, value in chosen.items() if value)


def number_option(
    flag: str, low: int, high: int | None = None, *, metavar: str = "N", **settings: Any
) -> Callable[[Command], Command]:
    """Return the option of a whole number within a range, and show its default."""
    shown = {"show_default": True} | settings
    return click.option(flag, type=Whole(low, high), metavar=metavar, **shown)


class Share(click.ParamType[Fraction]):
    """A share, such as 1/2 or 0.5."""

    name = "share"
    _LEGAL = re.compile(r"\d{1,9}(/\d{1,9}|\.\d{1,9})?|\.\d{1,9}", re.ASCII)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Return the share; refuse what is none or is above 1."""
        try:
            legal = isinstance(value, Fraction) or self._LEGAL.fullmatch(value)
            share = Fraction(value) if legal else Fraction(2)
        except ZeroDivisionError:
            share = Fraction(2)
        if share > 1:
            self.fail(f"{value!r} is no share; legal: 0 to 1, such as 1/2 or 0.5.", param, ctx)
        return share


def refuse_overwriting(output: Path | None, traces: Iterable[Path], option: str = "--json") -> None:
    """Refuse to write an option's output over a trace that is read."""
    for trace in traces:
        if output and output.exists() and output.samefile(trace):
            raise click.BadParameter(
                f"{str(output)!r} is the trace itself.", param_hint=f"'{option}'"
            )


def refuse_same(**outputs: Path | None) -> None:
    """Refuse to write two outputs, by the names of their options, to one file."""
    taken: dict[Path, str] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        option = name.replace("_", "-")
        other = taken.setdefault(path.resolve(), option)
        if other != option:
            raise click.BadParameter(
                f"{str(path)!r} is what --{other} writes.", param_hint=f"'--{option}'"
            )
