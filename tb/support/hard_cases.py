"""Lockstep runs that go on until each hard case has happened: no seed misses one by chance."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from warploom_sim.cosim.lockstep import Case, run
from warploom_sim.cosim.lockstep.events import require

#: Rounds after which a case that has not happened is said to happen never.
MOST = 12


def run_until(
    names: Collection[str], cases: Callable[[int], Sequence[Case]], simulator: str
) -> Counter[str]:
    """Run one round of cases after the other until each of some events has happened.

    Parameters
    ----------
    names : collection of str
        The events that are demanded.
    cases : callable
        Gets the number of a round, from 0 on; returns its cases.
    simulator : str
        As for `run`.

    Returns
    -------
    Counter
        How often each event happened, in all rounds.

    Raises
    ------
    AssertionError
        If an event has not happened in `MOST` rounds.
    """
    total: Counter[str] = Counter()
    for number in range(MOST):
        for result in run(cases(number), simulator):
            total.update(result.counts)
        if all(total[name] for name in names):
            break
    require(names, total)
    return total
