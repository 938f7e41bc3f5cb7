"""The requests of a worker to the machine that it runs on.

A worker is a generator. It yields a request, and goes on when the machine has done the request. So
the same worker runs in the discrete-event model and against the mailbox's RTL.
"""

from dataclasses import dataclass

from warploom_golden.stealing.algorithm import Item


@dataclass(frozen=True)
class Delay:
    """Let cycles pass; ``on`` names the step that takes them, for timelines and sums."""

    cycles: int
    on: str


@dataclass(frozen=True)
class Ring:
    """Run the parts of a leaf, one on each unit.

    The answer is a list with (code, result) of each part; code 0 is success.
    """

    units: tuple[int, ...]
    parts: tuple[Item, ...]


@dataclass(frozen=True)
class Park:
    """Wait until any worker pushes a task, or until the last part of a task is done."""


Request = Delay | Ring | Park
