"""The memory fences that the mailbox protocol needs: a search over every order that a CPU allows.

Worker and unit are short programs of accesses to shared memory. A CPU may perform two accesses of
one program in either order unless they touch the same word or a fence between them forbids it. A
release fence keeps earlier accesses before later writes; an acquire fence keeps earlier reads
before later accesses. `stale_reads` tries every order of each program in every interleaving.

The protocol is that of patent US 11,340,942 B2, *Cooperative work-stealing scheduler*.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Access:
    """One access of a program.

    Attributes
    ----------
    kind : str
        ``write``, ``read``, ``wait`` (a read repeated until it gives ``value``), or the fences
        ``acquire`` and ``release``.
    word : str
        Name of the word that is accessed; empty for a fence.
    value : int
        The value that is written or waited for. For a read: the value that is right.
    """

    kind: str
    word: str = ""
    value: int = 0

    @property
    def is_fence(self) -> bool:
        return self.kind in ("acquire", "release")


Program = tuple[Access, ...]

#: The protocol's fences: after the task's write, after the doorbell is seen, after the outcome's
#: write, after the doorbell is seen cleared.
CORRECT_FENCES: Final = ("release", "acquire", "release", "acquire")
#: The patent's fences. The first has the wrong kind. The second and the last, which order reads,
#: are missing.
SOURCE_FENCES: Final = ("acquire", "", "release", "")


def protocol(fences: tuple[str, str, str, str]) -> tuple[Program, Program]:
    """Return one mailbox round as two programs: the worker's, then the unit's.

    Parameters
    ----------
    fences : tuple of four str
        The kinds of the fences, in the order of `CORRECT_FENCES`; an empty string is no fence.
    """
    first, second, third, fourth = fences
    worker = [
        Access("write", "task", 1),
        Access(first),
        Access("write", "doorbell", 1),
        Access("wait", "doorbell", 0),
        Access(fourth),
        Access("read", "status", 1),
    ]
    unit = [
        Access("wait", "doorbell", 1),
        Access(second),
        Access("read", "task", 1),
        Access("write", "status", 1),
        Access(third),
        Access("write", "doorbell", 0),
    ]
    return _without_gaps(worker), _without_gaps(unit)


def stale_reads(programs: tuple[Program, ...]) -> set[str]:
    """Return the words of which a read gives a wrong value in at least one legal order."""
    before = tuple(
        tuple(
            frozenset(i for i in range(j) if _keeps_order(program, i, j))
            for j in range(len(program))
        )
        for program in programs
    )
    stale: set[str] = set()
    start = (tuple(frozenset[int]() for _ in programs), frozenset[tuple[str, int]]())
    seen = {start}
    waiting = [start]
    while waiting:
        done, memory = waiting.pop()
        for which, position in _ready(programs, before, done, dict(memory)):
            access = programs[which][position]
            values = dict(memory)
            if access.kind == "read" and values.get(access.word, 0) != access.value:
                stale.add(access.word)
            if access.kind == "write":
                values[access.word] = access.value
            after = list(done)
            after[which] |= {position}
            state = (tuple(after), frozenset(values.items()))
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return stale


def _without_gaps(program: list[Access]) -> Program:
    return tuple(access for access in program if access.kind)


def _keeps_order(program: Program, i: int, j: int) -> bool:
    """Return whether access i of a program is performed before access j in every order."""
    first, second = program[i], program[j]
    if first.is_fence or second.is_fence:
        return False
    if first.word == second.word:
        return True
    if first.kind == "wait" and second.kind == "write":
        return True  # a CPU performs no write before it knows that the wait before has ended
    if first.kind == "read" and (first.word, second.word) == ("task", "status"):
        return True  # the status is computed from the task
    return any(_fence_orders(fence.kind, first, second) for fence in program[i + 1 : j])


def _fence_orders(fence: str, first: Access, second: Access) -> bool:
    if fence == "release":
        return second.kind == "write"
    return fence == "acquire" and first.kind != "write"


def _ready(
    programs: tuple[Program, ...],
    before: tuple[tuple[frozenset[int], ...], ...],
    done: tuple[frozenset[int], ...],
    values: dict[str, int],
) -> Iterator[tuple[int, int]]:
    """Yield each access that may be performed next: number of its program, position in it."""
    for which, program in enumerate(programs):
        for position, access in enumerate(program):
            if access.is_fence or position in done[which]:
                continue
            if not before[which][position] <= done[which]:
                continue
            if access.kind == "wait" and values.get(access.word, 0) != access.value:
                continue
            yield which, position
