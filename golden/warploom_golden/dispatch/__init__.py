"""Models of the blocks that walk grids and dispatch their blocks."""

from warploom_golden.dispatch.grid_walker import GridWalker
from warploom_golden.dispatch.resident_dispatcher import ResidentDispatcher

__all__ = [
    "GridWalker",
    "ResidentDispatcher",
]
