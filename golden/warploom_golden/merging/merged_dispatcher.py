"""Event model of the dispatcher for merged launches, with its SMs.

The model runs only the cycles in which something may happen. The latencies are those of the block
dispatcher (``docs/dispatch/block_dispatcher.md``). The rules of tags and marks are those of
``docs/merging/merged_kernels.md``. Launches run one after the other, like the launches of one
stream.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from warploom_golden.merging.deadlock import Deadlock, Waiter
from warploom_golden.merging.launch_waits import Due, LaunchWaits
from warploom_golden.merging.merged_work import MergedWork
from warploom_golden.merging.sm_books import SmBooks
from warploom_golden.merging.sm_stand_in import NEVER, SmStandIn
from warploom_spec import Config, WarploomError, timing

#: Who holds a block until its marks stand. ``spin``: its SM, as in patent CN102708009A. ``gate``:
#: the dispatcher.
MODES: Final = ("spin", "gate")
#: The most launches that the dispatcher holds.
PLACES: Final = 2


@dataclass
class _Resident:
    """A launch in a place, handed over in the cycle ``since``."""

    work: MergedWork
    waits: LaunchWaits
    since: int
    started: int = NEVER
    walking: bool = False
    out: int = 0
    next: int = 0
    retired: int = 0
    counted: int = 0
    returned: int = 0
    load: int = NEVER


class MergedDispatcher:
    """Places blocks in order of merged id, counts tags, sets marks.

    A cycle has five steps, in this order: the head is decided; reports are processed and slots
    returned; one tag is counted; SMs report; the end of a launch is loaded. A decision sees only
    the slots that were returned, and the tags that were counted, in earlier cycles.

    Parameters
    ----------
    config : Config
        Number of SMs, their resources, placement policy, reclaim rule.
    mode : str
        One of `MODES`.
    walk : int
        Cycles that a task's last block takes to read each other tag, one after the other, as in
        patent CN102708009A. 0: no block reads tags; they are counted beside the dispatcher.

    Attributes
    ----------
    spin_slot_cycles : int
        Sum over all blocks: cycles that a block held a slot while it waited for marks or tags.
    gate_cycles : int
        Cycles in which only a missing mark held the head: an SM had room for the block.

    Raises
    ------
    WarploomError
        If the mode is unknown.
    """

    def __init__(self, config: Config, mode: str, walk: int = 0):
        if mode not in MODES:
            raise WarploomError(f"mode is {mode!r}; legal: {', '.join(MODES)}")
        self._config = config
        self._timing = timing(config)
        self._spin = mode == "spin"
        self._in_order = config.reclaim == "in_order"
        self._walk = walk
        self._places: deque[_Resident] = deque()
        self._books = SmBooks(config)
        self._sms = SmStandIn(config.sms)
        # Reports on their way to the dispatcher: (cycle, SM, slot, merged id).
        self._reports: deque[tuple[int, int, int, int]] = deque()
        # Reports whose block is not counted as out any more, and has not returned its resources.
        self._returning: deque[tuple[int, int, int, int]] = deque()
        self._gated = False
        # The SM that got the last block, and the cycle: this SM gets no block in the next cycle.
        self._last_decision = (-1, -1)
        self._last_load = -PLACES
        self.spin_slot_cycles = 0
        self.gate_cycles = 0

    @property
    def places_free(self) -> int:
        """Places without a launch."""
        return PLACES - len(self._places)

    def accept(self, work: MergedWork, cycle: int) -> None:
        """Take a launch that is handed over in ``cycle``; call before `advance` runs that cycle."""
        waits = LaunchWaits(work, self._config.sms, self._spin, self._walk)
        first = work.start
        self._places.append(
            _Resident(work, waits, cycle, next=first, retired=first, counted=first, returned=first)
        )

    def advance(self, cycle: int, until: int) -> tuple[int, MergedWork | None]:
        """Run from one cycle to another, or until a launch's end is loaded.

        Parameters
        ----------
        cycle, until : int
            The first cycle to run, and the first one not to run.

        Returns
        -------
        tuple
            The next cycle in which something may happen, ``until`` at most. And the launch whose
            end was loaded in the cycle before, or None.

        Raises
        ------
        Deadlock
            If a launch has begun and is not finished, and no event can come any more. The error
            has the blocks that wait.
        """
        ended = None
        while cycle < until and ended is None:
            busy, ended = self._run_cycle(cycle)
            event = cycle + 1 if busy else max(self._next_event(), cycle + 1)
            if event >= NEVER and self._places:
                raise Deadlock(self._waiters())
            event = min(event, until)
            if self._gated:
                self.gate_cycles += event - cycle
            cycle = event
        return cycle, ended

    def _next_event(self) -> int:
        """Return the cycle of the next planned event: a report, a return or a launch's end."""
        event = self._sms.next
        if self._reports:
            event = min(event, self._reports[0][0] + self._timing.returns - 2)
        if self._returning:
            event = min(event, self._returning[0][0] + self._timing.returns - 1)
        if self._places:
            event = min(event, self._places[0].load)
            event = min(event, self._books.done_at(self._places[0].retired))
        return event

    def _run_cycle(self, cycle: int) -> tuple[bool, MergedWork | None]:
        """Run one cycle; return whether the next one must be run too, and the launch that ended."""
        resident = bool(self._places) and self._places[0].started < cycle - 1
        entrant = self._books.choice.entrant()
        busy = self._decide(cycle)
        self._books.choice.end_cycle(entrant, resident)
        busy |= self._process(cycle)
        busy |= self._count(cycle)
        self._send(cycle)
        ended = self._load(cycle)
        return busy or entrant is not None or ended is not None, ended

    # --- decisions -------------------------------------------------------------------------------
    def _decide(self, cycle: int) -> bool:
        """Place the head, or make the next launch's first block the head of the next cycle.

        Return whether the next cycle must be run too.
        """
        self._gated = False
        if not self._places:
            return False
        place = self._places[0]
        if not place.walking:
            return self._give(place, cycle)
        if place.next == len(place.work.tasks) or not self._books.rooms:
            return False
        if not self._spin and place.waits.unmarked(place.next):
            self._gated = True
            return False
        sm, decided = self._last_decision
        rooms = self._books.rooms & ~(1 << sm) if decided == cycle - 1 else self._books.rooms
        if rooms:
            self._place(place, cycle, rooms)
        return True

    def _give(self, place: _Resident, cycle: int) -> bool:
        # Stream order held this launch while the one before it had a place. The dispatcher sees
        # the free place one cycle late.
        if cycle >= max(place.since + self._timing.stage, self._last_load + 2):
            place.walking = True
            self._set_need(place)
        return True

    def _set_need(self, place: _Resident) -> None:
        """Tell the books what a launch's next block takes, if the launch has a next block."""
        work = place.work
        if place.next < len(work.tasks):
            self._books.set_need(work.amounts[work.tasks[place.next]])

    def _place(self, place: _Resident, cycle: int, rooms: int) -> None:
        """Place the head on one of the SMs in the mask ``rooms``."""
        work, merged_id = place.work, place.next
        sm, slot = self._books.take(rooms)
        self._last_decision = (sm, cycle)
        place.started = min(place.started, cycle)
        place.out += 1
        place.next += 1
        log, offered = work.log, cycle + self._timing.offer
        log.offered[merged_id], log.sm[merged_id], log.slot[merged_id] = offered, sm, slot
        self._hold(work, place.waits.placed(merged_id, cycle))
        self._set_need(place)

    def _hold(self, work: MergedWork, dues: Iterable[Due]) -> None:
        """Tell the SMs until which cycle to hold blocks."""
        log = work.log
        for merged_id, due in dues:
            self._sms.hold(log.sm[merged_id], log.slot[merged_id], merged_id, due)

    # --- reports, tags, marks --------------------------------------------------------------------
    def _send(self, cycle: int) -> None:
        for sm, slot, merged_id in self._sms.send(cycle):
            self._places[0].work.log.reported[merged_id] = cycle
            self._reports.append((cycle, sm, slot, merged_id))
            if self._in_order:
                self._books.done(merged_id, cycle + self._timing.returns - 2)

    def _process(self, cycle: int) -> bool:
        """Process reports; return whether the next cycle must be run too.

        A block that is reported in cycle t is out until the end of t + `returns` - 2. One cycle
        later its resources are returned, and its tag waits to be counted.
        """
        some = False
        while self._reports and self._reports[0][0] == cycle - (self._timing.returns - 2):
            self._returning.append(self._reports.popleft())
            if not self._in_order:
                self._leave(self._returning[-1][3])
            some = True
        while self._returning and self._returning[0][0] == cycle - (self._timing.returns - 1):
            _, sm, _, merged_id = self._returning.popleft()
            place = self._places[0]
            if place.work.tracked:
                place.waits.tracker.enter(sm, place.work.tasks[merged_id])
            if not self._in_order:
                self._give_back(merged_id)
            some = True
        reclaiming = self._in_order and self._reclaim(cycle)
        return some or reclaiming

    def _reclaim(self, cycle: int) -> bool:
        """Retire one block, and return the resources of blocks that were retired before.

        Both happen in order of decision. Return whether the next cycle must be run too.
        """
        if not self._places:
            return False
        place, books = self._places[0], self._books
        while place.counted < place.retired and books.returns_by(place.counted, cycle + 1):
            self._leave(place.counted)
            place.counted += 1
        pending = place.returned < place.retired
        while place.returned < place.retired and books.returns_by(place.returned, cycle):
            self._give_back(place.returned)
            place.returned += 1
        if place.retired < place.next and books.done_at(place.retired) <= cycle:
            books.retire(place.retired, cycle + self._timing.returns - 1)
            place.retired += 1
        return pending or place.returned < place.retired

    def _leave(self, merged_id: int) -> None:
        """Count a block as out no longer, and tell the placement policy of its free slot."""
        place = self._places[0]
        place.out -= 1
        self._books.choice.freed(place.work.log.sm[merged_id])

    def _give_back(self, merged_id: int) -> None:
        work = self._places[0].work
        amounts = work.amounts[work.tasks[merged_id]]
        self._books.give_back(work.log.sm[merged_id], work.log.slot[merged_id], amounts)

    def _count(self, cycle: int) -> bool:
        """Count one tag; return whether one waited."""
        if not self._places:
            return False
        place = self._places[0]
        waiting = place.waits.tracker.waiting
        self._hold(place.work, place.waits.count(cycle))
        self._note_end(place, cycle)
        return waiting

    # --- the end of a launch ---------------------------------------------------------------------
    def _note_end(self, place: _Resident, cycle: int) -> None:
        """Note that a launch is gone: all blocks returned, all tags counted."""
        over = place.walking and place.out == 0 and place.next == len(place.work.tasks)
        if over and place.waits.tracker.done and place.load == NEVER:
            place.load = cycle + self._timing.end

    def _load(self, cycle: int) -> MergedWork | None:
        if not self._places or self._places[0].load > cycle:
            return None
        self._last_load = cycle
        place = self._places.popleft()
        self.spin_slot_cycles += place.waits.slot_cycles
        return place.work

    def _waiters(self) -> list[Waiter]:
        """Return the blocks of the deadlocked launch that wait, with their causes."""
        place = self._places[0]
        work = place.work
        waiters = [
            Waiter(n, work.tasks[n], work.place(n), f"on SM {work.log.sm[n]}", place.waits.cause(n))
            for n in range(work.start, place.next)
            if work.log.reported[n] < 0
        ]
        if place.next < len(work.tasks):
            n = place.next
            cause = place.waits.cause(n) if self._gated else "room on an SM"
            waiters.append(Waiter(n, work.tasks[n], work.place(n), "at the dispatcher", cause))
        return waiters
