"""What is true of the loops in ``tb/binaries``, as the comments beside their sources say.

A line ``//= FUNCTION class C first F step S count N : CALL; CALL`` tells of a loop that can be
deferred, ``//= FUNCTION not REASON|REASON`` of one that cannot. ``n`` is a number that is known
only when the program runs. A call is ``kernel[gx:1+2](ARGUMENT, ...)``; the part in brackets names
what is not constant of the launch. An argument: ``=`` constant, ``=5`` the constant 5, ``5+3`` and
``n-2`` first value and increment, ``+3`` any first value, ``+?`` an increment that is known only
when the program runs, ``~`` two by turns, ``@0+16`` call 0's result plus 16, ``b`` constant bytes.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tb.support.deep_values import thorough_but
from warploom_loops.marks import Argument, ArgumentKind, Call, LoopMark

BINARIES = Path(__file__).parents[1] / "binaries"
LEVELS = (0, 1, 2, 3)
#: For tests that run by default at two of them.
at_each_level = pytest.mark.parametrize("level", thorough_but([0, 2], LEVELS))
CONFIGURATION = ("gx", "gy", "gz", "bx", "by", "bz", "sh", "st")


@dataclass(frozen=True)
class Truth:
    """What is true of one function's loop."""

    program: str
    function: str
    loop_class: int | None
    reasons: tuple[str, ...] = ()
    first: str = ""
    step: int = 0
    count: str = ""
    calls: tuple[str, ...] = ()


_CAN = re.compile(r"//= (\w+) class (\d) first (\S+) step (\S+) count (\S+) : (.*)")
_CANNOT = re.compile(r"//= (\w+) not (\S+)")


def truths(program: str) -> list[Truth]:
    """Return what a program's source says."""
    found = []
    for line in (BINARIES / f"{program}.cu").read_text().splitlines():
        if match := _CAN.fullmatch(line):
            function, class_, first, step, count, calls = match.groups()
            made = tuple(call.strip() for call in calls.split(";"))
            found.append(Truth(program, function, int(class_), (), first, int(step), count, made))
        elif match := _CANNOT.fullmatch(line):
            found.append(Truth(program, match[1], None, tuple(match[2].split("|"))))
        else:
            assert not line.startswith("//="), line
    return found


def faults(truth: Truth, loop: LoopMark, level: int) -> list[str]:
    """Return what is wrong about a loop that was called deferrable."""
    if truth.loop_class is None:
        return ["it cannot be deferred"]
    wrong = []
    if loop.loop_class != truth.loop_class:
        wrong.append(f"class {loop.loop_class}, not {truth.loop_class}")
    if level == 0:  # The compiler may replace the loop variable by one that it finds handier.
        if truth.first != "n" and loop.first != int(truth.first):
            wrong.append(f"first {loop.first}, not {truth.first}")
        if loop.step != truth.step:
            wrong.append(f"step {loop.step}, not {truth.step}")
    if (str(loop.count) if loop.count is not None else "n") != truth.count:
        wrong.append(f"count {loop.count}, not {truth.count}")
    if len(loop.calls) != len(truth.calls):
        return [*wrong, f"{len(loop.calls)} calls, not {len(truth.calls)}"]
    for made, true in zip(loop.calls, truth.calls, strict=True):
        wrong += _call_faults(made, true)
    return wrong


_CALL = re.compile(r"(\w+)(?:\[(.*)\])?\((.*)\)")


def _call_faults(made: Call, true: str) -> list[str]:
    match = _CALL.fullmatch(true)
    assert match, true
    name, configuration, arguments = match.groups()
    wrong = [] if _is_name(made.name, name) else [f"a call of {made.name}, not {name}"]
    rules = [rule.strip() for rule in arguments.split(",")] if arguments else []
    if len(rules) != len(made.arguments):
        return [*wrong, f"{len(made.arguments)} arguments, not {len(rules)}"]
    pairs = list(zip(made.arguments, rules, strict=True))
    moving = dict(rule.split(":") for rule in configuration.split()) if configuration else {}
    if made.launch:
        names = zip(made.configuration, CONFIGURATION, strict=True)
        pairs += [(argument, moving.get(name, "=")) for argument, name in names]
    return wrong + [
        f"{argument} is not {rule}" for argument, rule in pairs if not _keeps(argument, rule)
    ]


def _is_name(found: str, true: str) -> bool:
    """Return whether a mangled name is a function's."""
    return found == true or f"{len(true)}{true}" in found


_INCREMENT = re.compile(r"(-?\d+|n)?([+-](?:\d+|\?))")


def _keeps(argument: Argument, rule: str) -> bool:
    """Return whether an argument is what a rule says."""
    kind = argument.kind
    if rule == "~":
        return kind is ArgumentKind.ALTERNATE
    if rule == "b":
        return kind is ArgumentKind.BYTES
    if rule.startswith("="):
        return kind is ArgumentKind.CONSTANT and rule[1:] in ("", _signed(argument))
    if rule.startswith("@"):
        call, offset = rule[1:].split("+")
        return kind is ArgumentKind.RESULT and (argument.call, argument.offset) == (
            int(call),
            int(offset),
        )
    match = _INCREMENT.fullmatch(rule)
    assert match, rule
    first, increment = match.groups()
    if kind is not ArgumentKind.INCREMENT:
        return False
    if increment[1:] == "?":
        return argument.increment is None
    if argument.increment != int(increment):
        return False
    if first is None:
        return True
    return argument.value is None if first == "n" else _signed(argument) == first


def _signed(argument: Argument) -> str:
    value, bits = argument.value, 8 * argument.size
    if value is None:
        return "n"
    return str(value - (1 << bits) if value >> (bits - 1) else value)
