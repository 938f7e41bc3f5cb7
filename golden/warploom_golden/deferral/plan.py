"""What the front end knows of a deferrable loop: its calls and how their arguments change."""

from dataclasses import dataclass
from typing import Final

#: Kinds of arguments, by the names that marks use.
KINDS: Final = ("constant", "linear", "alternate", "result", "bytes")


@dataclass(frozen=True)
class ArgumentPlan:
    """How one argument changes from iteration to iteration; its values are seen at run time.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    size : int
        Bytes: 1, 2, 4 or 8; unused for ``bytes``.
    increment : int or None
        Of ``linear``; None: the difference of the first two values.
    call, offset : int
        Of ``result``: which call's, and what is added.
    """

    kind: str
    size: int = 8
    increment: int | None = 0
    call: int = 0
    offset: int = 0


#: Where a call is made: an address, or the addresses that it returns to, innermost first.
Site = int | tuple[int, ...]


@dataclass(frozen=True)
class CallPlan:
    """One call of a loop: its site in the program, its function, its arguments."""

    site: Site
    name: str
    arguments: tuple[ArgumentPlan, ...]


@dataclass(frozen=True)
class LoopPlan:
    """A deferrable loop.

    Attributes
    ----------
    loop_class : int
        1 to 3.
    calls : tuple of CallPlan
        One iteration's, in order.
    initial, step : int
        Of the loop's variable.
    count : int or None
        Iterations, if they are known before the program runs.
    """

    loop_class: int
    calls: tuple[CallPlan, ...]
    initial: int = 0
    step: int = 1
    count: int | None = None
