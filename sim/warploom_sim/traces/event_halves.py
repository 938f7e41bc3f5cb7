"""Begin and end events (``ph`` B and E) of a trace, put together to complete ones."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

#: Numbers that stand in a trace as strings.
NUMBER: Final = re.compile(r"\s*-?\d{1,20}(\.\d*)?([eE][+-]?\d{1,3})?\s*", re.ASCII)


class Half(NamedTuple):
    """A begin or an end: the event's number in the file, and the event."""

    number: int
    event: dict[str, Any]


def put_together(halves: list[Half]) -> Iterator[Half]:
    """Yield the complete event of each begin, with the begin's number and both halves' arguments.

    An end belongs to the latest open begin of its thread (process and thread number), of the same
    name if the end has one. A begin without an end has no duration. An end without a begin gives
    nothing.
    """
    threads: dict[str, list[Half]] = {}
    for half in halves:
        thread = f"{half.event.get('pid')} {half.event.get('tid')}"
        threads.setdefault(thread, []).append(half)
    for those in threads.values():
        yield from _of_thread(sorted(those, key=lambda half: _time(half.event)))


def _of_thread(halves: list[Half]) -> Iterator[Half]:
    opened: list[Half] = []
    for half in halves:
        if half.event["ph"] == "B":
            opened.append(half)
            continue
        name = half.event.get("name")
        places = reversed(range(len(opened)))
        fits = (k for k in places if name in (None, opened[k].event.get("name")))
        if (found := next(fits, None)) is not None:
            begin = opened.pop(found)
            yield begin._replace(event=_complete(begin.event, half.event))
    yield from (begin._replace(event=begin.event | {"ph": "X"}) for begin in opened)


def _complete(begin: dict[str, Any], end: dict[str, Any]) -> dict[str, Any]:
    whole = begin | {"ph": "X"}
    if "ts" in begin and "ts" in end:
        whole["dur"] = _time(end) - _time(begin)
    both = [part for half in (end, begin) if (part := half.get("args")) is not None]
    # What is no object is refused where the arguments are read.
    if all(isinstance(part, dict) for part in both):
        whole["args"] = {name: value for part in both for name, value in part.items()}
    return whole


def _time(event: dict[str, Any]) -> float:
    """Return when an event was, for its place among others; 0 if it does not say it well."""
    value = event.get("ts")
    if isinstance(value, str) and NUMBER.fullmatch(value):
        return float(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
