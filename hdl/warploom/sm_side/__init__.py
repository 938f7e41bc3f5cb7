"""Blocks that stand inside an SM, or between the SMs and the core."""

from warploom.sm_side.block_at_a_time import BlockAtATime
from warploom.sm_side.block_to_warps import BlockToWarps
from warploom.sm_side.incremental_scheduler import IncrementalScheduler
from warploom.sm_side.index_read_arbiter import IndexReadArbiter
from warploom.sm_side.offer_queue import OfferQueue
from warploom.sm_side.resource_ranges import ResourceRanges

__all__ = [
    "BlockAtATime",
    "BlockToWarps",
    "IncrementalScheduler",
    "IndexReadArbiter",
    "OfferQueue",
    "ResourceRanges",
]
