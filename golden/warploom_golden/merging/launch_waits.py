"""Who waits for which marks and tags, of one launch."""

from collections.abc import Iterator

from warploom_golden.merging.dependency_tracker import DependencyTracker
from warploom_golden.merging.merged_work import MergedWork
from warploom_golden.merging.sm_stand_in import NEVER

#: A block, by merged id, and the first cycle in which its SM may report it.
Due = tuple[int, int]


class LaunchWaits:
    """Marks and tags of one launch, and the blocks that wait for them on their SM.

    Parameters
    ----------
    work : MergedWork
        The launch; ``started`` and ``due`` of its log are written here.
    sms : int
        SMs.
    spin : bool
        Whether blocks wait on their SM; else the dispatcher holds them.
    walk : int
        Cycles that the last block of a task takes for each other tag, as in the source; 0: none.

    Attributes
    ----------
    tracker : DependencyTracker
        Counts tags, sets marks.
    slot_cycles : int
        Cycles that blocks held a slot while they waited for marks or tags.
    """

    def __init__(self, work: MergedWork, sms: int, spin: bool, walk: int):
        self._work = work
        self._spin = spin
        self._walk = walk
        counts = list(work.counts)
        for task in work.tasks[: work.start]:
            counts[task] -= 1
        # A launch that goes on where it was drained has the marks of the tasks that it left behind.
        marked = [task for task, count in enumerate(counts) if not count] if work.start else []
        self.tracker = DependencyTracker(counts, sms, marked)
        if not work.tracked:
            self.tracker = DependencyTracker((), sms)
        # Of each task: other tags than its last block's that were not counted; from which cycle on
        # all of them are set; when its last block's work is done.
        self._others = [count - 1 for count in counts]
        self._tagged = [NEVER] * len(counts)
        self._work_done = [NEVER] * len(counts)
        self._spinning: list[int] = []
        self.slot_cycles = 0

    def unmarked(self, merged_id: int) -> int:
        """Return the mask of the tasks whose mark a block waits for."""
        work = self._work
        return work.needs[work.tasks[merged_id]] & ~self.tracker.marks

    def placed(self, merged_id: int, cycle: int) -> Iterator[Due]:
        """Note that a block was decided in a cycle; its offer is logged. Yield what is due."""
        work = self._work
        task = work.tasks[merged_id]
        if merged_id == work.last[task] and not self._others[task]:
            self._tagged[task] = cycle + 1
        if self.unmarked(merged_id):
            self._spinning.append(merged_id)
        else:
            yield from self._start(merged_id, work.log.offered[merged_id])

    def count(self, cycle: int) -> Iterator[Due]:
        """Count one tag at the end of a cycle, if one waits. Yield what is due."""
        task = self.tracker.count()
        if task is None or not self._spin:
            return
        work = self._work
        self._others[task] -= 1
        if not self._others[task] and work.log.offered[work.last[task]] >= 0:
            self._tagged[task] = cycle + 1
            yield from self._finish_last(task)
        if self.tracker.marks >> task & 1:
            yield from self._wake(cycle + 1)

    def _wake(self, cycle: int) -> Iterator[Due]:
        """Start the blocks that waited for a mark that stands from a cycle on."""
        waiting, self._spinning = self._spinning, []
        for merged_id in waiting:
            if self.unmarked(merged_id):
                self._spinning.append(merged_id)
            else:
                yield from self._start(merged_id, max(cycle, self._work.log.offered[merged_id]))

    def _start(self, merged_id: int, cycle: int) -> Iterator[Due]:
        """Let a block's work begin in a cycle."""
        work = self._work
        task, log = work.tasks[merged_id], work.log
        log.started[merged_id] = cycle
        self.slot_cycles += cycle - log.offered[merged_id]
        done = cycle + work.lengths[merged_id]
        if self._spin and work.tracked and merged_id == work.last[task]:
            self._work_done[task] = done
            yield from self._finish_last(task)
        else:
            log.due[merged_id] = done
            yield merged_id, done

    def _finish_last(self, task: int) -> Iterator[Due]:
        """Let a task's last block be reported once its work is done and all other tags are set."""
        tagged, done = self._tagged[task], self._work_done[task]
        if tagged == NEVER or done == NEVER:
            return
        due = max(tagged, done)
        if self._walk:
            due = max(due, self._walked(task, done))
        self.slot_cycles += due - done
        merged_id = self._work.last[task]
        self._work.log.due[merged_id] = due
        yield merged_id, due

    def _walked(self, task: int, cycle: int) -> int:
        """Return when the last block has read the other tags, in order of block id, one by one."""
        work = self._work
        own = work.last[task]
        others = [n for n, other in enumerate(work.tasks) if other == task and n != own]
        for n in sorted(others, key=work.blocks.__getitem__):
            cycle = max(cycle, work.log.reported[n]) + self._walk
        return cycle

    def cause(self, merged_id: int) -> str:
        """Return what a block waits for, in words."""
        needs = self.unmarked(merged_id)
        if needs:
            tasks = [str(task) for task in range(needs.bit_length()) if needs >> task & 1]
            return f"the mark of task {', '.join(tasks)}"
        return f"{self._others[self._work.tasks[merged_id]]} tags of its own task"
