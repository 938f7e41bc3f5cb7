"""What an option of a replay is: the metadata of a request's field, and all that follows from it.

Commands, the Python call, JSON, kept results and workers read the options here; none has a list of
its own.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

from warploom_sim.replay.option_kinds import Kind, NewFile
from warploom_spec import WarploomError

#: Defaults of which nothing is said.
_UNSAID: Final = ("none", "keep")
#: Key of a field's metadata.
_KEY: Final = "option"


class Surface(Enum):
    """Where a request comes from; the value is its name in messages."""

    SIM = "warploom sim"
    COMPARE = "warploom compare"
    PYTHON = "warploom_sim.replay"


class Role(Enum):
    """What an option decides."""

    #: Which launches run, when, and how long: the model is told.
    WORK = auto()
    #: How software prepares the launches: the model is told, `compare` subtracts its values.
    SOFTWARE = auto()
    #: The hardware's configuration, which carries it.
    CONFIG = auto()
    #: What runs the work; the model is not told.
    ENGINE = auto()
    #: What is checked; nothing in a result.
    CHECK = auto()
    #: What is written; nothing in a result.
    OUTPUT = auto()


#: Roles whose options decide a result: they stand in JSON, and in the name of a kept result.
DECIDING: Final = (Role.CONFIG, Role.WORK, Role.SOFTWARE, Role.ENGINE)
#: Roles whose options the model is told; it gets the configuration as it is.
TOLD: Final = (Role.WORK, Role.SOFTWARE)


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is known of one option.

    Attributes
    ----------
    flag : str
        On the command line, such as ``--kill-every``.
    kind : Kind
        Legal values and parser.
    help : str
        One sentence for help and documentation.
    default : Any
        Value where none is given.
    role : Role
        What it decides.
    key : str
        Its name in JSON and in tables.
    needs : (str, Any) or None
        It counts only where another field has this value; elsewhere it is None.
    defaults : mapping of Surface to Any
        Other defaults of a surface, where the RTL does not run.
    refused : mapping of Surface to str
        Why a surface refuses every value but its default.
    plusarg : bool
        Whether the Verilog test bench is told, by the field's name.
    always : bool
        Whether the command that runs a replay again names it where it is the default, too.
    hidden : bool
        Whether the help leaves it out.
    unset : str
        What None means, in words for the help.
    """

    flag: str
    kind: Kind
    help: str
    default: Any = None
    role: Role = Role.WORK
    key: str = ""
    needs: tuple[str, Any] | None = None
    defaults: Mapping[Surface, Any] = dataclasses.field(default_factory=dict)
    refused: Mapping[Surface, str] = dataclasses.field(default_factory=dict)
    plusarg: bool = False
    always: bool = False
    hidden: bool = False
    unset: str = ""

    @property
    def variable(self) -> str:
        """The Makefile's variable."""
        return self.flag.removeprefix("--").replace("-", "_").upper()

    def default_of(self, surface: Surface, *, rtl: bool = False) -> Any:
        """Return the value where a surface is given none; ``rtl`` says whether the RTL runs."""
        if rtl and self.role is Role.CONFIG:
            return self.default
        return self.defaults.get(surface, self.default)

    def checked(self, name: str, value: Any) -> Any:
        """Return a value as the request holds it.

        Raises
        ------
        WarploomError
            If the value is not legal; names field, value and the legal ones.
        """
        if value is None and (self.default is None or self.needs):
            return None
        try:
            return self.kind.check(value)
        except WarploomError:
            raise
        except ValueError:
            raise WarploomError(f"{name} is {value!r}; legal: {self.kind.legal}") from None


def option(flag: str, kind: Kind, text: str, default: Any = None, **more: Any) -> Any:
    """Return the field of a request that is an option; see `Option` for the parameters."""
    found = Option(flag=flag, kind=kind, help=text, default=default, **more)
    own = None if found.needs else default
    return dataclasses.field(default=own, metadata={_KEY: found})


def options(request: Any) -> dict[str, Option]:
    """Return the options of a request, or of its class, by field, in order."""
    found = {field.name: field.metadata.get(_KEY) for field in dataclasses.fields(request)}
    return {
        name: one if one.key else dataclasses.replace(one, key=name)
        for name, one in found.items()
        if one is not None
    }


