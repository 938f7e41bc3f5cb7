"""A random tree of tasks whose answer is known and that counts how often each leaf ran."""

import random

from warploom_golden.stealing.algorithm import even_cuts


class RandomTree:
    """A tree with a given number of tasks; the answer is the sum of the leaves' numbers.

    Items are ``(task, first, last)``: a leaf may be shared out in parts of its unit range.
    """

    name = "random_tree"
    UNIT = 32

    def __init__(self, tasks, seed):
        draw = random.Random(seed)
        self.children = [[]]
        leaves = [0]
        while len(self.children) < tasks:
            # Some trees grow wide and some deep: any leaf may be split, late ones more often.
            at = draw.randrange(len(leaves)) if draw.random() < 0.7 else len(leaves) - 1
            leaves[at], leaves[-1] = leaves[-1], leaves[at]
            parent = leaves.pop()
            count = min(draw.randint(1, 4), tasks - len(self.children))
            new = range(len(self.children), len(self.children) + count)
            self.children[parent] = list(new)
            self.children += [[] for _ in new]
            leaves += new
        self.leaves = sorted(leaves)
        self.cycles = [draw.randint(1, 2000) for _ in self.children]
        self.runs = dict.fromkeys(self.leaves, 0)

    def root(self):
        return 0, 0, self.UNIT

    def is_leaf(self, item):
        return not self.children[item[0]]

    def split(self, item):
        return [(child, 0, self.UNIT) for child in self.children[item[0]]]

    def leaf_parts(self, item, most):
        return [(item[0], low, high) for low, high in even_cuts(item[1], item[2], most)]

    def run(self, item):
        task, low, high = item
        self.runs[task] += high - low
        return task * (high - low)

    def join(self, item, results):
        return sum(results)

    def leaf_cycles(self, item):
        return -(-self.cycles[item[0]] * (item[2] - item[1]) // self.UNIT)

    def join_cycles(self, item):
        return 4

    def correct(self, result):
        return result == self.UNIT * sum(self.leaves)

    def each_leaf_ran_once(self):
        return set(self.runs.values()) == {self.UNIT}
