"""A replay's recorded events against the model's: all of them, cycle numbers included."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_model import Events, Table

#: An event's fields by name; of a field wider than 64 bits the whole number.
Values = dict[str, int]


@dataclass(frozen=True)
class Mismatch:
    """The first difference among events of one kind, or between two counters.

    Attributes
    ----------
    kind : str
        Kind of event, or name of the counter.
    number : int
        Which event of its kind, from 0.
    cycle : int
        Cycle of the earlier one of the two.
    launch : int or None
        Number of the launch in the replay, from 0.
    block : tuple of int or None
        (bx, by, bz) of the block, or of the one offered last before it.
    rtl, model : Values or None
        What each has; None if it has no such event.
    """

    kind: str
    number: int
    cycle: int
    launch: int | None
    block: tuple[int, int, int] | None
    rtl: Values | None
    model: Values | None

    def differing(self) -> list[str]:
        """Return the names of the fields that differ."""
        if self.rtl is None or self.model is None:
            return []
        return [name for name, value in self.model.items() if self.rtl.get(name) != value]


@dataclass(frozen=True)
class Comparison:
    """The outcome.

    Attributes
    ----------
    compared : dict of str to int
        Events compared, by kind, and 1 for each counter.
    mismatches : int
        Events that differ or that only one side has, and counters that differ.
    first : Mismatch or None
        The one with the lowest cycle.
    """

    compared: dict[str, int]
    mismatches: int
    first: Mismatch | None


def compare(rtl: Events, model: Events) -> Comparison:
    """Compare every column of every table, and the stall counters."""
    compared, mismatches, found = {}, 0, []
    for kind, expected in model.tables.items():
        seen = rtl.tables[kind]
        length = min(_length(seen), _length(expected))
        unequal = _unequal(seen, expected, length)
        extra = max(_length(seen), _length(expected)) - length
        compared[kind] = length
        mismatches += int(unequal.sum()) + extra
        if unequal.any() or extra:
            number = int(unequal.argmax()) if unequal.any() else length
            found.append(_mismatch(kind, number, seen, expected, model))
    last = int(model.tables["ended"]["cycle"].max(initial=0))
    for name, value in model.stalls.items():
        compared[name] = 1
        if rtl.stalls[name] != value:
            mismatches += 1
            values = {"value": rtl.stalls[name]}, {"value": value}
            found.append(Mismatch(name, 0, last, None, None, *values))
    first = min(found, key=lambda mismatch: mismatch.cycle, default=None)
    return Comparison(compared, mismatches, first)


def _length(table: Table) -> int:
    return len(table["cycle"])


def _unequal(rtl: Table, model: Table, length: int) -> NDArray[np.bool_]:
    """Return for each of the first events whether any field differs."""
    if rtl.keys() != model.keys():
        raise ValueError(f"columns differ: {sorted(rtl)} and {sorted(model)}")
    result = np.zeros(length, bool)
    for name, column in model.items():
        different = rtl[name][:length] != column[:length]
        result |= different if different.ndim == 1 else different.any(axis=1)
    return result


def _mismatch(kind: str, number: int, rtl: Table, model: Table, events: Events) -> Mismatch:
    sides = [values_at(table, number) for table in (rtl, model)]
    cycle = min(values["cycle"] for values in sides if values)
    launch, block = locate(kind, number, sides[1] or sides[0] or {}, events)
    return Mismatch(kind, number, cycle, launch, block, sides[0], sides[1])


def values_at(table: Table, number: int) -> Values | None:
    """Return one event's fields, or None if there are not so many."""
    if number >= _length(table):
        return None
    return {name: _whole(column[number]) for name, column in table.items()}


def _whole(value: Any) -> int:
    words = np.atleast_1d(value)
    return sum(int(word) << 64 * k for k, word in enumerate(words))


def locate(
    kind: str, number: int, values: Values, events: Events
) -> tuple[int | None, tuple[int, int, int] | None]:
    """Return launch and block that an event belongs to, by what the model knows.

    An event that is no block's gets the block that was offered last before it.
    """
    offers = events.tables["offers"]
    if kind == "offers":
        return launch_of(values["ticket"], events), _block(values)
    before = offers["cycle"] <= np.uint64(values["cycle"])
    if kind == "reports":
        same = (offers["sm"] == values["sm"]) & (offers["slot"] == values["slot"])
        before = before & same
    held = np.flatnonzero(before)
    offer = values_at(offers, int(held[-1])) if len(held) else None
    block = _block(offer) if offer else None
    if kind == "answers":
        return number, block
    ticket = values.get("ticket") or _ticket_of_indices(kind, number, values, events)
    if ticket is None and offer:
        ticket = offer["ticket"]
    return launch_of(ticket, events) if ticket else None, block


def launch_of(ticket: int, events: Events) -> int | None:
    """Return the number of the launch that got a ticket."""
    found = np.flatnonzero(events.tables["answers"]["ticket"] == np.uint64(ticket))
    return int(found[0]) if ticket and len(found) else None


def _block(offer: Mapping[str, int]) -> tuple[int, int, int]:
    return offer["bx"], offer["by"], offer["bz"]


def _ticket_of_indices(kind: str, number: int, values: Values, events: Events) -> int | None:
    """Return the ticket for which indices were written or are there."""
    decisions = events.tables["decisions"]
    if kind == "done" and number < _length(decisions):
        return int(decisions["ticket"][number])
    if kind == "warps":
        # The last miss decided before: its region is the one being written.
        missed = (decisions["hit"] == 0) & (decisions["cycle"] <= np.uint64(values["cycle"]))
        found = np.flatnonzero(missed)
        return int(decisions["ticket"][found[-1]]) if len(found) else None
    return None
