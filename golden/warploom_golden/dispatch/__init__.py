"""Models of the blocks that walk grids and dispatch their blocks."""

from warploom_golden.dispatch.block_dispatcher import BlockDispatcher
from warploom_golden.dispatch.grid_walker import GridWalker

__all__ = [
    "GridWalker",
    "BlockDispatcher",
]
