"""Whom a worker without tasks steals from."""

import random
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from warploom_spec.errors import WarploomError


class VictimPolicy(Protocol):
    """Names the next victim of one worker."""

    def choose(self, thief: int, lengths: Sequence[int]) -> int:
        """Return a worker other than the thief; its queue may be empty.

        Parameters
        ----------
        thief : int
            The worker that asks.
        lengths : sequence of int
            Tasks in each worker's queue; two entries at least.
        """


class RandomVictim:
    """Any other worker, each as likely as the next; seeded."""

    def __init__(self, thief: int, seed: int):
        self._draw = random.Random(f"{seed} {thief}")

    def choose(self, thief: int, lengths: Sequence[int]) -> int:
        other = self._draw.randrange(len(lengths) - 1)
        return other + (other >= thief)


class RoundRobinVictim:
    """The other workers in turn, beginning with the thief's next."""

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
    """Return one worker's policy by name; an unknown one is refused with the legal names."""
    if name not in VICTIMS:
        raise WarploomError(f"victims is {name!r}; legal: {', '.join(VICTIMS)}")
    return VICTIMS[name](thief, seed)
