"""Rules of arguments over the iterations of one group, as far as a template can follow them."""

from warploom_golden.deferral.calls import Alternate, Argument, Bytes, Constant, FromResult, Linear
from warploom_golden.deferral.refusal import Reason, RefusedGroupError

#: A rule that a field of a template can have.
Rule = Constant | Linear | Alternate


def rule_of(argument: Argument, size: int, count: int, call: int) -> Rule:
    """Return an argument's rule in the bits that count, as simple as it can be.

    Bits above ``size`` bytes mean nothing and are masked. A rule that does not change in ``count``
    iterations is a `Constant`. An increment is signed, and the smaller way round.

    Parameters
    ----------
    argument : Argument
        As the message has it.
    size : int
        Bytes that count; the rule's size is this or the argument's own, whichever is less.
    count : int
        Iterations of the group.
    call : int
        Number of the call, for a refusal.

    Raises
    ------
    RefusedGroupError
        If the argument is a result or bytes.
    """
    if isinstance(argument, FromResult):
        raise RefusedGroupError(Reason.RESULT, call)
    if isinstance(argument, Bytes):
        raise RefusedGroupError(Reason.BYTES, call)
    size = min(size, argument.size)
    modulus = 1 << 8 * size
    if isinstance(argument, Constant):
        return Constant(argument.value % modulus, size)
    if isinstance(argument, Alternate):
        value, other = argument.value % modulus, argument.other % modulus
        if value == other or count < 2:
            return Constant(value, size)
        return Alternate(value, other, size)
    first = argument.first % modulus
    half = modulus // 2
    increment = (argument.increment + half) % modulus - half
    if not increment or count < 2:
        return Constant(first, size)
    return Linear(first, increment, size)


def constant_of(argument: Argument, size: int, count: int, call: int) -> int:
    """Return the value of an argument that may not change.

    Raises
    ------
    RefusedGroupError
        As `rule_of`; also if the argument changes.
    """
    rule = rule_of(argument, size, count, call)
    if not isinstance(rule, Constant):
        raise RefusedGroupError(Reason.FIXED_FIELD, call)
    return rule.value


def stays_below(rule: Rule, bits: int, count: int) -> bool:
    """Return whether each of ``count`` values fits ``bits`` bits without wrapping."""
    if isinstance(rule, Constant):
        values = [rule.value]
    elif isinstance(rule, Alternate):
        values = [rule.value, rule.other]
    else:
        values = [rule.first, rule.first + (count - 1) * rule.increment]
    return all(0 <= value < 1 << bits for value in values)
