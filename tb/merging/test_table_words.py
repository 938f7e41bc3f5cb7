"""A mapping table as words of memory."""

import random

import numpy as np
import pytest

from tb.merging.graphs import LIMITS, config, task, whole_tasks
from warploom_golden.merging import MappingTable, MergePlanner, TableEntry, to_words
from warploom_golden.merging.merge_planner import ORDERS
from warploom_golden.merging.tags_and_marks import permuted

TASKS = (task((2, 1, 1)), task((1, 2, 1), block=(3, 2, 1)), task(2, (0,), (16, 1, 1)))


def test_the_words_of_a_table_by_hand() -> None:
    entries = (
        TableEntry(1, (0, 0, 0), (0, 1, 0)),
        TableEntry(0, (1, 0, 0), (1, 0, 0)),
        TableEntry(0, (0, 0, 0), (0, 0, 0)),
        TableEntry(2, (0, 0, 0), (1, 0, 0)),
    )
    words = to_words(MappingTable(TASKS, entries, {0: 2}))
    assert words.entries.tolist() == [
        [1, 0, 0, 0],
        [1, 0, 1, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
        [2, 0, 0, 0],
        [2, 1, 0, 0],
    ]
    # Needs, first tag, blocks, highest merged id.
    assert words.tasks.tolist() == [[0, 0, 2, 3], [0, 2, 2, 1], [1, 4, 2, 5]]
    assert (words.tags.tolist(), words.marks.tolist()) == ([0] * 6, [0] * 3)
    assert words.entries.dtype == words.tasks.dtype == np.uint32


@pytest.mark.parametrize("order", ORDERS)
def test_the_words_of_each_order_say_what_the_table_says(order: str, seed: int) -> None:
    table = MergePlanner(config(), LIMITS).plan(TASKS, order)
    for one in (table, permuted(table, [0, 2], random.Random(seed)), whole_tasks(table, [2, 1, 0])):
        words = to_words(one)
        numbers, blocks = one.expanded()
        assert words.entries[:, 0].tolist() == numbers.tolist()
        for (number, *place), block in zip(words.entries.tolist(), blocks, strict=True):
            gx, gy, _ = one.tasks[number].launch.grid
            assert place[0] + gx * (place[1] + gy * place[2]) == block
        for number, (_, first, count, last) in enumerate(words.tasks.tolist()):
            assert last == max(np.flatnonzero(numbers == number))
            assert first + count <= len(words.tags)
