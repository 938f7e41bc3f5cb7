"""Counting what happened at the RTL's ports in runs that were compared in every cycle."""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from warploom_sim.cosim.lockstep.names import resolve

Predicate = Callable[[Mapping[str, int], Mapping[str, int]], bool]


class Observer(Protocol):
    """Counter of events that take more than one cycle to see. Made without arguments."""

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        """Take in one compared cycle without reset."""

    def reset(self) -> None:
        """Forget what is going on: this cycle is a reset. The counts stay."""

    def counts(self) -> dict[str, int]:
        """Return every event it can count, with 0 for those that did not happen."""


class PredicateObserver:
    """Count the cycles in which a predicate of inputs and outputs holds.

    Parameters
    ----------
    name : str
        The event's.
    predicate : callable
        Of inputs and outputs by port name.
    """

    def __init__(self, name: str, predicate: Predicate):
        self._name = name
        self._predicate = predicate
        self._count = 0

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        """Take in one cycle."""
        if self._predicate(inputs, outputs):
            self._count += 1

    def reset(self) -> None:
        """Do nothing: there is no state but the count."""

    def counts(self) -> dict[str, int]:
        """Return the count under the event's name."""
        return {self._name: self._count}


def make_observers(events: Mapping[str, Any]) -> list[Observer]:
    """Make the observers that a case names."""
    observers: list[Observer] = []
    for name, target in events.items():
        found: Any = resolve(str(target))
        if isinstance(found, type):
            made: Any = found()
            observers.append(made)
        else:
            observers.append(PredicateObserver(name, found))
    return observers


def total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add counts by name; a name that never happened keeps its 0."""
    result: Counter[str] = Counter()
    for one in counts:
        for name, count in one.items():
            result[name] += count
    return dict(sorted(result.items()))


def clear(directory: Path) -> None:
    """Forget the counts of earlier runs."""
    for file in directory.glob("*.json"):
        file.unlink(missing_ok=True)


def record(directory: Path, label: str, counts: Mapping[str, int]) -> None:
    """Write the counts of one run as a file of its own, so that workers do not meet."""
    directory.mkdir(parents=True, exist_ok=True)
    unique = uuid.uuid4().hex
    unfinished = directory / f".{unique}"
    unfinished.write_text(json.dumps({"run": label, "counts": dict(counts)}))
    os.replace(unfinished, directory / f"{unique}.json")


def merge(directory: Path) -> dict[str, int]:
    """Add the counts of all recorded runs by name."""
    return total(json.loads(file.read_text())["counts"] for file in directory.glob("*.json"))


def require(names: Iterable[str], counts: Mapping[str, int]) -> None:
    """Demand that each event happened at least once.

    Raises
    ------
    AssertionError
        Names the events that nobody counted and those whose count is zero.
    """
    wanted = sorted(set(names))
    if not wanted:
        raise ValueError("no event is required")
    unknown = [name for name in wanted if name not in counts]
    zero = [name for name in wanted if counts.get(name) == 0]
    problems = [f"never observed: {', '.join(unknown)}"] * bool(unknown)
    problems += [f"never happened: {', '.join(zero)}"] * bool(zero)
    if problems:
        raise AssertionError("; ".join(problems))
