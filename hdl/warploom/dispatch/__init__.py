"""A grid's blocks in order, each offered to an SM that has room for it."""

from warploom.dispatch.block_dispatcher import BlockDispatcher
from warploom.dispatch.grid_walker import GridWalker

__all__ = [
    "GridWalker",
    "BlockDispatcher",
]
