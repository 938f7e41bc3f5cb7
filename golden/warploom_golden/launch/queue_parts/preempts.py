"""The PREEMPT that is pending, and its record (27 to 29)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from warploom_spec.errors import Fate

#: Cycles from a PREEMPT to the first visit that counts.
SETTLED = 10
#: The last cycle in which a PREEMPT is pending, after its event's last step.
PENDING_AFTER = 8


@dataclass(slots=True)
class Counts:
    """What a PREEMPT's record says: when it came, and what became of the residents it watched."""

    clock: int = 0
    finished: int = 0
    killed: int = 0
    drained: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class EndSeen:
    """An END in its last step."""

    stream: int
    fate: int
    final: bool


class Seen(NamedTuple):
    """What a PREEMPT sees of a cycle.

    Attributes
    ----------
    cycle, turn : int
        The cycle, and the stream that is visited in it (19).
    resident, hold, killable : int
        State, a bit a stream.
    inputs : mapping
        ``begun``, ``busy`` and ``open``.
    resumed : int
        Streams of a RESUME that is accepted.
    """

    cycle: int
    turn: int
    resident: int
    hold: int
    killable: int
    inputs: Mapping[str, int]
    resumed: int

    def quiet(self) -> bool:
        """Return whether the visited stream is quiet, if it is watched (28)."""
        bit = 1 << self.turn
        inputs = self.inputs
        stands = self.hold & inputs["open"] & ~inputs["busy"] & bit
        return bool(stands) and not (inputs["begun"] & self.killable & bit)


class Preempts:
    """The one PREEMPT that may be pending.

    Attributes
    ----------
    due : bool
        Whether its event is wanted.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.due = False
        self._since: int | None = None
        self._pending_to: int | None = None
        self._mask = self._watched = 0
        self._counts = Counts()
        self._picked = False

    @property
    def pending(self) -> bool:
        """Whether one is pending."""
        return self._since is not None

    def accept(self, cycle: int, mask: int, clock: int) -> None:
        """Accept one in this cycle, which `step` has ended."""
        self._clear()
        self._since, self._mask = cycle, mask
        self._counts = Counts(clock)

    def pick(self) -> None:
        """Its event is picked in this cycle."""
        self._picked = True

    def record(self, last: int) -> Counts:
        """Return what its record says; its event has its last step."""
        self._pending_to = last + PENDING_AFTER
        return self._counts

    def step(self, seen: Seen, end: EndSeen | None) -> None:
        """End a cycle; ``end`` is the END whose last step it is."""
        if self._since is None:
            return
        if seen.cycle == self._pending_to:
            self._since = None
            return
        settled = seen.cycle >= self._since + SETTLED
        self.due = settled and not self._watched and not self._picked
        if seen.cycle == self._since + 1:
            self._meet(seen, end)
        else:
            self._part(seen, end, settled=settled)

    def _meet(self, seen: Seen, end: EndSeen | None) -> None:
        self._watched = self._mask & seen.resident & ~seen.resumed
        if end is not None:
            self._watched &= ~(1 << end.stream)

    def _part(self, seen: Seen, end: EndSeen | None, *, settled: bool) -> None:
        self._watched &= ~seen.resumed
        if end is not None and self._watched >> end.stream & 1:
            self._watched &= ~(1 << end.stream)
            if end.fate == Fate.FINISHED:
                self._counts.finished += 1
            elif not end.final:
                self._counts.killed += 1
        if settled and self._watched >> seen.turn & 1 and seen.quiet():
            self._watched &= ~(1 << seen.turn)
            begun = seen.inputs["begun"] >> seen.turn & 1
            self._counts.drained += begun
            self._counts.skipped += not begun
