"""Blocks that stand inside an SM, or between the SMs and the core."""

from warploom.sm_side.incremental_scheduler import IncrementalScheduler
from warploom.sm_side.index_read_arbiter import IndexReadArbiter

__all__ = [
    "IncrementalScheduler",
    "IndexReadArbiter",
]
