"""A replay's options on the command line, made from the fields of `ReplayRequest`."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from warploom_sim.commands.parameters import Command, OutputFile
from warploom_sim.replay.option_kinds import Flag, Kind, NewFile, Priorities, Settings
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.replay.request_fields import Option, Role, Surface, options, refuse_given
from warploom_spec import WarploomError


class Parsed(click.ParamType[Any]):
    """A value of a kind of option.

    Parameters
    ----------
    kind : Kind
        Legal values and parser.
    several : bool
        Whether several values are taken, with commas between them; the value is then a tuple.
    """

    def __init__(self, kind: Kind, several: bool = False):
        self.kind, self.several = kind, several
        self.name = kind.metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return what stands for a value in the help."""
        return self.kind.metavar + (",..." if self.several else "")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value, or the values; refuse what is not legal."""
        if not isinstance(value, str):
            return value
        if not self.several:
            return self._one(value, param, ctx)
        return tuple(self._one(part, param, ctx) for part in value.split(","))

    def _one(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.kind.parse(text)
        except WarploomError:
            raise
        except ValueError:
            self.fail(f"{text!r}; legal: {self.kind.legal}.", param, ctx)


def request_options(
    surface: Surface,
    types: Mapping[str, click.ParamType[Any]] | None = None,
    defaults: Mapping[str, str] | None = None,
) -> Callable[[Command], Command]:
    """Return the decorator that gives a command all options of a replay.

    Parameters
    ----------
    surface : Surface
        The command.
    types : mapping of str to click.ParamType
        Of some fields the type, instead of the one that follows from the field.
    defaults : mapping of str to str
        Of some fields what the help says of the default, where the command has its own.
    """

    def decorate(command: Command) -> Command:
        for name, one in reversed(options(ReplayRequest).items()):
            said = (defaults or {}).get(name) or _default_words(one, one.default_of(surface))
            made = _option(name, one, surface, (types or {}).get(name), said)
            command = made(command)
        return command

    return decorate


def request_option(name: str) -> Callable[[Command], Command]:
    """Return the decorator that gives a command one option of a replay, as `warploom sim` has it.

    Parameters
    ----------
    name : str
        The field of `ReplayRequest`. Its value is None where the option is not given.
    """
    one = options(ReplayRequest)[name]
    surface = Surface.SIM
    return _option(name, one, surface, None, _default_words(one, one.default_of(surface)))


def knee_of(contention: str | None, knee: int | None) -> int | None:
    """Return how many warps an SM runs at full speed; None without contention.

    Parameters
    ----------
    contention, knee : str, int or None
        The options of these names; None: not given.

    Raises
    ------
    WarploomError
        If the knee was given for a run without contention.
    """
    values: dict[str, Any] = {"contention": contention, "knee": knee}
    given = {name: value for name, value in values.items() if value is not None}
    refuse_given(ReplayRequest, Surface.SIM, {name: (value,) for name, value in given.items()})
    return ReplayRequest(traces=(), **given).knee


def given_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a replay that were given, by field."""
    names = options(ReplayRequest)
    return {
        name: value
        for name, value in values.items()
        if name in names and not (value is None or value is False or value == ())
    }


def _option(
    name: str, one: Option, surface: Surface, own: click.ParamType[Any] | None, default: str
) -> Callable[[Command], Command]:
    several = surface is Surface.COMPARE and one.kind.listed and one.role is not Role.OUTPUT
    settings: dict[str, Any] = {
        "help": one.help + (f"  [default: {default}]" if default else ""),
        "hidden": one.hidden or surface in one.refused,
    }
    if isinstance(one.kind, Flag):
        return click.option(one.flag, name, is_flag=True, **settings)
    if isinstance(one.kind, Settings | Priorities):
        settings |= {"multiple": True, "metavar": "FIELD=V1,V2" if several else one.kind.metavar}
        kind = Parsed(one.kind) if isinstance(one.kind, Priorities) else click.STRING
        return click.option(one.flag, name, type=kind, **settings)
    if isinstance(one.kind, NewFile):
        return click.option(one.flag, name, type=OutputFile(), metavar="FILE", **settings)
    return click.option(one.flag, name, type=own or Parsed(one.kind, several), **settings)


def _default_words(one: Option, default: Any) -> str:
    """Return what the help says of a default; nothing of one that needs no words."""
    if isinstance(one.kind, Flag) or default == ():
        return ""
    if default is None:
        return one.unset
    words = one.kind.words(default)
    if one.role is Role.CONFIG and default != one.default:
        return f"{words}; with --rtl: {one.kind.words(one.default)}"
    return words
