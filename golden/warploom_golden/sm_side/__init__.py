"""Models of the blocks that stand inside an SM."""

from warploom_golden.sm_side.incremental_scheduler import IncrementalScheduler

__all__ = [
    "IncrementalScheduler",
]
