"""ConfigFilter, IndexIterator and IndexPacker of the event model: configurations one at a time.

LaunchPath takes every decision and every ``done`` at once and the index memory never stalls, so
from an acceptance on all that follows has its cycle: nothing is stepped but the wait before it.
"""

from collections import deque
from dataclasses import dataclass

from warploom_golden.oracles.index_reference import Dims
from warploom_spec import Config, timing


@dataclass
class Entry:
    """One history entry."""

    address: int = 0
    dims: Dims = (0, 0, 0)
    warps: int = 0
    valid: bool = False
    count: int = 0
    generated: int = -1
    order: int = -1

    @property
    def key(self) -> tuple[int, Dims, int]:
        """Address, dimensions and warps."""
        return self.address, self.dims, self.warps

    def overlaps(self, address: int, warps: int) -> bool:
        """Tell whether a region meets this entry's."""
        return max(self.address, address) < min(self.address + self.warps, address + warps)

    def held(self, cycle: int) -> bool:
        """Tell whether it is referred to or being generated in a cycle."""
        return self.count > 0 or self.generated >= cycle


@dataclass(frozen=True)
class Accepted:
    """An acceptance and what follows from it.

    Attributes
    ----------
    decision, done : int
        Cycles in which they are valid.
    hit : bool
        Whether the indices were there already.
    entry : int
        History entry.
    first_write : int
        Cycle of a miss's first packed warp; one more follows in each cycle.
    """

    decision: int
    done: int
    hit: bool
    entry: int
    first_write: int


class EventFilter:
    """History, references and timing of the index generator.

    Parameters
    ----------
    config : Config
        Entries, reference bits; latencies by way of ``timing``.

    Attributes
    ----------
    settled : int
        Last cycle in which something known already changes what may be accepted in the next one.
    """

    def __init__(self, config: Config):
        self._timing = timing(config)
        self._highest = (1 << config.reference_bits) - 1
        self._entries = [Entry() for _ in range(config.history_entries)]
        # Of valid entries: their numbers by address, dimensions and warps.
        self._numbers: dict[tuple[int, Dims, int], int] = {}
        self._accepted = 0
        self._setup_until = -1
        self._last_emitted = -1
        self._done: list[int] = []
        self._releases: deque[tuple[int, int]] = deque()
        self.settled = -1

    def accept(self, cycle: int, address: int, dims: Dims, warps: int) -> Accepted | None:
        """Accept the configuration in this cycle, or return None when something holds it."""
        if sum(done >= cycle for done in self._done) >= self._timing.done_depth:
            return None
        # The entries are judged on the state of the cycle before.
        self._count_releases(cycle - 1)
        hit = self._numbers.get((address, dims, warps))
        if hit is None:
            return self._accept_miss(cycle, Entry(address, dims, warps, valid=True))
        entry = self._entries[hit]
        full = entry.count == self._highest
        if entry.generated >= cycle - 1 or full:
            return None
        return self._answer(cycle, hit, cycle + 2, None)

    def _accept_miss(self, cycle: int, new: Entry) -> Accepted | None:
        if cycle <= self._setup_until:
            return None
        met = self._met(new)
        victim = self._victim(cycle - 1)
        if victim is None or any(entry.held(cycle - 1) for entry in met):
            return None
        for entry in [*met, self._entries[victim]]:
            if entry.valid:
                del self._numbers[entry.key]
            entry.valid = False
        t = self._timing
        moves = max(cycle + t.iterator_setup, self._last_emitted)
        self._setup_until, self._last_emitted = moves, moves + new.warps
        first_write = moves + 1 + t.iterator_pipe + t.packer
        new.generated = first_write + new.warps - 1
        self._entries[victim] = new
        self._numbers[new.key] = victim
        return self._answer(cycle, victim, new.generated, first_write)

    def needs_release(self, cycle: int, address: int, dims: Dims, warps: int) -> bool:
        """Tell whether only a release helps a configuration that is held in this cycle."""
        self._count_releases(cycle - 1)
        hit = self._numbers.get((address, dims, warps))
        if hit is not None:
            return self._entries[hit].count == self._highest
        new = Entry(address, dims, warps, valid=True)
        referred = any(entry.count for entry in self._met(new))
        return referred or all(entry.count for entry in self._entries)

    def _met(self, new: Entry) -> list[Entry]:
        """Return the valid entries whose region a new one meets."""
        return [e for e in self._entries if e.valid and e.overlaps(new.address, new.warps)]

    def _victim(self, cycle: int) -> int | None:
        for number, entry in enumerate(self._entries):
            if not entry.valid:
                return number
        free = [n for n, e in enumerate(self._entries) if not e.held(cycle)]
        return min(free, key=lambda n: self._entries[n].order, default=None)

    def _answer(self, cycle: int, number: int, ready: int, first_write: int | None) -> Accepted:
        entry = self._entries[number]
        entry.count += 1
        entry.order = self._accepted
        self._accepted += 1
        done = max(ready, self._done[-1] + 1) if self._done else ready
        self._done = [*(d for d in self._done if d >= cycle), done]
        # `done` is not before the end of a generation, which is judged one cycle later.
        self.settled = max(self.settled, done + 1, self._setup_until)
        hit = first_write is None
        return Accepted(cycle + 1, done, hit, number, -1 if first_write is None else first_write)

    def release(self, cycle: int, number: int) -> None:
        """Give one reference back at the end of a cycle."""
        self._releases.append((cycle, number))
        self.settled = max(self.settled, cycle + 1)

    def _count_releases(self, cycle: int) -> None:
        """Bring the counts to the state at a cycle's start."""
        while self._releases and self._releases[0][0] < cycle:
            self._entries[self._releases.popleft()[1]].count -= 1
