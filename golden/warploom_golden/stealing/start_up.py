"""Start-up: each worker gets a CPU core, units and their sections of the mailbox."""

from dataclasses import dataclass
from typing import Final

from warploom_spec.errors import WarploomError

#: ``one_to_one``: a worker uses the first of its units only; ``one_to_many``: all of them.
MAPPINGS: Final = ("one_to_one", "one_to_many")


@dataclass(frozen=True)
class Assignment:
    """What the host gives one worker before it starts.

    Attributes
    ----------
    worker, cpu_core : int
        Numbers of the worker and of its CPU core; no two workers share a core.
    units : tuple of int
        Execution units, in order. Section k of the mailbox belongs to unit k, so these are the
        worker's sections, too.
    """

    worker: int
    cpu_core: int
    units: tuple[int, ...]


def assignments(
    workers: int, units: int, mapping: str, cpu_cores: int | None = None
) -> list[Assignment]:
    """Share CPU cores and units among the workers; their counts of units differ by at most one.

    Patent US 11,340,942 B2 says: where units do not divide evenly, one worker has fewer than the
    others. For 5 units on 4 workers no such division exists (`patent_counts`). So here the first
    ``units % workers`` workers have one unit more.

    Parameters
    ----------
    workers, units : int
        At least one each, and at least as many units as workers.
    mapping : str
        ``one_to_one`` or ``one_to_many``.
    cpu_cores : int or None
        CPU cores of the host; None: enough.

    Raises
    ------
    WarploomError
        If a count or the mapping is not legal.
    """
    if mapping not in MAPPINGS:
        raise WarploomError(f"mapping is {mapping!r}; legal: {', '.join(MAPPINGS)}")
    if workers < 1:
        raise WarploomError(f"workers is {workers}; legal: 1 or more")
    if units < workers:
        raise WarploomError(
            f"workers is {workers} with {units} units; legal: 1 to {units},"
            " since each worker needs a unit of its own"
        )
    if cpu_cores is not None and cpu_cores < workers:
        raise WarploomError(
            f"workers is {workers} on {cpu_cores} CPU cores; legal: 1 to {cpu_cores}"
        )
    small, larger = divmod(units, workers)
    taken = 0
    found = []
    for worker in range(workers):
        count = small + (worker < larger)
        used = count if mapping == "one_to_many" else 1
        found.append(Assignment(worker, worker, tuple(range(taken, taken + used))))
        taken += count
    return found


def patent_counts(workers: int, units: int) -> list[int] | None:
    """Return each worker's count of units by the patent's rule; None if no counts follow the rule.

    The rule: all workers have the same count, but the last one may have fewer.
    """
    if units % workers == 0:
        return [units // workers] * workers
    for each in range(1, units + 1):
        rest = units - each * (workers - 1)
        if 0 < rest < each:
            return [each] * (workers - 1) + [rest]
    return None