def counts(request: Any, one: Option) -> bool:
    """Return whether an option counts in a request, or has no part in it."""
    return one.needs is None or getattr(request, one.needs[0]) == one.needs[1]


def settle(request: Any) -> None:
    """Check each field of a new request; one that does not count becomes None.

    Raises
    ------
    WarploomError
        If a value is not legal.
    """
    found = options(request)
    for name, one in found.items():
        object.__setattr__(request, name, one.checked(name, getattr(request, name)))
    for name, one in found.items():
        if one.needs and not counts(request, one):
            object.__setattr__(request, name, None)
        elif one.needs and getattr(request, name) is None:
            object.__setattr__(request, name, one.default)


def refuse_given(request: Any, surface: Surface, given: Mapping[str, Sequence[Any]]) -> None:
    """Refuse what a surface cannot do, and what would count in no request.

    Parameters
    ----------
    request : type
        The request's class.
    surface : Surface
        Where the values come from.
    given : mapping of str to sequence
        Of each field that was given its values.

    Raises
    ------
    WarploomError
        Names the field, its value, and what is legal.
    """
    found = options(request)
    for name, values in given.items():
        one = found[name]
        default = one.default_of(surface)
        for value in values:
            if surface in one.refused and value != default:
                legal = one.kind.words(default) if default else "none"
                raise WarploomError(
                    f"{_said(name, one, surface, value)} is refused by {surface.value}:"
                    f" {one.refused[surface]}; legal: {legal}"
                )
        if one.needs:
            other, needed = one.needs
            if needed not in given.get(other, (found[other].default_of(surface),)):
                raise WarploomError(
                    f"{_said(name, one, surface, *values)} counts only with"
                    f" {_said(other, found[other], surface, needed)}; give that, too"
                )


def _said(name: str, one: Option, surface: Surface, *values: Any) -> str:
    """Return an option with its values as the surface has it."""
    if surface is Surface.PYTHON:
        return f"{name}={values[0]!r}"
    return " ".join((one.flag, *(one.kind.words(value) for value in values))).strip()


def plain(request: Any, roles: Sequence[Role] = DECIDING) -> dict[str, Any]:
    """Return the options of some roles as JSON has them, by their keys."""
    return {one.key: value for _, one, value in _values(request, roles)}


def told(request: Any) -> dict[str, Any]:
    """Return what the model is told, by field, as JSON has it."""
    return {name: value for name, _, value in _values(request, TOLD)}


def _values(request: Any, roles: Sequence[Role]) -> Iterator[tuple[str, Option, Any]]:
    for name, one in options(request).items():
        if one.role in roles:
            value = getattr(request, name)
            yield name, one, None if value is None else one.kind.plain(value)


def conditions(request: Any) -> list[str]:
    """Return in words under which conditions a request's work runs.

    What is off is left out, unless it is on by default.
    """
    return [
        f"{one.key.replace('_', ' ')} {value}"
        for _, one, value in _values(request, (Role.WORK,))
        if value is not None and not is_off(one, value)
    ]


def is_off(one: Option, value: Any) -> bool:
    """Return whether an option is off, as it is by default: nothing is said of it then."""
    return value == "" or bool(value == one.default and value in _UNSAID)


def new_files(request: Any) -> dict[str, Path]:
    """Return the files that a request wants written, by field."""
    found = options(request).items()
    files = {name: getattr(request, name) for name, one in found if isinstance(one.kind, NewFile)}
    return {name: path for name, path in files.items() if path}


def plusargs(request: Any) -> dict[str, Any]:
    """Return what the Verilog test bench is told, by the name of its argument."""
    given = {name: getattr(request, name) for name, one in options(request).items() if one.plusarg}
    return {name: value for name, value in given.items() if value is not None}


def words(request: Any, surface: Surface) -> list[str]:
    """Return a request as options on a command line; defaults are left out, but for some."""
    said: list[str] = []
    for name, one in options(request).items():
        value = getattr(request, name)
        if one.role is Role.OUTPUT or value is None:
            continue
        if value == one.default_of(surface) and not one.always:
            continue
        if isinstance(value, bool):
            said += [one.flag] if value else []
        elif isinstance(value, tuple):
            said += [word for part in value for word in (one.flag, str(part))]
        else:
            said += [one.flag, one.kind.words(value)]
    return said
