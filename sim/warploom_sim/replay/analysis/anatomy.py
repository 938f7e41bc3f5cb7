"""What a replay's cycles are made of: by cause, by kernel, and by its blocks' own time.

Causes and kernels each share out every cycle once, so the parts of two replays explain the whole
difference between them.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from warploom_sim.replay.analysis.limits import LIMITS
from warploom_sim.replay.analysis.running import RunFigures
from warploom_sim.replay.replay_rows import NEVER

#: Causes under which no kernel is waited for.
_NOBODY: Final = ("arrivals", "nothing_left")


@dataclass(frozen=True, kw_only=True)
class KernelTime:
    """The launches of one kernel's name.

    Attributes
    ----------
    launches, blocks : int
        Launches that ran, and their blocks.
    head : int
        Cycles of the run that count for it: in which one of its blocks was placed, or the next
        block waited for it.
    span : int
        First offer to last report, summed over its launches.
    block_time : int
        Offer to report, summed over its blocks.
    """

    launches: int
    blocks: int
    head: int
    span: int
    block_time: int

    @property
    def mean_block(self) -> float:
        """Cycles from offer to report, of a block on average."""
        return self.block_time / max(1, self.blocks)


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """The cycles of one replay, shared out.

    Attributes
    ----------
    cycles : int
        Cycles of the run: the sum of ``by_limit``, and that of the kernels' ``head`` and ``idle``.
    by_limit : dict of str to int
        Cycles by what blocked the head.
    kernels : dict of str to KernelTime
        By the kernel's name.
    idle : int
        Cycles that count for no kernel: nothing had arrived, or nothing was left to place.
    blocks, block_time : int
        Blocks, and the sum of their times from offer to report.
    refused : int
        Launches that the configuration refused.
    """

    cycles: int
    by_limit: dict[str, int]
    kernels: dict[str, KernelTime]
    idle: int
    blocks: int
    block_time: int
    refused: int

    @property
    def mean_block(self) -> float:
        """Cycles from offer to report, of a block on average."""
        return self.block_time / max(1, self.blocks)

    @property
    def at_once(self) -> float:
        """Blocks that ran at once, on average over the run."""
        return self.block_time / self.cycles


def anatomy(found: RunFigures) -> Anatomy:
    """Return what a replay's cycles are made of; what blocked the head must have been found."""
    launches, waits = found.launches, found.waits
    assert waits is not None
    names, kernel_of = np.unique(launches.name.astype(str), return_inverse=True)
    count = len(names)
    somebody = waits.cycles[:, :-1].copy()
    somebody[[LIMITS.index(name) for name in _NOBODY]] = 0
    head = np.bincount(kernel_of, somebody.sum(axis=0), count).astype(int)
    ran = (launches.blocks > 0) & (launches.last_report != NEVER)
    spans = (launches.last_report - launches.first_offer)[ran]
    columns = {
        "launches": np.bincount(kernel_of[ran], minlength=count),
        "blocks": np.bincount(kernel_of, launches.blocks, count).astype(int),
        "head": head,
        "span": np.bincount(kernel_of[ran], spans, count).astype(int),
        "block_time": np.bincount(kernel_of, launches.held, count).astype(int),
    }
    return Anatomy(
        cycles=found.cycles,
        by_limit=waits.by_limit(),
        kernels={
            str(name): KernelTime(**{key: int(column[k]) for key, column in columns.items()})
            for k, name in enumerate(names)
        },
        idle=int(waits.cycles.sum() - somebody.sum()),
        blocks=int(launches.blocks.sum()),
        block_time=int(launches.held.sum()),
        refused=int((launches.code > 0).sum()),
    )
