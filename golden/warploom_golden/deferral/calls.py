"""Deferred calls as data: what the front end sends and the back end runs."""

from dataclasses import dataclass

#: Sizes in bytes that an argument which is a number may have.
SIZES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Constant:
    """The same number in every iteration."""

    value: int
    size: int = 8


@dataclass(frozen=True)
class Linear:
    """``first + i * increment`` in iteration i, modulo ``2 ** (8 * size)``."""

    first: int
    increment: int
    size: int = 8


@dataclass(frozen=True)
class Alternate:
    """``value`` in even iterations, ``other`` in odd ones: two buffers that swap."""

    value: int
    other: int
    size: int = 8


@dataclass(frozen=True)
class FromResult:
    """A call's result plus a constant, modulo ``2 ** 64``.

    Attributes
    ----------
    call : int
        Number of the call within the iteration. Of an earlier call the result of this iteration is
        meant, of this call or a later one that of the iteration before.
    offset : int
        Added to it.
    first : int
        The argument's value in iteration 0 where there is no iteration before; else 0.
    size : int
        Always 8.
    """

    call: int
    offset: int = 0
    first: int = 0
    size: int = 8


@dataclass(frozen=True)
class Bytes:
    """Host memory that the call reads, copied when the call was made."""

    data: bytes


Number = Constant | Linear | Alternate | FromResult
Argument = Number | Bytes
#: What a call is made with.
Value = int | bytes


@dataclass(frozen=True)
class Call:
    """One call of a group's iteration."""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Group:
    """A loop's calls: ``count`` iterations of ``calls``, sent as one message.

    Attributes
    ----------
    application, sequence : int
        Who sends it, and the number of the message, 32 bits each.
    loop_class : int
        1 to 3: the highest that an argument needs; 0: a call that was not deferred.
    initial, step : int
        First value and increment of the loop's variable, 64 bits, signed.
    count : int
        Iterations, 64 bits.
    calls : tuple of Call
        One iteration's, in order.
    """

    application: int
    sequence: int
    loop_class: int
    initial: int
    step: int
    count: int
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Answer:
    """What became of a group.

    Attributes
    ----------
    application, sequence : int
        The group's.
    code : int
        0, or the error that stopped the group; 32 bits.
    call, iteration : int
        Where it stopped; 0 if it did not.
    results : tuple of int or bytes
        Of each call its result in the last iteration that ran it; 0 if there is none.
    """

    application: int
    sequence: int
    code: int
    call: int
    iteration: int
    results: tuple[Value, ...]


def argument_value(
    argument: Argument,
    call: int,
    iteration: int,
    current: list[Value],
    before: list[Value] | None,
) -> Value:
    """Return an argument's value in one iteration.

    Parameters
    ----------
    argument : Argument
        Its rule.
    call : int
        Number of the call that it belongs to.
    iteration : int
        From 0.
    current, before : list
        Results of this iteration's calls so far, and of the iteration before; None: there is none.
    """
    if isinstance(argument, Bytes):
        return argument.data
    mask = (1 << 8 * argument.size) - 1
    if isinstance(argument, Constant):
        return argument.value & mask
    if isinstance(argument, Linear):
        return (argument.first + iteration * argument.increment) & mask
    if isinstance(argument, Alternate):
        return (argument.other if iteration % 2 else argument.value) & mask
    if argument.call >= call and before is None:
        return argument.first & mask
    source = current if argument.call < call else before
    assert source is not None
    result = source[argument.call]
    return ((result if isinstance(result, int) else 0) + argument.offset) & mask
