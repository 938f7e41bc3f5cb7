"""The walk through a replay's decisions that finds what limits each cycle, compiled.

Rules and names: ``docs/replay/replay.md``, 'What limits'. All of it stands in one file, with its
constants: `warploom_golden.replay.compiled.compiled` says why.
"""

from typing import Final

from warploom_golden.replay.compiled import compiled, inlined
from warploom_golden.replay.event_state import Integers

#: Limits by number. The resources stand in the order of `warploom_spec.RESOURCES`.
RATE: Final = 0
FIRST_RESOURCE: Final = 1
RECLAIM: Final = 6
ORDER: Final = 7
PLACES: Final = 8
PATH: Final = 9
ARRIVALS: Final = 10
NOTHING_LEFT: Final = 11
#: Rows of the stretches that are found.
START: Final = 0
LIMIT: Final = 1
LAUNCH: Final = 2
NONE: Final = -1


@inlined
def emit(out: Integers, count: int, start: int, limit: int, launch: int) -> int:
    """Note that a limit holds from a cycle on; return how many stretches there are now."""
    if count > 0 and out[LIMIT, count - 1] == limit and out[LAUNCH, count - 1] == launch:
        return count
    out[START, count] = start
    out[LIMIT, count] = limit
    out[LAUNCH, count] = launch
    return count + 1


@inlined
def judge(free: Integers, need: Integers, sm: int, short: Integers, rooms: Integers) -> int:
    """Note which resources an SM is short of; return by how much the SMs with room changed."""
    room = 1
    for k in range(len(need)):
        lacks = 1 if free[sm, k] < need[k] else 0
        short[len(rooms), k] += lacks - short[sm, k]
        short[sm, k] = lacks
        room &= 1 - lacks
    changed: int = room - rooms[sm]
    rooms[sm] = room
    return changed


@inlined
def shortest(short: Integers, sms: int) -> int:
    """Return the resource that most SMs are short of, the first of several."""
    chosen = 0
    for k in range(1, short.shape[1]):
        if short[sms, k] > short[sms, chosen]:
            chosen = k
    return chosen


@compiled
def walk(
    heads: Integers,
    known: Integers,
    numbers: Integers,
    firsts: Integers,
    decided: Integers,
    launches: Integers,
    sms: Integers,
    ends: Integers,
    by_end: Integers,
    takes: Integers,
    free: Integers,
    work: Integers,
    out: Integers,
) -> int:
    """Find what limits each cycle from a launch's first as the head to its last decision.

    Parameters
    ----------
    heads, known, numbers : array of int64
        Of each launch that had blocks, in order: first cycle as the head, first cycle in which the
        dispatcher knows what fits beside another launch, and its row among all launches.
    firsts : array of int64
        Its first block; one element more says how many blocks there are.
    decided, launches, sms, ends : array of int64
        Of each block, in order of its decision: the cycle of the decision, its launch's row, its
        SM, and the cycle of its report.
    by_end : array of int64
        The blocks in order of their reports.
    takes : array of int64, shape (launches, resources)
        What a block takes, by launch's row.
    free : array of int64, shape (SMs, resources)
        What each SM has.
    work : array of int64, shape (SMs + 1, resources + 1)
        Zeros; of each SM whether it is short of each resource and whether it has room, and in the
        last row how many SMs are short.
    out : array of int64, shape (3, most)
        To be filled in: rows `START`, `LIMIT`, `LAUNCH` of the stretches in which one limit holds.

    Returns
    -------
    int
        Stretches found.
    """
    count, gone, with_room = 0, 0, 0
    chips = len(free)
    short, rooms = work[:, :-1], work[:chips, -1]
    last_sm, last_cycle = NONE, NONE
    for i in range(len(heads)):
        need, number = takes[numbers[i]], numbers[i]
        for sm in range(chips):
            with_room += judge(free, need, sm, short, rooms)
        cycle = heads[i]
        for block in range(firsts[i], firsts[i + 1]):
            while cycle <= decided[block]:
                # What was reported up to this cycle is free.
                while gone < block and ends[by_end[gone]] <= cycle:
                    over = by_end[gone]
                    for k in range(len(need)):
                        free[sms[over], k] += takes[launches[over], k]
                    with_room += judge(free, need, sms[over], short, rooms)
                    gone += 1
                if cycle == decided[block]:
                    count = emit(out, count, cycle, RATE, number)
                    cycle += 1
                    break
                change = ends[by_end[gone]] if gone < block else decided[block]
                change = min(change, decided[block])
                if with_room > 0 and last_cycle == cycle - 1 and rooms[last_sm] == 1:
                    limit, change = RATE, cycle + 1
                elif with_room > 0 and cycle < known[i]:
                    limit, change = PATH, min(change, known[i])
                elif with_room > 0:
                    limit = RECLAIM
                else:
                    limit = FIRST_RESOURCE + shortest(short, chips)
                count = emit(out, count, cycle, limit, number)
                cycle = change
            for k in range(len(need)):
                free[sms[block], k] -= need[k]
            with_room += judge(free, need, sms[block], short, rooms)
            last_sm, last_cycle = sms[block], decided[block]
    return count
