"""Merged kernels: several tasks run as one kernel, in the order of a mapping table's entries.

Method: *Method for sharing GPU (graphics processing unit) by multiple tasks based on CUDA*, patent
CN102708009A. The docstrings of this folder call it the patent. Page:
``docs/merging/merged_kernels.md``.
"""

from warploom_golden.merging.deadlock import Deadlock, Waiter
from warploom_golden.merging.mapping_table import MappingTable, TableEntry
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merge_streams import merge_streams
from warploom_golden.merging.merged_replay import MergedRun, MergeRules, run_merged
from warploom_golden.merging.table_check import TableError
from warploom_golden.merging.table_words import TableWords, to_words
from warploom_golden.merging.tags_and_marks import TagsAndMarks, run_untimed
from warploom_golden.merging.task import MergeLimits, Task

__all__ = [
    "Deadlock",
    "MappingTable",
    "MergeLimits",
    "MergePlanner",
    "MergeRules",
    "MergedRun",
    "TableEntry",
    "TableError",
    "TableWords",
    "TagsAndMarks",
    "Task",
    "Waiter",
    "merge_streams",
    "run_merged",
    "run_untimed",
    "to_words",
]
