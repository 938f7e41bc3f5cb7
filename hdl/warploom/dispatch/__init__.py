"""A grid's blocks in order, each offered to an SM that has room for it."""

from warploom.dispatch.grid_walker import GridWalker
from warploom.dispatch.resident_dispatcher import ResidentDispatcher

__all__ = [
    "GridWalker",
    "ResidentDispatcher",
]
