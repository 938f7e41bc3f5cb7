"""Fold repeated launches of a recorded sequence into loops.

A recording holds no kernel arguments, so two launches count as equal if kernel, dimensions and
resources are. A real loop may not be deferrable, so what folding saves is an upper bound.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """Neighbouring launches that one command stands for.

    Attributes
    ----------
    first : int
        Number of its first launch.
    body : int
        Launches of one iteration: templates that the loop needs.
    count : int
        Iterations; 1: a launch by itself.
    """

    first: int
    body: int
    count: int


def fold(launches: Sequence[Hashable], templates: int) -> list[Run]:
    """Return the fewest runs that make up a sequence.

    Parameters
    ----------
    launches : sequence of hashable
        Equal launches compare equal.
    templates : int
        Most launches of one iteration, at least 1.

    Notes
    -----
    Dynamic programming over the ends of the sequence's beginnings: the fewest runs of a beginning
    are one more than those of the beginning before its last run. Among equally few the run with the
    shortest body and the most iterations is taken.
    """
    numbers: dict[Hashable, int] = {}
    names = [numbers.setdefault(launch, len(numbers)) for launch in launches]
    fewest = [0]
    last: list[Run] = []
    # Launches before each end that equal the launch `body` places earlier, without a gap.
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
