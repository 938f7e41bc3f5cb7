"""The walk through a replay's decisions that finds what limits each cycle, compiled.

Rules and names: ``docs/replay/replay.md``, 'What blocked the head'. All of it stands in one file,
with its constants: `warploom_golden.replay.compiled.compiled` says why. So the walk counts the
resources by its arguments, and no constant of another file is compiled.
"""

from typing import Final

from warploom_golden.replay.compiled import compiled, inlined
from warploom_golden.replay.records import Integers
from warploom_spec import RESOURCES

#: Limits by number. The resources stand in the order of `warploom_spec.RESOURCES`.
RATE: Final = 0
FIRST_RESOURCE: Final = 1
RECLAIM: Final = FIRST_RESOURCE + len(RESOURCES)
ORDER: Final = RECLAIM + 1
PATH: Final = RECLAIM + 2
ARRIVALS: Final = RECLAIM + 3
WAITS: Final = RECLAIM + 4
NOTHING_LEFT: Final = RECLAIM + 5
#: Rows of the stretches that are found.
START: Final = 0
LIMIT: Final = 1
LAUNCH: Final = 2
NONE: Final = -1
#: How far the walk is.
CYCLE: Final = 0
WITH_ROOM: Final = 1
GONE: Final = 2
OLDEST: Final = 3
#: Rows of the last picks. There are as many as cycles after a pick in which its SM gets no block.
PICKED: Final = 0
PICKED_SM: Final = 1


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


@inlined
def is_shut(recent: Integers, cycle: int, rooms: Integers) -> bool:
    """Tell whether an SM has room that had a block a few cycles ago."""
    count = recent.shape[1]
    for k in range(count):
        if recent[PICKED, k] >= cycle - count and rooms[recent[PICKED_SM, k]] == 1:
            return True
    return False


@compiled
def walk(
    heads: Integers,
    numbers: Integers,
    firsts: Integers,
    decided: Integers,
    sms: Integers,
    gone_cycles: Integers,
    gone_sms: Integers,
    gone_launches: Integers,
    takes: Integers,
    free: Integers,
    work: Integers,
    stand: Integers,
    recent: Integers,
    lacked: Integers,
    out: Integers,
) -> int:
    """Find what limits each cycle from a launch's first as the head to its last decision.

    Blocks may come in pieces: ``free``, ``work``, ``stand``, ``recent`` and ``lacked`` go from one
    call to the next.

    Parameters
    ----------
    heads, numbers : array of int64
        Of each launch that had blocks, in order: first cycle as the head, or `NONE` if it goes on
        from the call before; and its row among all launches.
    firsts : array of int64
        Its first block; one element more says how many blocks there are.
    decided, sms : array of int64
        Of each block, in order of its decision: the cycle of the decision, and its SM.
    gone_cycles, gone_sms, gone_launches : array of int64
        Of each report, in order, at least up to the last decision: its cycle, its SM, and its
        launch's row.
    takes : array of int64, shape (launches, resources)
        What a block takes, by launch's row.
    free : array of int64, shape (SMs, resources)
        What each SM has left.
    work : array of int64, shape (SMs + 1, resources + 1)
        Zeros at first; of each SM whether it is short of each resource and whether it has room, and
        in the last row how many SMs are short.
    stand : array of int64
        How far it is: `CYCLE`, the next one; `WITH_ROOM`, SMs that have room; `GONE`, reports of
        this call that were counted; `OLDEST`, where in ``recent`` the oldest pick stands.
    recent : array of int64, shape (2, picks)
        The last picks: `PICKED`, cycle, or `NONE`, and `PICKED_SM`.
    lacked : array of int64
        Of each resource for how many cycles it was one that most SMs were short of, while a
        resource was the limit.
    out : array of int64, shape (3, most)
        To be filled in: rows `START`, `LIMIT`, `LAUNCH` of the stretches in which one limit holds.

    Returns
    -------
    int
        Stretches found.
    """
    count, gone = 0, 0
    chips = len(free)
    reclaim = FIRST_RESOURCE + takes.shape[1]
    short, rooms = work[:, :-1], work[:chips, -1]
    cycle, with_room, oldest = stand[CYCLE], stand[WITH_ROOM], stand[OLDEST]
    for i in range(len(heads)):
        need, number = takes[numbers[i]], numbers[i]
        if heads[i] != NONE:
            for sm in range(chips):
                with_room += judge(free, need, sm, short, rooms)
            cycle = heads[i]
        for block in range(firsts[i], firsts[i + 1]):
            while cycle <= decided[block]:
                # What was reported up to this cycle is free.
                while gone < len(gone_cycles) and gone_cycles[gone] <= cycle:
                    sm = gone_sms[gone]
                    for k in range(len(need)):
                        free[sm, k] += takes[gone_launches[gone], k]
                    with_room += judge(free, need, sm, short, rooms)
                    gone += 1
                if cycle == decided[block]:
                    count = emit(out, count, cycle, RATE, number)
                    cycle += 1
                    break
                change = decided[block]
                if gone < len(gone_cycles):
                    change = min(change, gone_cycles[gone])
                if with_room > 0 and is_shut(recent, cycle, rooms):
                    limit, change = RATE, cycle + 1
                elif with_room > 0:
                    limit = reclaim
                else:
                    first = shortest(short, chips)
                    limit = FIRST_RESOURCE + first
                    for k in range(len(need)):
                        if short[chips, k] == short[chips, first]:
                            lacked[k] += change - cycle
                count = emit(out, count, cycle, limit, number)
                cycle = change
            for k in range(len(need)):
                free[sms[block], k] -= need[k]
            with_room += judge(free, need, sms[block], short, rooms)
            recent[PICKED, oldest], recent[PICKED_SM, oldest] = decided[block], sms[block]
            oldest = (oldest + 1) % recent.shape[1]
    stand[CYCLE], stand[WITH_ROOM], stand[GONE] = cycle, with_room, gone
    stand[OLDEST] = oldest
    return count
