"""The policies by which a worker without tasks chooses the victim that it steals from."""

import random
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from warploom_spec.errors import WarploomError


class VictimPolicy(Protocol):
    """Chooses the next victim of one worker."""

    def choose(self, thief: int, lengths: Sequence[int]) -> int:
        """Return the number of a worker other than the thief; the victim's queue may be empty.

        Parameters
        ----------
        thief : int
            Number of the worker that steals.
        lengths : sequence of int
            Number of tasks in each worker's queue; at least two workers.
        """


class RandomVictim:
    """Any other worker, all equally likely; the draws are seeded."""

    def __init__(self, thief: int, seed: int):
        self._draw = random.Random(f"{seed} {thief}")

    def choose(self, thief: int, lengths: Sequence[int]) -> int:
        other = self._draw.randrange(len(lengths) - 1)
        return other + (other >= thief)


class RoundRobinVictim:
    """The other workers in turn; the worker after the thief is first."""

    def __init__(self, thief: int, seed: int):
        self._last = thief

    def choose(self, thief: int, lengths: Sequence[int]) -> int:
        self._last = (self._last + 1) % len(lengths)
        if self._last == thief:
            self._last = (self._last + 1) % len(lengths)
        return self._last


class MostLoadedVictim:
    """The other worker with the longest queue, ties to the lowest number."""

    def __init__(self, thief: int, seed: int):
        pass

    def choose(self, thief: int, lengths: Sequence[int]) -> int:
        others = (worker for worker in range(len(lengths)) if worker != thief)
        return max(others, key=lambda worker: (lengths[worker], -worker))


VICTIMS: Final[dict[str, Callable[[int, int], VictimPolicy]]] = {
    "random": RandomVictim,
    "round_robin": RoundRobinVictim,
    "most_loaded": MostLoadedVictim,
}


def make_victims(name: str, thief: int, seed: int) -> VictimPolicy:
    """Return one worker's policy by name.

    Raises
    ------
    WarploomError
        If the name is unknown; the message has the legal names.
    """
    if name not in VICTIMS:
        raise WarploomError(f"victims is {name!r}; legal: {', '.join(VICTIMS)}")
    return VICTIMS[name](thief, seed)
