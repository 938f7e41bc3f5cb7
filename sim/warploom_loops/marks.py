"""Marks: what LoopFinder knows about a program's loops, for a front end that runs the program.

A mark says of one loop which CUDA calls an iteration makes, in order, and how each argument changes
from one iteration to the next. All addresses are relative to the program's load address.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum


class ArgumentKind(IntEnum):
    """How an argument changes from one iteration to the next."""

    CONSTANT = 0
    #: The first value plus the iteration times the increment, modulo 2^(8 size).
    INCREMENT = 1
    #: One value in even iterations, another one in odd iterations.
    ALTERNATE = 2
    #: The result of a call of the same iteration, plus an offset.
    RESULT = 3
    #: Bytes that do not change: a structure by value.
    BYTES = 4


class Reason(Enum):
    """Why a loop cannot be deferred."""

    #: The loop makes a call whose answer the program waits for, or a call that is not known.
    CALL = "CALL"
    #: The loop reads or writes memory that other code may know.
    MEMORY = "MEMORY"
    #: A loop inside this loop makes CUDA calls.
    INNER_LOOP = "INNER_LOOP"
    #: Which calls an iteration makes depends on a branch.
    BRANCH = "BRANCH"
    #: Something other than the loop's own calls uses a call's result.
    RESULT = "RESULT"
    #: The loop does not end by comparing an induction variable with a value that stays the same.
    EXIT = "EXIT"
    #: An argument changes in a way that none of the recurrences describes.
    ARGUMENT = "ARGUMENT"
    #: The analysis cannot follow the function, or does not reach the loop's calls.
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call.

    Attributes
    ----------
    kind : ArgumentKind
        How the argument changes.
    size : int
        The argument's size in bytes.
    value : int or None
        The constant, the first value, or the value in even iterations, without sign. None if the
        value is known only when the program runs.
    increment : int or None
        For kind `INCREMENT`: the increment, with sign. None if it is known only when the program
        runs.
    other : int or None
        For kind `ALTERNATE`: the value in odd iterations, without sign. None if it is known only
        when the program runs.
    call : int or None
        For kind `RESULT`: the number of the call in the iteration, from 0.
    offset : int or None
        For kind `RESULT`: the constant that is added to the call's result, with sign.
    expression : str
        The value in words for the reader, such as ``arg1 + 16``.
    parts : tuple of (int, Argument)
        For a structure: each part's byte offset, and the part as an argument. The structure's kind
        is `BYTES` if no part changes, else the kind of the part that changes.
    """

    kind: ArgumentKind
    size: int
    value: int | None = None
    increment: int | None = None
    other: int | None = None
    call: int | None = None
    offset: int | None = None
    expression: str = ""
    parts: tuple[tuple[int, "Argument"], ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A call that each iteration makes.

    Attributes
    ----------
    name : str
        Name of the run-time's function; for a launch, the kernel's mangled name.
    launch : bool
        Whether the call launches a kernel.
    site : tuple of int
        Addresses of call instructions: the one in the loop, then one in each function that the call
        goes through. The last instruction calls CUDA.
    configuration : tuple of Argument
        For a launch: grid x, y, z, block x, y, z, bytes of shared memory, stream. Else empty.
    arguments : tuple of Argument
        The arguments of the run-time's function; for a launch, those of the kernel.
    """

    name: str
    launch: bool
    site: tuple[int, ...]
    configuration: tuple[Argument, ...]
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class LoopMark:
    """A loop, deferrable or not.

    Attributes
    ----------
    function : str
        Name of the symbol of the function that holds the loop.
    header : int
        Address of the block that every iteration begins with.
    depth : int
        Depth of nesting: 1 for a loop that is in no other loop.
    loop_class : int or None
        1, 2 or 3; None if the loop cannot be deferred.
    reason : Reason or None
        Why the loop cannot be deferred; None if it can.
    reason_address : int or None
        Address of the instruction in the loop that shows the reason.
    detail : str
        The reason in words.
    first, step : int or None
        The loop variable's first value and increment, with sign; None if they are known only when
        the program runs. The loop variable is the one that the exit compares.
    count : int or None
        Number of iterations; None if it is known only when the program runs.
    first_expression, step_expression, count_expression : str
        ``first``, ``step`` and ``count`` in words.
    exits : tuple of int
        Addresses of the branches that leave the loop.
    calls : tuple of Call
        Calls of an iteration, in order; empty if the loop cannot be deferred.
    """

    function: str
    header: int
    depth: int
    loop_class: int | None = None
    reason: Reason | None = None
    reason_address: int | None = None
    detail: str = ""
    first: int | None = None
    step: int | None = None
    count: int | None = None
    first_expression: str = ""
    step_expression: str = ""
    count_expression: str = ""
    exits: tuple[int, ...] = ()
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Marks:
    """All that is known about a program's loops.

    Attributes
    ----------
    code_hash : str
        SHA-256 of the section ``.text``, in hexadecimal digits: marks fit only the program that
        they were made from.
    loops : tuple of LoopMark
        Marks of the loops, in the order of their functions' and their headers' addresses.
    """

    code_hash: str
    loops: tuple[LoopMark, ...]

    @property
    def deferrable(self) -> tuple[LoopMark, ...]:
        """The loops that have a class."""
        return tuple(loop for loop in self.loops if loop.loop_class is not None)
