"""The uncorrected rules of patent CN115408135A: a queue of the event model for each rule.

They show what each rule breaks: ``ResidentPath(config, queue=OneFlag)``.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from warploom_golden.launch.queue_parts.events import Event
from warploom_golden.launch.queue_parts.holds import Holds
from warploom_golden.launch.queue_parts.rows import Flags, Launch, Row
from warploom_golden.replay.residents.ports import SleepingQueue
from warploom_spec.errors import Fate


class _WrongQueue(SleepingQueue):
    """A queue with other rules of who is held and who is stopped."""

    holds_type: ClassVar[type[Holds]] = Holds

    def _restart(self) -> None:
        super()._restart()
        self._parts.holds = self.holds_type()


class _TearingHolds(Holds):
    def start(self, launch: Launch, kills: int, *, sm_kill: bool) -> None:
        super().start(launch, kills, sm_kill=sm_kill)
        self.killable |= 1 << launch.stream


class FlagCheckBlock(_WrongQueue):
    """Every block tests the flag when it starts: a kernel that has begun loses its later blocks.

    The host takes the kernel for killed, and submits it again from block 0. SMs that cannot kill
    (``sm_kill`` = False) end the blocks that run.
    """

    holds_type = _TearingHolds


class _CautiousHolds(Holds):
    def step(self, flags: Flags, rows: Sequence[Row], begun: int) -> None:
        super().step(flags, rows, begun)
        for stream, row in enumerate(rows):
            if not all(each.fields["idempotent"] for each in row.launches):
                self.hold &= ~(1 << stream & begun)
                self.stop &= ~(1 << stream)


class AllSubmitted(_WrongQueue):
    """A launch makes way only if every unfinished launch of its stream is idempotent."""

    holds_type = _CautiousHolds


class _SharedHolds(Holds):
    def step(self, flags: Flags, rows: Sequence[Row], begun: int) -> None:
        top = self._top
        super().step(flags, rows, begun)
        low = sum(1 << s for s, row in enumerate(rows) if row.launches and row.priority < top)
        if low:
            self.stop |= flags.resident & ~begun & ~low


class OneFlag(_WrongQueue):
    """One flag for all streams: the urgent kernel sees the flag, too, and exits."""

    holds_type = _SharedHolds

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; a launch that exits before its first block has finished."""
        super().tick(inputs)
        over = self._engine.serving
        if over is not None and over.event is Event.END and not over.begun:
            over.fate = Fate.FINISHED


class OnlyNotExecuted(SleepingQueue):
    """Only kernels that were not executed are submitted again (S4.2): a killed one is lost."""

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; the head whose run was killed leaves without a record."""
        parts, over = self._parts, self._engine.finishing(self._parts.cycle)
        super().tick(inputs)
        if over is None or over.event is not Event.END or over.stream is None:
            return
        row = parts.rows[over.stream]
        if over.begun and over.fate == Fate.KILLED and row.launches:
            row.head.dead = True
            parts.flags.look_at(over.stream)
