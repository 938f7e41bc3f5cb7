"""GridWalker's order in grids as large as a launch's, which small ones do not stand for."""

from warploom_dev.formal.formal_bench import Bench
from warploom_dev.formal.properties import grid_walker


def bench(fault: str | None = None) -> Bench:
    """Return the bench of wide coordinates."""
    return grid_walker.bench(fault, wide=True)
