"""Which SM a block is placed on, in the event model: what SMs have free, and the policies.

Of the dispatcher with two places. Compiled as a part of
``event_machine``.
"""

from warploom_golden.replay.compiled import inlined
from warploom_golden.replay.event_constants import (
    FREED_FIRST,
    LEAST_LOADED,
    NEVER,
    NONE,
    ROUND_ROBIN,
    SLOTS,
    WARPS,
)
from warploom_golden.replay.event_state import Amounts, State


# --- what SMs have free --------------------------------------------------------------------------
@inlined
def judge(s: State, number: int) -> None:
    """Find out whether an SM has room for the next block."""
    sm = s.sms[number]
    room = 1 if sm.others == 0 and sm.lost_at == NEVER else 0
    for k in range(len(sm.free)):
        room &= 1 if sm.free[k] >= s.need[k] else 0
    s.rooms += room - s.has_room[number]
    s.has_room[number] = room


@inlined
def fit(s: State, need: Amounts, known: bool) -> None:
    """Judge all SMs by what a block of the launch that is next needs.

    Unless it is ``known`` how many fit beside the blocks that are there now, they go only where
    none of those is.
    """
    for k in range(len(need)):
        s.need[k] = need[k]
    for number in range(s.rules.sms):
        sm = s.sms[number]
        sm.others = 0 if known else s.rules.block_slots - sm.free[SLOTS]
        judge(s, number)


@inlined
def count_others(s: State) -> None:
    """Let only blocks of the place that is not walked be an SM's others; judge all SMs anew."""
    for number in range(s.rules.sms):
        sm = s.sms[number]
        if sm.lost_at != NEVER:
            continue
        sm.others = 0
        for k in range(s.rules.block_slots):
            place = s.slots[number, k].place
            if place != NONE and place != s.head:
                sm.others += 1
        judge(s, number)


@inlined
def take(s: State, number: int) -> int:
    """Take what the next block needs, and the slot that has been free longest; return the slot."""
    sm = s.sms[number]
    slot: int = s.fifo[number, sm.front]
    sm.front = sm.front + 1 if sm.front + 1 < s.rules.block_slots else 0
    for k in range(len(sm.free)):
        sm.free[k] -= s.need[k]
        s.slots[number, slot].need[k] = s.need[k]
    judge(s, number)
    return slot


@inlined
def give_back(s: State, number: int, slot: int) -> None:
    """Return what a block took; its slot is the last of the free ones. A lost SM keeps all."""
    sm = s.sms[number]
    if sm.lost_at != NEVER:
        return
    block = s.slots[number, slot]
    own = s.rules.preempts and s.recount_at == NEVER and block.place == s.head
    block.place = NONE
    back = sm.front + sm.free[SLOTS]
    s.fifo[number, back if back < s.rules.block_slots else back - s.rules.block_slots] = slot
    for k in range(len(sm.free)):
        sm.free[k] += block.need[k]
    # As long as there are others, it got none of the head's launch, but for one that goes on.
    if not own:
        sm.others = max(sm.others - 1, 0)
    judge(s, number)


# --- which SM a block is placed on ---------------------------------------------------------------
@inlined
def note_decision(s: State, number: int, cycle: int) -> None:
    """Note which SM got a block in a cycle: its port is not open in the two cycles after."""
    s.earlier, s.earlier_cycle = s.last, s.last_cycle
    s.last, s.last_cycle = number, cycle


@inlined
def got_block(s: State, cycle: int) -> int:
    """Return the SM that got a block in a cycle, `NONE` if none did or it is lost."""
    number = NONE
    if s.last_cycle == cycle:
        number = s.last
    elif s.earlier_cycle == cycle:
        number = s.earlier
    if number != NONE and s.sms[number].lost_at != NEVER:
        number = NONE
    return number


@inlined
def open_rooms(s: State, shut: int, earlier: int) -> int:
    """Count the eligible SMs: those with room but for the two whose ports are not open."""
    rooms: int = s.rooms
    if shut != NONE:
        rooms -= s.has_room[shut]
    if earlier != NONE:
        rooms -= s.has_room[earlier]
    return rooms


@inlined
def first_with_room(s: State, start: int, shut: int, earlier: int) -> int:
    """Return the first SM from ``start`` on, cyclically, that is eligible; one is."""
    number = start
    while not s.has_room[number] or number in (shut, earlier):
        number = following(s, number)
    return number


@inlined
def following(s: State, number: int) -> int:
    """Return the number of the SM behind another one, cyclically."""
    return number + 1 if number + 1 < s.rules.sms else 0


@inlined
def from_pointer(s: State, shut: int, earlier: int) -> int:
    """Choose the first SM from the pointer on; the pointer moves one past it."""
    chosen = first_with_room(s, s.pointer, shut, earlier)
    s.pointer = following(s, chosen)
    return chosen


@inlined
def least_loaded(s: State, shut: int, earlier: int) -> int:
    """Choose the SM with the fewest occupied warp slots, ties to the lowest number."""
    chosen = first_with_room(s, 0, shut, earlier)
    for number in range(chosen + 1, s.rules.sms):
        if not s.has_room[number] or number in (shut, earlier):
            continue
        if s.sms[number].free[WARPS] > s.sms[chosen].free[WARPS]:
            chosen = number
    return chosen


@inlined
def freed_first(s: State, shut: int, earlier: int) -> int:
    """Choose the SM at the queue's head, which leaves, else the next in the order table."""
    if s.queued > 0:
        head: int = s.queue[s.front]
        s.front = s.front + 1 if s.front + 1 < len(s.queue) else 0
        s.queued -= 1
        if s.has_room[head] and head not in (shut, earlier):
            return head
    # The table stays as it is after reset: the identity.
    return from_pointer(s, shut, earlier)


@inlined
def choose(s: State, shut: int, earlier: int) -> int:
    """Choose one of the eligible SMs, by the placement policy; the ports of two are not open."""
    policy = s.rules.policy
    if policy == ROUND_ROBIN:
        return from_pointer(s, shut, earlier)
    if policy == LEAST_LOADED:
        return least_loaded(s, shut, earlier)
    if policy == FREED_FIRST:
        return freed_first(s, shut, earlier)
    return first_with_room(s, 0, shut, earlier)


# --- freed_first: the queue of SMs ---------------------------------------------------------------
@inlined
def entering(s: State) -> int:
    """Return the SM that enters the queue in this cycle, judged before its decision, or `NONE`."""
    if s.waiting == 0 or s.queued == s.rules.sms * s.rules.block_slots:
        return NONE
    number = s.entry_pointer
    while s.sms[number].waiting == 0:
        number = following(s, number)
    s.entry_pointer = following(s, number)
    return number


@inlined
def enter(s: State, number: int) -> None:
    """Let an SM enter the queue at the end of a cycle."""
    last = s.front + s.queued
    s.queue[last if last < len(s.queue) else last - len(s.queue)] = number
    s.queued += 1
    s.waiting -= 1
    s.sms[number].waiting -= 1


@inlined
def forget_freed(s: State) -> None:
    """Empty the queue, and the SMs' counters of what waits for it."""
    s.queued = s.waiting = 0
    for number in range(s.rules.sms):
        s.sms[number].waiting = 0
