"""GridWalker's order in grids as large as a launch's, which small ones do not stand for."""

from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import grid_walker


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench of wide coordinates."""
    return grid_walker.bench(fault, wide=True)
