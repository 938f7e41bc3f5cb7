"""Event model of the dispatcher for merged launches, with its SMs.

Placement, resources and SMs are those of the replay's event model (``merged_machine``). Tags and
marks follow ``docs/merging/merged_kernels.md``. All launches are in stream 0, so they run one after
the other.
"""

from collections import deque
from collections.abc import Callable, Iterable
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
from warploom_golden.replay.residents.dispatcher import ResidentMachine
from warploom_spec import RESOURCES, Config, LaunchDescriptor, WarploomError, timing

#: Who holds a block until its marks stand. ``spin``: its SM, as in patent CN102708009A. ``gate``:
#: the dispatcher.
MODES: Final = ("spin", "gate")
#: The stream of all launches.
STREAM: Final = 0


class MergedDispatcher(ResidentMachine):
    """Places blocks in order of merged id, counts tags, sets marks.

    A pick of a cycle sees only the marks that stand in it. A tag is counted at the end of a cycle;
    a launch is held, as by a block that is out, until all its tags are counted.

    Parameters
    ----------
    config : Config
        Number of SMs, their resources, placement policy, reclaim rule.
    work_of : callable
        Returns the blocks of a launch that starts.
    mode : str
        One of `MODES`.
    walk : int
        Cycles that a task's last block takes to read each other tag, one after the other, as in
        patent CN102708009A. 0: no block reads tags; they are counted beside the dispatcher.
    note_end : callable
        Called with the blocks of a launch that is over and leaves the dispatcher.

    Attributes
    ----------
    spin_slot_cycles : int
        Sum over all blocks: cycles that a block held a slot while it waited for marks or tags.
    gate_cycles : int
        Cycles in which only a missing mark held the next block: an SM had room for it.

    Raises
    ------
    WarploomError
        If the mode is unknown, or the placement policy is not predicted.
    """

    def __init__(
        self,
        config: Config,
        work_of: Callable[[LaunchDescriptor], MergedWork],
        mode: str,
        walk: int = 0,
        note_end: Callable[[MergedWork], None] = lambda work: None,
    ):
        if mode not in MODES:
            raise WarploomError(f"mode is {mode!r}; legal: {', '.join(MODES)}")
        # Each block's length is its work's: the seed is not used.
        super().__init__(config, seed=0)
        self._returns = timing(config).resident_returns
        self._work_of, self._note_end = work_of, note_end
        self._spin = mode == "spin"
        self._walk = walk
        # Logs of one cycle.
        self._offers = np.zeros((5, 1), np.int64)
        self._reports = np.zeros((4, config.sms), np.int64)
        # The launch that is here.
        self._work: MergedWork | None = None
        self._waits: LaunchWaits | None = None
        self._launch = _no_launch(config)
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
        self.spin_slot_cycles = 0
        self.gate_cycles = 0

    def start(self, cycle: int, row: int, launch: LaunchDescriptor, ticket: int) -> None:
        """Let a launch transfer at ``start`` in a cycle."""
        assert row == STREAM and self._work is None, "merged launches run one after the other"
        super().start(cycle, row, launch, ticket)
        work = self._work_of(launch)
        waits = LaunchWaits(work, self._config.sms, self._spin, self._walk)
        self._work, self._waits, self._launch = work, waits, _launch(work, self._config)
        self._read = 0
        self._nearly_done.clear()
        each = self._state.rows[row]
        each.next, each.end = work.start, len(work.tasks)
        each.need[:] = work.amounts[work.tasks[work.start]]
        each.out = int(not waits.tracker.done)
        self._open()

    def take_end(self) -> None:
        """Let what is at `ended` transfer in the next cycle to run."""
        super().take_end()
        assert self._work is not None and self._waits is not None
        self.spin_slot_cycles += self._waits.slot_cycles
        work, self._work = self._work, None
        self._note_end(work)

    def advance(self, cycle: int, until: int) -> int:
        """Run from one cycle to another, or until the caller must know what happened.

        Raises
        ------
        Deadlock
            If a launch is here that is not over, and no event can come any more. The error has the
            blocks that wait.
        """
        tracked = self._work is not None and self._work.tracked
        told = False
        while cycle < until and not told:
            ran = advance(
                self._states,
                self._launch,
                np.array(self._holds, np.int64).reshape(-1, 3),
                int(self._spin) if tracked else NONE,
                tracked and self._spin,
                self._offers,
                self._reports,
                self._read,
                cycle,
                min(until, self._next_change() + 1),
                SOURCES,
            )
            cycle, told = ran.cycle, ran.told
            self._holds.clear()
            self.gate_cycles += ran.gated
            if tracked:
                self._follow(ran)
            if cycle >= NEVER and self._is_alive():
                raise Deadlock(self._waiters(ran))
        return cycle

    def _is_alive(self) -> bool:
        """Tell whether a launch is here that is not over."""
        row = self._state.rows[STREAM]
        return self._work is not None and bool(row.open or row.busy)

    # --- tags and marks --------------------------------------------------------------------------
    def _open(self) -> None:
        """Open the tasks whose blocks may be placed."""
        assert self._work is not None and self._waits is not None
        marks = self._waits.tracker.marks
        self._launch.open[:] = [not needs & ~marks for needs in self._work.needs]
        self._nearly_done = {task for task in self._nearly_done if not marks >> task & 1}

    def _next_count(self) -> int:
        """Return the next cycle in which a tag is counted."""
        if self._waits is not None and self._waits.tracker.waiting:
            return self._count_at
        return self._tags[0][0] if self._tags else NEVER

    def _next_change(self) -> int:
        """Return the next cycle in which the count of a tag may change more than the count."""
        return self._next_count() if self._nearly_done else NEVER

    def _follow(self, ran: Ran) -> None:
        """Follow the blocks so far, and count tags.

        The tag of a block that is reported in cycle t waits to be counted from t +
        `resident_returns` - 1 on.
        """
        assert self._waits is not None
        waits = self._waits
        marks = waits.tracker.marks
        self._note_reports(ran)
        self._count(ran.cycle - 1)
        if ran.waits:
            self._hold(waits.placed(ran.placed - 1, ran.cycle - 1))
        self._count(ran.cycle)
        if waits.tracker.marks == marks:
            return
        self._open()
        if waits.tracker.done:
            self._let_end(ran.cycle - 1)

    def _note_reports(self, ran: Ran) -> None:
        """Let the tags of blocks wait that were reported since the last time."""
        assert self._work is not None
        launch = self._launch
        for cycle, sm, merged_id in launch.reported[:, self._read : ran.reports].T.tolist():
            task = self._work.tasks[merged_id]
            self._tags.append((cycle + self._returns - 1, sm, task))
            if launch.left[task] <= int(self._spin):
                self._nearly_done.add(task)
        self._read = ran.reports

    def _count(self, until: int) -> None:
        """Count one tag in each cycle before ``until`` in which one waits."""
        assert self._waits is not None
        waits = self._waits
        while (cycle := self._next_count()) < until:
            while self._tags and self._tags[0][0] == cycle:
                _, sm, task = self._tags.popleft()
                waits.tracker.enter(sm, task)
            self._hold(waits.count(cycle))
            self._count_at = cycle + 1

    def _hold(self, dues: Iterable[Due]) -> None:
        """Tell the SMs until which cycle to hold blocks."""
        assert self._work is not None
        for merged_id, due in dues:
            sm, slot = (int(self._work.rows[row, merged_id]) for row in (ON_SM, IN_SLOT))
            self._holds.append((sm, slot, due))

    def _let_end(self, cycle: int) -> None:
        """Hold a launch no longer whose last tag was counted in a cycle, as its last return does.

        Its blocks' reports were at the books before.
        """
        row = self._state.rows[STREAM]
        row.out -= 1
        if row.out == 0:
            row.busy = False
            self._state.busy_rows -= 1
            self._state.emptied = STREAM
        self._settle(cycle)

    def _waiters(self, ran: Ran) -> list[Waiter]:
        """Return the blocks of the deadlocked launch that wait, with their causes."""
        assert self._work is not None and self._waits is not None
        work, waits, log = self._work, self._waits, self._work.rows
        placed = ran.placed
        waiters = [
            Waiter(n, work.tasks[n], work.place(n), f"on SM {log[ON_SM, n]}", waits.cause(n))
            for n in range(work.start, placed)
            if log[REPORTED, n] < 0
        ]
        if placed < len(work.tasks):
            gated = self._state.shut and self._state.rooms > 0
            cause = waits.cause(placed) if gated else "room on an SM"
            task, place = work.tasks[placed], work.place(placed)
            waiters.append(Waiter(placed, task, place, "at the dispatcher", cause))
        return waiters


def _no_launch(config: Config) -> Launch:
    """Return the arrays before the first launch."""
    none = np.zeros(0, np.int64)
    return Launch(
        tasks=none,
        lengths=none,
        amounts=np.zeros((0, len(RESOURCES)), np.int64),
        open=none,
        last=none,
        left=none,
        log=np.zeros((0, 0), np.int64),
        reported=np.zeros((0, 0), np.int64),
        holder=np.zeros((config.sms, config.block_slots), np.int64),
    )


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
        reported=np.zeros((MERGED_ID + 1, len(work.tasks)), np.int64),
        holder=np.zeros((config.sms, config.block_slots), np.int64),
    )
