"""The uncorrected rules of patent CN115408135A: for each one a kernel queue that keeps it.

The page's section 'What was wrong, and how it is corrected' explains each fault.
"""

from warploom_golden.preemption.kernel_queue import KernelQueue
from warploom_golden.preemption.launch import Launch
from warploom_golden.replay.event_dispatcher import End
from warploom_spec import Fate
from warploom_spec.queue import FinalFate, Mode


class FlagCheckBlock(KernelQueue):
    """Every block tests the flag when it starts: a started kernel loses its later blocks."""

    def _effective_mode(self, launch: Launch) -> Mode:
        return Mode.DRAIN

    def _suspend(self, cycle: int, launch: Launch, end: End) -> None:
        if end.fate is Fate.DRAINED:
            # The host takes the kernel for killed, and submits it again from block 0.
            self._put_back(cycle, launch, Fate.KILLED, 0, end)
        else:
            super()._suspend(cycle, launch, end)


class AllSubmitted(KernelQueue):
    """A launch is stopped only if every unfinished launch of its queue is idempotent."""

    def _effective_mode(self, launch: Launch) -> Mode:
        queue = self.unfinished(launch.descriptor.priority)
        if all(each.descriptor.idempotent for each in queue):
            return super()._effective_mode(launch)
        return Mode.WAIT


class OneFlag(KernelQueue):
    """One flag for all queues: the urgent kernel sees the flag, too, and exits."""

    _flag = False

    def _flags(self) -> list[bool]:
        flags = super()._flags()
        self._flag = any(flags)
        return [self._flag for _ in flags]

    def _enter_path(self, cycle: int, launch: Launch) -> bool:
        if not self._flag:
            return super()._enter_path(cycle, launch)
        self._finish(cycle, launch, FinalFate.FINISHED, 0)
        return True


class OnlyNotExecuted(KernelQueue):
    """Only kernels that were not executed are submitted again (S4.2): a killed one is lost."""

    def _suspend(self, cycle: int, launch: Launch, end: End) -> None:
        if end.fate is not Fate.KILLED:
            super()._suspend(cycle, launch, end)
            return
        self.path.release(launch, cycle)
        self._remove(launch)
