"""Blocks that stand inside an SM."""

from warploom.sm_side.incremental_scheduler import IncrementalScheduler

__all__ = [
    "IncrementalScheduler",
]
