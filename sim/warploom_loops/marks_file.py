"""Writes marks as data for a JSON file, and reads them back."""

from typing import Any, Final

from warploom_loops.marks import (
    Argument,
    ArgumentKind,
    Call,
    LoopMark,
    Marks,
    Reason,
)
from warploom_spec import WarploomError

FORMAT: Final = "warploom-marks"
VERSION: Final = 1


def marks_as_data(marks: Marks) -> dict[str, Any]:
    """Return marks as the data of a JSON file."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "code_hash": marks.code_hash,
        "loops": [loop_as_data(loop) for loop in marks.loops],
    }


def loop_as_data(loop: LoopMark) -> dict[str, Any]:
    """Return one loop's mark as data of a JSON file."""
    return {
        "function": loop.function,
        "header": loop.header,
        "depth": loop.depth,
        "class": loop.loop_class,
        "reason": loop.reason.value if loop.reason else None,
        "reason_address": loop.reason_address,
        "detail": loop.detail,
        "first": loop.first,
        "step": loop.step,
        "count": loop.count,
        "first_expression": loop.first_expression,
        "step_expression": loop.step_expression,
        "count_expression": loop.count_expression,
        "exits": list(loop.exits),
        "calls": [_call_as_data(call) for call in loop.calls],
    }


def _call_as_data(call: Call) -> dict[str, Any]:
    return {
        "name": call.name,
        "launch": call.launch,
        "site": list(call.site),
        "configuration": [argument_as_data(argument) for argument in call.configuration],
        "arguments": [argument_as_data(argument) for argument in call.arguments],
    }


def argument_as_data(argument: Argument) -> dict[str, Any]:
    """Return one argument as data of a JSON file."""
    return {
        "kind": int(argument.kind),
        "size": argument.size,
        "value": argument.value,
        "increment": argument.increment,
        "other": argument.other,
        "call": argument.call,
        "offset": argument.offset,
        "expression": argument.expression,
        "parts": [[place, argument_as_data(part)] for place, part in argument.parts],
    }


def marks_from_data(data: Any) -> Marks:
    """Return the marks that a JSON file's data holds.

    Raises
    ------
    WarploomError
        If the data holds no marks of this version, or is damaged.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise WarploomError(f"this is no marks file; legal: one with format {FORMAT!r}")
    if data.get("version") != VERSION:
        raise WarploomError(f"marks version is {data.get('version')!r}; legal: {VERSION}")
    try:
        return Marks(str(data["code_hash"]), tuple(loop_from_data(d) for d in data["loops"]))
    except (KeyError, TypeError, ValueError) as error:
        raise WarploomError(f"the marks are damaged: {type(error).__name__} {error}") from error


def loop_from_data(data: Any) -> LoopMark:
    """Return the mark that a loop's data holds."""
    fields = dict(data)
    fields["loop_class"] = fields.pop("class")
    reason = fields["reason"]
    fields["reason"] = Reason(reason) if reason is not None else None
    fields["exits"] = tuple(fields["exits"])
    fields["calls"] = tuple(_call_from_data(call) for call in fields["calls"])
    return LoopMark(**fields)


def _call_from_data(data: Any) -> Call:
    return Call(
        data["name"],
        data["launch"],
        tuple(data["site"]),
        tuple(_argument_from_data(argument) for argument in data["configuration"]),
        tuple(_argument_from_data(argument) for argument in data["arguments"]),
    )


def _argument_from_data(data: Any) -> Argument:
    fields = dict(data)
    fields["kind"] = ArgumentKind(fields["kind"])
    fields["parts"] = tuple((place, _argument_from_data(part)) for place, part in fields["parts"])
    return Argument(**fields)
