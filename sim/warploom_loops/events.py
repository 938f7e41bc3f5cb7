"""The events of a symbolic run: everything that may keep a loop from being deferred."""

from dataclasses import dataclass
from enum import Enum

from warploom_loops.values import Value

#: A place in the code: the calls that lead there from the analysed function, then the instruction.
Site = tuple[int, ...]


class EventKind(Enum):
    """The kinds of events."""

    #: A call that cannot be deferred, or code that is not known.
    CALL = "call"
    #: A load or store outside the function's own frame and read-only sections.
    MEMORY = "memory"
    #: An undecided branch: its condition.
    BRANCH = "branch"
    #: A value that leaves the function or goes to code that is not known.
    USE = "use"
    #: What stands in the result's register when the function returns, be it a result or not.
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes
    ----------
    kind : EventKind
        What happened.
    site : tuple of int
        Where.
    value : Value or None
        The condition that was tested, or the value that was used.
    detail : str
        Words for the reader, such as the called function's name.
    """

    kind: EventKind
    site: Site
    value: Value | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an argument.

    Attributes
    ----------
    offset : int
        Bytes from the argument's begin.
    value : Value
        What it holds; its width is the part's.
    """

    offset: int
    value: Value


@dataclass(frozen=True, slots=True)
class CudaCall:
    """A call of the table, as one symbolic iteration makes it.

    Attributes
    ----------
    name : str
        The run-time's function; of a launch the kernel.
    site : tuple of int
        Where.
    arguments : tuple of tuple of Piece
        Each argument's parts; most have one.
    configuration : tuple of Value
        Of a launch: grid x, y, z, block x, y, z, shared memory, stream.
    host_bytes : tuple of Value or None
        Bytes of the frame that it reads; None if they are not known.
    frees, allocates : bool
        Whether it frees its first argument, or makes a new pointer.
    """

    name: str
    site: Site
    arguments: tuple[tuple[Piece, ...], ...]
    configuration: tuple[Value, ...] = ()
    host_bytes: tuple[Value, ...] | None = ()
    frees: bool = False
    allocates: bool = False
