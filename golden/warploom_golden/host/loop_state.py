"""What LoopExpander's model keeps of one loop."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto

from warploom_golden.host.loop_templates import Words

#: What 0 launches in flight count as.
IN_FLIGHT_OF_0 = 4


class Stop(IntEnum):
    """Why a loop is stopped; of several in one cycle the first one counts."""

    FAILED = auto()
    REFUSED = auto()
    HOST = auto()


@dataclass
class Loop:
    """What is kept of one loop."""

    begins: bool = False
    runs: bool = False
    awaits: bool = False
    again: bool = False
    stopped: Stop | None = None
    first: int = 0
    last: int = 0
    in_flight: int = 0
    #: Iterations that are not yet behind the last slot; number and slot of the next launch.
    left: int = 0
    iteration: int = 0
    slot: int = 0
    #: Of the launch whose words were written last.
    priority: int = 0
    #: By slot, the words of the iteration before.
    before: dict[int, Words] = field(default_factory=dict)
    accepted: int = 0
    ended: int = 0
    finished: int = 0
    #: Whether ``ended`` and ``finished`` mean something to who reads them.
    counts_mean: bool = False

    def begin(self, words: Mapping[str, int]) -> None:
        """Rule 7: begin with the fields of ``begin``."""
        self.begins, self.awaits, self.again, self.stopped = True, False, False, None
        self.first, self.last = words["first_slot"], words["last_slot"]
        self.slot, self.iteration, self.left = self.first, 0, words["count"]
        self.in_flight = words["in_flight"] or IN_FLIGHT_OF_0

    def stop(self, why: Stop) -> None:
        """Rule 10: stop it, if it is not stopped yet."""
        if self.stopped is None:
            self.stopped = why

    def forget(self) -> None:
        """Rule 19: its counts stay."""
        self.counts_mean &= not (self.begins or self.runs)
        self.begins = self.runs = self.awaits = False
