"""Models of the blocks that stand inside an SM."""

from warploom_golden.sm_side.block_at_a_time import BlockAtATime
from warploom_golden.sm_side.block_to_warps import BlockToWarps
from warploom_golden.sm_side.incremental_scheduler import IncrementalScheduler
from warploom_golden.sm_side.index_read_arbiter import IndexReadArbiter
from warploom_golden.sm_side.offer_queue import OfferQueue
from warploom_golden.sm_side.resource_ranges import ResourceRanges

__all__ = [
    "BlockAtATime",
    "BlockToWarps",
    "IncrementalScheduler",
    "IndexReadArbiter",
    "OfferQueue",
    "ResourceRanges",
]
