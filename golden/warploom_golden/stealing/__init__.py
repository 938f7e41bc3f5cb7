"""Cooperative work stealing: workers on CPU cores, execution units behind a doorbell mailbox.

Method: *Cooperative work-stealing scheduler*, patent US 11,340,942 B2. The docstrings of this
folder call it the patent. Page: ``docs/stealing/work_stealing.md``.
"""

from warploom_golden.stealing.algorithms import ALGORITHMS, make_algorithm
from warploom_golden.stealing.bounds import Bounds, bounds, static_makespan
from warploom_golden.stealing.costs import Costs
from warploom_golden.stealing.steal_model import Slice, StealModel, StealOptions, StealRun

__all__ = [
    "ALGORITHMS",
    "Bounds",
    "Costs",
    "Slice",
    "StealModel",
    "StealOptions",
    "StealRun",
    "bounds",
    "make_algorithm",
    "static_makespan",
]
