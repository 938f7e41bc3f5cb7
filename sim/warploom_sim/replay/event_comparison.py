"""A replay's recorded events against the model's: all of them, cycle numbers included."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_model import Events
from warploom_golden.replay.event_tables import Table

#: An event's fields by name; of a field wider than 64 bits the whole number.
Values = dict[str, int]
#: Kinds of which the model knows tickets that others do not name.
_TICKETED = ("decisions", "starts", "ended")
#: Events that follow each other.
Parts = Iterable[Events]


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


class Comparing:
    """A comparison of events that come in pieces from either side, each kind in order.

    What both sides have is compared and forgotten.

    Attributes
    ----------
    compared : dict of str to int
        Events compared, by kind, and 1 for each counter.
    mismatches : int
        Events that differ so far.
    """

    def __init__(self) -> None:
        self.compared: dict[str, int] = {}
        self.mismatches = 0
        self._first: dict[str, tuple[int, Values | None, Values | None]] = {}
        self._rtl: dict[str, Table] = {}
        self._model: dict[str, Table] = {}

    def add_rtl(self, kind: str, table: Table) -> None:
        """Take what the RTL recorded next of a kind."""
        _append(self._rtl, kind, table)
        self._compare(kind)

    def add_model(self, tables: Mapping[str, Table]) -> None:
        """Take what the model expects next."""
        for kind, table in tables.items():
            self.compared.setdefault(kind, 0)
            _append(self._model, kind, table)
            self._compare(kind)

    def lacks(self, until: int) -> bool:
        """Tell whether the RTL has an event, at a cycle or later, that the model has not yet."""
        return any(
            _length(table) and int(table["cycle"][-1]) >= until for table in self._rtl.values()
        )

    def _compare(self, kind: str) -> None:
        """Compare what both sides have of a kind."""
        seen, expected = self._rtl.get(kind), self._model.get(kind)
        if seen is None or expected is None:
            return
        length = min(_length(seen), _length(expected))
        unequal = _unequal(seen, expected, length)
        if unequal.any() and kind not in self._first:
            number = int(unequal.argmax())
            sides = values_at(seen, number), values_at(expected, number)
            self._first[kind] = (self.compared[kind] + number, *sides)
        self.mismatches += int(unequal.sum())
        self.compared[kind] += length
        self._rtl[kind], self._model[kind] = _from(seen, length), _from(expected, length)

    def finish(
        self, rtl: Mapping[str, int], model: Mapping[str, int], parts: Callable[[], Parts]
    ) -> Comparison:
        """Compare counters, and count what only one side has.

        Parameters
        ----------
        rtl, model : mapping of str to int
            The stall counters.
        parts : callable
            Returns the model's events in pieces, again: they say where the first mismatch is.
        """
        for kind in self.compared:
            sides = self._rtl.get(kind), self._model.get(kind)
            values = [values_at(table, 0) if table else None for table in sides]
            self.mismatches += sum(_length(table) for table in sides if table)
            if any(values) and kind not in self._first:
                self._first[kind] = self.compared[kind], values[0], values[1]
        found = [_place(kind, *first, parts) for kind, first in self._earliest()]
        for name, value in model.items():
            self.compared[name] = 1
            if rtl[name] != value:
                self.mismatches += 1
                counts = {"value": rtl[name]}, {"value": value}
                found.append(Mismatch(name, 0, NEVER, None, None, *counts))
        first = min(found, key=lambda mismatch: mismatch.cycle, default=None)
        if first and first.cycle == NEVER:
            ended = (int(part.tables["ended"]["cycle"].max(initial=0)) for part in parts())
            first = replace(first, cycle=max(ended))
        return Comparison(self.compared, self.mismatches, first)

    def _earliest(self) -> list[tuple[str, tuple[int, Values | None, Values | None]]]:
        """Return the first mismatch of the kind in which it has the lowest cycle."""
        pairs = [(kind, self._first[kind]) for kind in self.compared if kind in self._first]
        return sorted(pairs, key=lambda pair: _cycle(*pair[1][1:]))[:1]


def compare(rtl: Events, model: Events) -> Comparison:
    """Compare every column of every table, and the stall counters."""
    comparing = Comparing()
    comparing.add_model(model.tables)
    for kind in model.tables:
        comparing.add_rtl(kind, rtl.tables[kind])
    return comparing.finish(rtl.stalls, model.stalls, lambda: [model])


def _append(side: dict[str, Table], kind: str, table: Table) -> None:
    known = side.get(kind)
    if known is None or not _length(known):
        side[kind] = table
    elif _length(table):
        side[kind] = {name: np.concatenate([known[name], table[name]]) for name in known}


def _from(table: Table, first: int) -> Table:
    """Return a table from one event on, without what stands before it."""
    return {name: column[first:].copy() for name, column in table.items()}


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


def _cycle(*sides: Values | None) -> int:
    return min(values["cycle"] for values in sides if values)


def _place(
    kind: str,
    number: int,
    rtl: Values | None,
    model: Values | None,
    parts: Callable[[], Parts],
) -> Mismatch:
    """Say where a mismatch is, by what the model knows."""
    values = model or rtl or {}
    launch, block = locate(kind, number, values, _around(kind, values, parts()))
    return Mismatch(kind, number, _cycle(rtl, model), launch, block, rtl, model)


def _around(kind: str, values: Mapping[str, int], parts: Parts) -> Events:
    """Return what `locate` needs: of the offers the last one before, of other kinds all."""
    kept: dict[str, list[Table]] = {kind: [] for kind in ("answers", *_TICKETED)}
    offer: Table = {}
    for part in parts:
        for name, tables in kept.items():
            tables.append(part.tables[name])
        offers = part.tables["offers"]
        held = np.flatnonzero(_before(kind, values, offers))[-1:]
        if len(held) or not offer:
            offer = {name: column[held] for name, column in offers.items()}
    joined = {
        kind: {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        for kind, tables in kept.items()
    }
    return Events(joined | {"offers": offer}, {})


def _before(kind: str, values: Mapping[str, int], offers: Table) -> NDArray[np.bool_]:
    """Tell which offers came before an event; of a report, those of its slot."""
    before = offers["cycle"] <= np.uint64(values["cycle"])
    if kind == "reports":
        before &= (offers["sm"] == values["sm"]) & (offers["slot"] == values["slot"])
    return before


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
    held = np.flatnonzero(_before(kind, values, offers))
    offer = values_at(offers, int(held[-1])) if len(held) else None
    block = _block(offer) if offer else None
    if kind == "answers":
        return number, block
    ticket = values.get("ticket") or _ticket_of(kind, number, values, events)
    if ticket is None and offer:
        ticket = offer["ticket"]
    return launch_of(ticket, events) if ticket else None, block


def launch_of(ticket: int, events: Events) -> int | None:
    """Return the number of the launch that got a ticket."""
    found = np.flatnonzero(events.tables["answers"]["ticket"] == np.uint64(ticket))
    return int(found[0]) if ticket and len(found) else None


def _block(offer: Mapping[str, int]) -> tuple[int, int, int]:
    return offer["bx"], offer["by"], offer["bz"]


def _ticket_of(kind: str, number: int, values: Values, events: Events) -> int | None:
    """Return the ticket that starts, for which indices are, or whose record is written."""
    decisions, starts, ended = (events.tables[name] for name in _TICKETED)
    if kind in ("decisions", "done") and number < _length(decisions):
        return int(decisions["ticket"][number])
    if kind == "starts" and number < _length(starts):
        return int(starts["ticket"][number])
    if kind == "record_words":
        # A record is written to its end before the next one.
        found = np.flatnonzero(ended["cycle"] >= np.uint64(values["cycle"]))
        return int(ended["ticket"][found[0]]) if len(found) else None
    if kind == "warps":
        # The last miss decided before: its region is the one being written.
        missed = (decisions["hit"] == 0) & (decisions["cycle"] <= np.uint64(values["cycle"]))
        found = np.flatnonzero(missed)
        return int(decisions["ticket"][found[-1]]) if len(found) else None
    return None
