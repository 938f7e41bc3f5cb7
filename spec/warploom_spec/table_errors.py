"""Codes with which a mapping table of a merged kernel is refused, with their cause and cure."""

from enum import IntEnum
from typing import Final


class TableCode(IntEnum):
    """Why a mapping table, or a launch that names one, is refused."""

    TABLE_SIZE = 33
    TABLE_DEPENDS = 34
    TABLE_SHAPES = 35
    TABLE_REGION = 36
    TABLE_TASK = 37
    TABLE_ORDER = 38
    TABLE_RANGE = 39
    TABLE_CHAIN = 40
    TABLE_ENTRIES = 41
    TABLE_MISSING = 42
    TABLE_REPEATED = 43
    TABLE_BLOCK = 44


#: For each code: (cause, cure).
TABLE_EXPLANATIONS: Final[dict[TableCode, tuple[str, str]]] = {
    TableCode.TABLE_SIZE: (
        "the table has no task, more tasks than max_tasks, or more entries than max_table_entries",
        "merge fewer tasks, or use longer entries",
    ),
    TableCode.TABLE_DEPENDS: (
        "a task depends on a task that the table does not have, or on itself",
        "name tasks of this table",
    ),
    TableCode.TABLE_SHAPES: (
        "the tasks have more index configurations than the history has entries",
        "merge fewer shapes, or build with more history entries",
    ),
    TableCode.TABLE_REGION: (
        "the indices of two tasks overlap, and differ in address or shape",
        "give each shape an index address of its own",
    ),
    TableCode.TABLE_TASK: (
        "an entry names a task that the table does not have",
        "name a task of this table",
    ),
    TableCode.TABLE_ORDER: (
        "an entry stands before the last block of a task that its task depends on",
        "place every block of a task behind all blocks of the tasks that it depends on",
    ),
    TableCode.TABLE_RANGE: (
        "an entry's block is not in its task's grid",
        "use blocks inside the grid",
    ),
    TableCode.TABLE_CHAIN: (
        "an entry does not begin where its task's entry before it ended, or ends before it begins",
        "let the entries of a task cover its grid in order, or declare the task permuted",
    ),
    TableCode.TABLE_ENTRIES: (
        "a permuted task has an entry of several blocks, or not the declared number of entries",
        "give a permuted task one entry for each block",
    ),
    TableCode.TABLE_MISSING: (
        "a block of a task has no entry",
        "place every block of every task",
    ),
    TableCode.TABLE_REPEATED: (
        "a block of a permuted task has two entries",
        "place every block once",
    ),
    TableCode.TABLE_BLOCK: (
        "the launch has fewer warps than the widest task of its table",
        "launch with the largest task's threads",
    ),
}
