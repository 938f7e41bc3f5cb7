"""Marks: what the finder knows about a program's loops, for a front end that runs the program.

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
    #: One value in even iterations, another in odd ones.
    ALTERNATE = 2
    #: The result of a call of the same iteration, plus an offset.
    RESULT = 3
    #: Bytes that do not change: a structure by value.
    BYTES = 4


class Reason(Enum):
    """Why a loop cannot be deferred."""

    #: It makes a call that returns something the program waits for, or that is not known.
    CALL = "CALL"
    #: It reads or writes memory that other code may know.
    MEMORY = "MEMORY"
    #: A loop inside it makes CUDA calls.
    INNER_LOOP = "INNER_LOOP"
    #: Which calls an iteration makes depends on a branch.
    BRANCH = "BRANCH"
    #: Something other than the loop's own calls uses what a call gave back.
    RESULT = "RESULT"
    #: It does not end by comparing an induction variable with something that stays the same.
    EXIT = "EXIT"
    #: An argument changes in a way that no recurrence says.
    ARGUMENT = "ARGUMENT"
    #: The analysis does not see through the function.
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call.

    Attributes
    ----------
    kind : ArgumentKind
        How it changes.
    size : int
        Bytes.
    value : int or None
        Without sign: the constant, the first value, or the value in even iterations. None if it is
        known only when the program runs.
    increment : int or None
        Of kind `INCREMENT`, with sign; None if it is known only when the program runs.
    other : int or None
        Of kind `ALTERNATE`: the value in odd iterations; None as for ``value``.
    call : int or None
        Of kind `RESULT`: the number of the call in the iteration.
    offset : int or None
        Of kind `RESULT`: what is added, with sign.
    expression : str
        The value in words for the reader, such as ``arg1 + 16``.
    parts : tuple of (int, Argument)
        Of a structure: byte offsets and what stands there. Its kind is `BYTES` if no part changes,
        else the kind of the part that changes.
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
        The run-time's function; of a launch the kernel's mangled name.
    launch : bool
        Whether it launches a kernel.
    site : tuple of int
        Address of the call instruction in the loop, then of those in the functions that it goes
        through; the last one calls CUDA.
    configuration : tuple of Argument
        Of a launch: grid x, y, z, block x, y, z, bytes of shared memory, stream. Else empty.
    arguments : tuple of Argument
        The call's own, or the kernel's.
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
        Name of the symbol.
    header : int
        Address of the block that every iteration begins with.
    depth : int
        1 for a loop that is in no other.
    loop_class : int or None
        1, 2 or 3; None if it cannot be deferred.
    reason : Reason or None
        Why not.
    reason_address : int or None
        The instruction of the loop that is the reason.
    detail : str
        The reason in words.
    first, step : int or None
        The loop variable's first value and increment, with sign; None if they are known only when
        the program runs. The loop variable is the one that the exit compares.
    count : int or None
        Iterations; None if known only when the program runs.
    first_expression, step_expression, count_expression : str
        The same in words.
    exits : tuple of int
        Addresses of the branches that leave the loop.
    calls : tuple of Call
        In order; empty if the loop cannot be deferred.
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
        SHA-256 of the section ``.text``, in hexadecimal digits: marks are of one program alone.
    loops : tuple of LoopMark
        By function and address.
    """

    code_hash: str
    loops: tuple[LoopMark, ...]

    @property
    def deferrable(self) -> tuple[LoopMark, ...]:
        """The loops that have a class."""
        return tuple(loop for loop in self.loops if loop.loop_class is not None)
