"""Event model of the dispatcher for merged launches, with its SMs.

Placement, resources and SMs are those of the replay's event model (``merged_machine``). Tags and
marks follow ``docs/merging/merged_kernels.md``. Launches run one after the other, like the launches
of one stream.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from warploom_golden.merging.deadlock import Deadlock, Waiter
from warploom_golden.merging.launch_waits import Due, LaunchWaits
from warploom_golden.merging.merged_machine import (
    IN_SLOT,
    MERGED_ID,
    ON_SM,
    REPORTED,
    SOURCES,
    Launch,
    Ran,
    advance,
)
from warploom_golden.merging.merged_work import MergedWork
from warploom_golden.replay.event_constants import NEVER, NONE
from warploom_golden.replay.event_dispatcher import SmBehaviour, clear, initial_state
from warploom_golden.replay.event_state import State
from warploom_golden.replay.machine import Machine
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
    launch: Launch


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
        If the mode is unknown, or the placement policy is not predicted.
    """

    def __init__(self, config: Config, mode: str, walk: int = 0):
        if mode not in MODES:
            raise WarploomError(f"mode is {mode!r}; legal: {', '.join(MODES)}")
        self._config = config
        self._timing = timing(config)
        self._spin = mode == "spin"
        self._walk = walk
        self._places: deque[_Resident] = deque()
        self._state: State = initial_state(config, Machine.of(config), SmBehaviour())[0]
        # Of the launch that is in the dispatcher, or was the last one there.
        self._launch: Launch | None = None
        self._reports = np.zeros((MERGED_ID + 1, 0), np.int64)
        # Reports of this launch whose tags are counted, or on their way.
        self._read = 0
        # Tags on their way to be counted: (cycle, SM, task). Then the cycle in which the next tag
        # is counted that waits.
        self._tags: deque[tuple[int, int, int]] = deque()
        self._count_at = 0
        # Tasks without their mark of which all blocks were reported, under spin all but one.
        self._nearly_done: set[int] = set()
        # Blocks whose due cycle became known: (SM, slot, due cycle).
        self._holds: list[tuple[int, int, int]] = []
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
        self._places.append(_Resident(work, waits, cycle, _launch(work, self._config)))
        if len(self._places) == 1:
            self._begin()

    def _begin(self) -> None:
        """Let the oldest launch be walked next."""
        resident = self._places[0]
        state, place = self._state, self._state.places[0]
        clear(place)
        state.ages[0], state.residents, state.reports = 0, 1, 0
        place.occupied = True
        # Stream order held this launch while the one before it had a place. The dispatcher sees
        # the free place one cycle late. The first block can be decided `change` cycles after the
        # launch was given to the walker, which is one cycle after ``since``.
        given = max(resident.since + self._timing.stage, self._last_load + 2)
        place.since = given + self._timing.change - 1
        place.next = resident.work.start
        blocks = len(resident.work.tasks)
        # A launch with tags is not over before all of them are counted.
        place.end = blocks if resident.waits.tracker.done else blocks + 1
        self._launch = resident.launch
        self._reports = np.zeros((MERGED_ID + 1, blocks), np.int64)
        self._read = 0
        self._nearly_done.clear()
        self._open(resident)

    def _open(self, resident: _Resident) -> None:
        """Open the tasks whose blocks may be placed."""
        marks = resident.waits.tracker.marks
        resident.launch.open[:] = [not needs & ~marks for needs in resident.work.needs]
        self._nearly_done = {task for task in self._nearly_done if not marks >> task & 1}

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
        if self._launch is None:
            return until, None
        while cycle < until:
            resident = self._places[0] if self._places else None
            tracked = resident is not None and resident.work.tracked
            ran = advance(
                self._state,
                self._launch,
                np.array(self._holds, np.int64).reshape(-1, 3),
                int(self._spin) if tracked else NONE,
                tracked and self._spin,
                self._reports,
                cycle,
                min(until, self._next_change() + 1),
                SOURCES,
            )
            cycle = ran.cycle
            self._holds.clear()
            self.gate_cycles += ran.gated
            if resident is None:
                continue
            if ran.ended:
                return cycle, self._load(cycle - 1)
            changed = tracked and self._follow(resident, ran)
            event = min(ran.event, self._next_change())
            if event >= NEVER and not changed:
                raise Deadlock(self._waiters(ran))
        return cycle, None

    # --- tags and marks --------------------------------------------------------------------------
    def _next_count(self) -> int:
        """Return the next cycle in which a tag is counted."""
        if self._places and self._places[0].waits.tracker.waiting:
            return self._count_at
        return self._tags[0][0] if self._tags else NEVER

    def _next_change(self) -> int:
        """Return the next cycle in which the count of a tag may change more than the count."""
        return self._next_count() if self._nearly_done else NEVER

    def _follow(self, resident: _Resident, ran: Ran) -> bool:
        """Follow the blocks so far, and count tags; return whether that changed what may come.

        The tag of a block that is reported in cycle t waits to be counted from t + `returns` - 1
        on.
        """
        waits, work = resident.waits, resident.work
        marks = waits.tracker.marks
        self._note_reports(resident, ran)
        self._count(resident, ran.cycle - 1)
        if ran.waits:
            self._hold(work, waits.placed(ran.placed - 1, ran.cycle - 1))
        self._count(resident, ran.cycle)
        if waits.tracker.marks == marks:
            return len(self._holds) > 0
        self._open(resident)
        if waits.tracker.done:
            self._note_end(work, ran.cycle - 1)
        return True

    def _note_reports(self, resident: _Resident, ran: Ran) -> None:
        """Let the tags of blocks wait that were reported since the last time."""
        launch = resident.launch
        for cycle, sm, _, merged_id in self._reports[:, self._read : ran.reports].T.tolist():
            task = resident.work.tasks[merged_id]
            self._tags.append((cycle + self._timing.returns - 1, sm, task))
            if launch.left[task] <= int(self._spin):
                self._nearly_done.add(task)
        self._read = ran.reports

    def _count(self, resident: _Resident, until: int) -> None:
        """Count one tag in each cycle before ``until`` in which one waits."""
        waits = resident.waits
        while (cycle := self._next_count()) < until:
            while self._tags and self._tags[0][0] == cycle:
                _, sm, task = self._tags.popleft()
                waits.tracker.enter(sm, task)
            self._hold(resident.work, waits.count(cycle))
            self._count_at = cycle + 1

    def _hold(self, work: MergedWork, dues: Iterable[Due]) -> None:
        """Tell the SMs until which cycle to hold blocks."""
        for merged_id, due in dues:
            sm, slot = work.rows[ON_SM, merged_id], work.rows[IN_SLOT, merged_id]
            self._holds.append((sm, slot, due))

    # --- the end of a launch ---------------------------------------------------------------------
    def _note_end(self, work: MergedWork, cycle: int) -> None:
        """Let a launch end whose tags are all counted: now, or when its last block is out."""
        place = self._state.places[0]
        place.end = len(work.tasks)
        if place.out == 0:
            place.load = self._state.load_at = cycle + self._timing.end

    def _load(self, cycle: int) -> MergedWork:
        self._last_load = cycle
        resident = self._places.popleft()
        self.spin_slot_cycles += resident.waits.slot_cycles
        if self._places:
            self._begin()
        return resident.work

    def _waiters(self, ran: Ran) -> list[Waiter]:
        """Return the blocks of the deadlocked launch that wait, with their causes."""
        resident = self._places[0]
        work, waits, log = resident.work, resident.waits, resident.work.rows
        placed = ran.placed
        waiters = [
            Waiter(n, work.tasks[n], work.place(n), f"on SM {log[ON_SM, n]}", waits.cause(n))
            for n in range(work.start, placed)
            if log[REPORTED, n] < 0
        ]
        if placed < len(work.tasks):
            cause = waits.cause(placed) if ran.gated else "room on an SM"
            task, place = work.tasks[placed], work.place(placed)
            waiters.append(Waiter(placed, task, place, "at the dispatcher", cause))
        return waiters


def _launch(work: MergedWork, config: Config) -> Launch:
    """Return the arrays of a launch."""
    return Launch(
        tasks=np.array(work.tasks, np.int64),
        lengths=np.array(work.lengths, np.int64),
        amounts=np.array(work.amounts, np.int64),
        open=np.zeros(len(work.needs), np.int64),
        last=np.array(work.last, np.int64),
        left=np.bincount(work.tasks[work.start :], minlength=len(work.needs)),
        log=work.rows,
        holder=np.zeros((config.sms, config.block_slots), np.int64),
    )
