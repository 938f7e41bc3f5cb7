"""The plan of a deferrable loop, for the front end: its calls, and how their arguments change."""

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
        Size in bytes: 1, 2, 4 or 8; unused for ``bytes``.
    increment : int or None
        For ``linear``: the increment; None: the difference of the first two values.
    call, offset : int
        For ``result``: number of the call whose result is used, and the constant that is added.
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
        The calls of one iteration, in order.
    initial, step : int
        First value and increment of the loop's variable.
    count : int or None
        Number of iterations; None if it is known only when the program runs.
    """

    loop_class: int
    calls: tuple[CallPlan, ...]
    initial: int = 0
    step: int = 1
    count: int | None = None
