"""Which SM gets the next block.

Follows ``docs/dispatch/block_dispatcher.md``, rules 17 to 20 and 'freed_first'. Compiled as a
part of ``residents.machine``.
"""

from warploom_golden.replay.compiled import inlined, part
from warploom_golden.replay.event_constants import (
    FREED_FIRST,
    LEAST_LOADED,
    NONE,
    ROUND_ROBIN,
)
from warploom_golden.replay.residents.books import is_out, known_warps
from warploom_golden.replay.residents.sm_groups import candidate
from warploom_golden.replay.residents.state import RING, State


@inlined
def following(s: State, number: int) -> int:
    """Return the number of the SM behind another one, cyclically."""
    return number + 1 if number + 1 < s.rules.sms else 0


@inlined
def first_with_room(s: State, start: int) -> int:
    """Return the first SM with room from ``start`` on, cyclically; one has."""
    number = start
    while not s.sms[number].room:
        number = following(s, number)
    return number


@part
def least_loaded(s: State, cycle: int) -> int:
    """Return the SM with room that has the most free warps, ties to the lowest number."""
    chosen = NONE
    most = -1
    for number in range(s.rules.sms):
        if s.sms[number].room:
            warps = known_warps(s, number, cycle)
            if warps > most:
                chosen, most = number, warps
    return chosen


@part
def freed_first(s: State, known: bool, cycle: int) -> int:
    """Return the candidate if it has room; drop the head, or move the table's pointer, if not."""
    more = known and s.rooms > 0
    if s.head != NONE and not s.aside:
        candidate: int = s.head
        fits = s.sms[candidate].room
        drops = not fits and more and not is_out(s, candidate, cycle)
        if fits or drops:
            s.head = NONE
        if drops:
            s.aside = True
        return candidate if fits else NONE
    candidate = s.pointer
    fits = s.sms[candidate].room
    if fits or more:
        s.pointer = following(s, candidate)
    return candidate if fits else NONE


@inlined
def choose(s: State, cycle: int) -> int:
    """Return the SM of a pick, or `NONE`; the machine may go in this cycle."""
    policy = s.rules.policy
    known = s.done + s.rules.known_after <= cycle
    if policy == FREED_FIRST:
        return freed_first(s, known, cycle)
    if s.rooms == 0:
        return NONE
    if policy == ROUND_ROBIN:
        number = candidate(s) if s.rules.grouped else first_with_room(s, s.pointer)
        if number != NONE:
            s.pointer = following(s, number)
        return number
    if policy == LEAST_LOADED:
        return least_loaded(s, cycle) if known else NONE
    return first_with_room(s, 0)


# --- freed_first: the queue of SMs ---------------------------------------------------------------
@part
def move_queue(s: State, cycle: int, quiet: bool) -> None:
    """End a cycle of the queue: the output moves to an empty head, an SM enters the FIFO."""
    if s.output != NONE and s.head == NONE:
        s.head = s.output
        s.front = (s.front + 1) % len(s.queue)
        s.queued -= 1
    if quiet:
        s.queued = 0
        s.head = NONE
    k = (cycle - s.rules.judged) & (RING - 1)
    if s.back_at[k] == cycle - s.rules.judged and not s.back_swept[k]:
        enter(s, s.back_sm[k], cycle)
    s.output = NONE
    if s.queued > 0 and s.queue_at[s.front] < cycle:
        s.output = s.queue[s.front]


@inlined
def enter(s: State, number: int, cycle: int) -> None:
    """Let an SM enter the FIFO at the end of a cycle."""
    last = (s.front + s.queued) % len(s.queue)
    s.queue[last], s.queue_at[last] = number, cycle
    s.queued += 1
