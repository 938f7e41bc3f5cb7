"""Deferred calls as data: the front end sends them, and the back end runs them."""

from dataclasses import dataclass

#: The legal sizes of a number argument, in bytes.
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
        Number, within the iteration, of the call whose result is used. An earlier call gives its
        result of this iteration; this call or a later one gives that of the iteration before.
    offset : int
        The constant that is added to the result.
    first : int
        The argument's value in iteration 0, if it uses the iteration before; else 0.
    size : int
        Always 8.
    """

    call: int
    offset: int = 0
    first: int = 0
    size: int = 8


@dataclass(frozen=True)
class Bytes:
    """Bytes of host memory that the call reads, copied when the program makes the call."""

    data: bytes


Number = Constant | Linear | Alternate | FromResult
Argument = Number | Bytes
#: An argument of a call: the rule for its value in each iteration.
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
        Number of the application that sends the group, and of its message, 32 bits each.
    loop_class : int
        1 to 3: the highest class that an argument needs. 0: the call was not deferred.
    initial, step : int
        First value and increment of the loop's variable, 64 bits, signed.
    count : int
        Number of iterations, 64 bits.
    calls : tuple of Call
        The calls of one iteration, in order.
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
    """The back end's answer to a group.

    Attributes
    ----------
    application, sequence : int
        The values of the group.
    code : int
        The error that stopped the group, 32 bits; 0: none.
    call, iteration : int
        The call and the iteration in which the group stopped; 0 if it did not stop.
    results : tuple of int or bytes
        The result of each call in the last iteration that ran the call; 0 if there is none.
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
        The argument's rule.
    call : int
        Number of the argument's call within the iteration.
    iteration : int
        Number of the iteration, from 0.
    current, before : list
        Results of this iteration's calls so far, and of the iteration before; None: there is no
        iteration before.
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
