"""Models of the blocks that stand inside an SM."""

from warploom_golden.sm_side.incremental_scheduler import IncrementalScheduler
from warploom_golden.sm_side.index_read_arbiter import IndexReadArbiter

__all__ = [
    "IncrementalScheduler",
    "IndexReadArbiter",
]
