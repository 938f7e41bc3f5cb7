"""What a worker asks of the machine that it runs on.

A worker is a generator. It yields one of these and goes on when the machine has done it, so the
same worker runs in the discrete-event model and against the mailbox's RTL.
"""

from dataclasses import dataclass

from warploom_golden.stealing.algorithm import Item


@dataclass(frozen=True)
class Spend:
    """Let cycles pass; ``on`` says for what, for timelines and sums."""

    cycles: int
    on: str


@dataclass(frozen=True)
class Ring:
    """Run parts of a leaf, one on each unit; answered with (code, result) for each part."""

    units: tuple[int, ...]
    parts: tuple[Item, ...]


@dataclass(frozen=True)
class Park:
    """Wait until a task was pushed anywhere or a task's last part is done."""


Request = Spend | Ring | Park
