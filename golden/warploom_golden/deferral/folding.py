"""Fold repeated launches of a recorded sequence into loops.

A recording holds no kernel arguments. So two launches count as equal if their kernel, dimensions
and resources are equal. A real loop may not be deferrable: the saving by folding is an upper bound.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """Neighbouring launches that become one loop, or one launch alone.

    Attributes
    ----------
    first : int
        Number of the run's first launch.
    body : int
        Number of launches in one iteration: the templates that the loop needs.
    count : int
        Number of iterations; 1: a launch alone.
    """

    first: int
    body: int
    count: int


def fold(launches: Sequence[Hashable], templates: int) -> list[Run]:
    """Return the fewest runs that make up a sequence.

    Parameters
    ----------
    launches : sequence of hashable
        The launches in order; equal launches must compare equal.
    templates : int
        The most launches of one iteration, at least 1.

    Notes
    -----
    Dynamic programming over the prefixes of the sequence. A prefix needs one run more than the
    shorter prefix that ends where its last run begins. Of several best last runs the one with the
    shortest body is taken.
    """
    numbers: dict[Hashable, int] = {}
    names = [numbers.setdefault(launch, len(numbers)) for launch in launches]
    fewest = [0]
    last: list[Run] = []
    # `equal[body]`: how many launches in a row, up to `end`, equal the one `body` places earlier.
    equal = [0] * (templates + 1)
    for end in range(1, len(names) + 1):
        best = Run(end - 1, 1, 1)
        for body in range(1, min(templates, end - 1) + 1):
            same = names[end - 1] == names[end - 1 - body]
            equal[body] = equal[body] + 1 if same else 0
            for count in range(2, equal[body] // body + 2):
                first = end - body * count
                if fewest[first] < fewest[best.first]:
                    best = Run(first, body, count)
        fewest.append(fewest[best.first] + 1)
        last.append(best)
    runs = []
    end = len(names)
    while end:
        runs.append(last[end - 1])
        end = last[end - 1].first
    return runs[::-1]
