"""The blocks of one launch that wait for marks and tags."""

from collections.abc import Iterator

from warploom_golden.merging.dependency_tracker import DependencyTracker
from warploom_golden.merging.merged_machine import DUE, OFFERED, REPORTED, STARTED
from warploom_golden.merging.merged_work import MergedWork
from warploom_golden.replay.event_constants import NEVER

#: A block's merged id, and the first cycle in which its SM may report the block.
Due = tuple[int, int]


class LaunchWaits:
    """Marks and tags of one launch, and the blocks that wait for them on their SM.

    Parameters
    ----------
    work : MergedWork
        The launch. Under ``spin`` this class writes ``started`` and ``due`` of its log.
    sms : int
        Number of SMs.
    spin : bool
        True: blocks wait on their SM. False: the dispatcher holds them.
    walk : int
        Cycles that a task's last block takes to read each other tag, as in patent CN102708009A.
        0: the block reads none.

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
        # A launch that goes on after a drain has the marks of the tasks that were finished before.
        marked = [task for task, count in enumerate(counts) if not count] if work.start else []
        self.tracker = DependencyTracker(counts, sms, marked)
        if not work.tracked:
            self.tracker = DependencyTracker((), sms)
        # For each task, of the tags other than its last block's: how many are not counted yet, and
        # the cycle from which all of them are set. Then the cycle in which the last block's work
        # is done.
        self._others = [count - 1 for count in counts]
        self._tagged = [NEVER] * len(counts)
        self._work_done = [NEVER] * len(counts)
        self._spinning: list[int] = []
        self.slot_cycles = 0

    def unmarked(self, merged_id: int) -> int:
        """Return the mask of the tasks whose marks a block needs and that do not stand yet."""
        work = self._work
        return work.needs[work.tasks[merged_id]] & ~self.tracker.marks

    def placed(self, merged_id: int, cycle: int) -> Iterator[Due]:
        """Note that a block was decided in a cycle. Yield the blocks whose due cycle is now known.

        The block's offer must be in the log.
        """
        work = self._work
        task = work.tasks[merged_id]
        if merged_id == work.last[task] and not self._others[task]:
            self._tagged[task] = cycle + 1
        if self.unmarked(merged_id):
            self._spinning.append(merged_id)
        else:
            yield from self._start(merged_id, int(work.rows[OFFERED, merged_id]))

    def count(self, cycle: int) -> Iterator[Due]:
        """Count one tag at the end of a cycle, if one waits.

        Yield the blocks whose due cycle is now known.
        """
        task = self.tracker.count()
        if task is None or not self._spin:
            return
        work = self._work
        self._others[task] -= 1
        if not self._others[task] and work.rows[OFFERED, work.last[task]] >= 0:
            self._tagged[task] = cycle + 1
            yield from self._finish_last(task)
        if self.tracker.marks >> task & 1:
            yield from self._wake(cycle + 1)

    def _wake(self, cycle: int) -> Iterator[Due]:
        """Start the waiting blocks whose marks all stand from a cycle on."""
        waiting, self._spinning = self._spinning, []
        for merged_id in waiting:
            if self.unmarked(merged_id):
                self._spinning.append(merged_id)
            else:
                offered = int(self._work.rows[OFFERED, merged_id])
                yield from self._start(merged_id, max(cycle, offered))

    def _start(self, merged_id: int, cycle: int) -> Iterator[Due]:
        """Let a block's work begin in a cycle."""
        work = self._work
        task = work.tasks[merged_id]
        work.rows[STARTED, merged_id] = cycle
        self.slot_cycles += cycle - int(work.rows[OFFERED, merged_id])
        done = cycle + work.lengths[merged_id]
        if self._spin and work.tracked and merged_id == work.last[task]:
            self._work_done[task] = done
            yield from self._finish_last(task)
        else:
            work.rows[DUE, merged_id] = done
            yield merged_id, done

    def _finish_last(self, task: int) -> Iterator[Due]:
        """Yield a task's last block once its work is done and all other tags are set."""
        tagged, done = self._tagged[task], self._work_done[task]
        if tagged == NEVER or done == NEVER:
            return
        due = max(tagged, done)
        if self._walk:
            due = max(due, self._last_tag_read(task, done))
        self.slot_cycles += due - done
        merged_id = self._work.last[task]
        self._work.rows[DUE, merged_id] = due
        yield merged_id, due

    def _last_tag_read(self, task: int, cycle: int) -> int:
        """Return the cycle in which a task's last block has read all other tags.

        The block reads one tag after the other, in order of block id, from a cycle on.
        """
        work = self._work
        own = work.last[task]
        others = [n for n, other in enumerate(work.tasks) if other == task and n != own]
        for n in sorted(others, key=work.blocks.__getitem__):
            cycle = max(cycle, int(work.rows[REPORTED, n])) + self._walk
        return cycle

    def cause(self, merged_id: int) -> str:
        """Return what a block waits for, in words."""
        needs = self.unmarked(merged_id)
        if needs:
            tasks = [str(task) for task in range(needs.bit_length()) if needs >> task & 1]
            return f"the mark of task {', '.join(tasks)}"
        return f"{self._others[self._work.tasks[merged_id]]} tags of its own task"
