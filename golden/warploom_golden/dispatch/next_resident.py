"""Who is next, and who is active, in BlockDispatcher's cycle model."""

from typing import NamedTuple

from warploom_golden.dispatch.bits import numbers
from warploom_golden.dispatch.resident_launch import ResidentLaunch
from warploom_golden.dispatch.streams import Streams

#: A change is wanted again when no change was made in this cycle and so many before (11).
_CHANGE_GAP = 3


class Decision(NamedTuple):
    """What a cycle's state says.

    Attributes
    ----------
    made : ResidentLaunch or None
        Of a cycle in which a change is made: the launch that becomes active (12).
    wanted : ResidentLaunch or None
        Of a cycle in which a change is wanted: the launch that would become active (11).
    leaves : bool
        Whether none is active in the next cycle (13).
    goes : bool
        Whether a block may be picked, but for the scan's turn (14).
    """

    made: ResidentLaunch | None
    wanted: ResidentLaunch | None
    leaves: bool
    goes: bool


class NextResident:
    """Rules 7 to 14.

    Attributes
    ----------
    active : ResidentLaunch or None
        Whose blocks are picked.
    yields : int
        Streams that were other in the cycle before.
    """

    def __init__(self) -> None:
        self.active: ResidentLaunch | None = None
        self.yields = 0
        # Top of one cycle before and of two; eligible streams; next, and whether it comes first.
        self._top = self._top_before = self._eligible = 0
        self._next: ResidentLaunch | None = None
        self._comes_first = False
        # Of the cycle before: what a change was wanted to; whether the launch that is active now
        # was active and open, and a candidate.
        self._wanted: ResidentLaunch | None = None
        self._was_open = self._was_candidate = False
        # Last cycle in which a change was made: long ago.
        self._changed = -1 - _CHANGE_GAP

    @property
    def settled(self) -> bool:
        """Whether nothing changes without a candidate."""
        waiting = self.active or self._next or self._wanted
        return not (waiting or self.yields or self._eligible or self._top or self._top_before)

    def decide(self, cycle: int, spent: bool) -> Decision:
        """Judge a cycle's state; ``spent``: the last block was picked in the cycle before."""
        active = self.active
        stays = active is not None and active.waits and active.picked
        placing = active is not None and self._was_open and (self._was_candidate or stays)
        keeps = placing and not spent
        made = None if stays and keeps else self._wanted
        wanted = None
        due = self._changed < cycle - _CHANGE_GAP and made is None and self._wanted is None
        if due and (not keeps or (self._comes_first and not stays)):
            wanted = self._next
        unchanged = made is None and self._changed != cycle - 1
        leaves = active is not None and unchanged and not keeps
        return Decision(made, wanted, leaves, unchanged and keeps)

    def tick(
        self, cycle: int, decision: Decision, streams: Streams, start: ResidentLaunch | None
    ) -> None:
        """Set what the next cycle's state is."""
        active, candidates = self.active, streams.candidates
        own = 0 if active is None else 1 << active.stream
        self._find_next(streams)
        self._rank(candidates & ~own, streams, start)
        self._was_open = decision.made is None and bool(streams.open & own)
        self._was_candidate = bool(candidates & own)
        self._wanted = decision.wanted
        if decision.made is not None:
            self.active, self._changed = decision.made, cycle
        elif decision.leaves:
            self.active = None

    def _rank(self, others: int, streams: Streams, start: ResidentLaunch | None) -> None:
        """Find who is eligible, and top, of those that are other and of a start (7, 8)."""
        other = numbers(others)
        self._eligible = sum(1 << n for n in other if streams.launch(n).priority == self._top)
        priorities = [streams.launch(n).priority for n in other]
        if start is not None:
            priorities.append(start.priority)
        self._top_before, self._top = self._top, max(priorities, default=0)
        self.yields = others

    def _find_next(self, streams: Streams) -> None:
        """Let the eligible stream that started first be next (8, 9)."""
        if not self._eligible:
            self._next, self._comes_first = None, False
            return
        eligible = [streams.launch(n) for n in numbers(self._eligible)]
        self._next = min(eligible, key=lambda launch: launch.order)
        active = self.active
        if active is None:
            self._comes_first = False
            return
        same = self._top_before == active.priority and self._next.order < active.order
        self._comes_first = self._top_before > active.priority or same
