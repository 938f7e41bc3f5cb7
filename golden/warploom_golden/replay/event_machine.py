"""BlockDispatcher and the SMs' stand-in of the event model, compiled.

What stands here follows ``docs/dispatch/block_dispatcher.md`` and ``docs/replay/replay.md`` for the
environment of a replay: offers are taken at once, all SMs are in use, no launch is stopped. Time
jumps from one cycle in which something happens to the next.

All of it stands in one file, with its constants; `compiled` says why.
"""

from typing import Final

from warploom_golden.replay.compiled import compiled, inlined
from warploom_golden.replay.event_state import Amounts, Integers, State

#: A cycle that never comes.
NEVER: Final = 1 << 54
#: No SM, no place, no stream.
NONE: Final = -1
#: Placement policies.
FIRST_FIT: Final = 0
ROUND_ROBIN: Final = 1
LEAST_LOADED: Final = 2
FREED_FIRST: Final = 3
#: A key of a tournament is a cycle, and below it the number of a slot or an SM.
SLOT_BITS: Final = 6
SM_BITS: Final = 8
SLOT_MASK: Final = (1 << SLOT_BITS) - 1
SM_MASK: Final = (1 << SM_BITS) - 1
#: Rows of `offers` and `reports`, which have a column for each block.
CYCLE: Final = 0
SM: Final = 1
SLOT: Final = 2
LENGTH: Final = 3
#: Cycles from a launch's transfer, beside the most blocks that fit, until its limit is known.
LIMIT_KNOWN: Final = 3
#: Resources by number.
SLOTS: Final = 0
WARPS: Final = 1


# --- what SMs have free --------------------------------------------------------------------------
@inlined
def judge(s: State, number: int) -> None:
    """Find out whether an SM has room for the next block."""
    sm = s.sms[number]
    room = 1 if sm.others == 0 else 0
    for k in range(len(sm.free)):
        room &= 1 if sm.free[k] >= s.need[k] else 0
    s.rooms += room - sm.room
    sm.room = room


@inlined
def fit(s: State, need: Amounts, known: bool, last: int) -> None:
    """Judge all SMs by what a block of the launch that is next needs.

    Unless it is ``known`` how many fit beside the blocks that are there now, they go only where
    none of those is. The SM ``last``, which got the last of those just now, has no room yet.
    """
    for k in range(len(need)):
        s.need[k] = need[k]
    for number in range(s.rules.sms):
        sm = s.sms[number]
        sm.others = 0 if known and number != last else s.rules.block_slots - sm.free[SLOTS]
        judge(s, number)


@inlined
def take(s: State, number: int) -> int:
    """Take what the next block needs, and the slot that has been free longest; return the slot."""
    sm = s.sms[number]
    slot: int = s.fifo[number, sm.front]
    sm.front = sm.front + 1 if sm.front + 1 < s.rules.block_slots else 0
    for k in range(len(sm.free)):
        sm.free[k] -= s.need[k]
    judge(s, number)
    return slot


@inlined
def give_back(s: State, number: int, slot: int) -> None:
    """Return what a block took; its slot is the last of the free ones."""
    sm = s.sms[number]
    place = s.places[s.slots[number, slot].place]
    back = sm.front + sm.free[SLOTS]
    s.fifo[number, back if back < s.rules.block_slots else back - s.rules.block_slots] = slot
    for k in range(len(sm.free)):
        sm.free[k] += place.need[k]
    # As long as there are others, it got none of the head's launch.
    sm.others = max(sm.others - 1, 0)
    judge(s, number)


@inlined
def leave(s: State, number: int, slot: int, cycle: int) -> None:
    """Let a block be out no longer, from the next cycle on; count its slot as free."""
    place = s.places[s.slots[number, slot].place]
    if s.rules.policy == FREED_FIRST:
        s.sms[number].waiting += 1
        s.waiting += 1
    place.out -= 1
    if place.out == 0 and s.decided >= place.end:
        # Gone from the next cycle on.
        place.load = cycle + s.rules.end


# --- which SM a block is placed on ---------------------------------------------------------------
@inlined
def closed(s: State, cycle: int) -> int:
    """Return the SM whose port is not open: it got a block in the cycle before. `NONE`: no SM."""
    return s.last if s.last_cycle == cycle - 1 else NONE


@inlined
def first_with_room(s: State, start: int, shut: int) -> int:
    """Return the first SM from ``start`` on, cyclically, that is eligible; one is."""
    number = start
    while not s.sms[number].room or number == shut:
        number = following(s, number)
    return number


@inlined
def following(s: State, number: int) -> int:
    """Return the number of the SM behind another one, cyclically."""
    return number + 1 if number + 1 < s.rules.sms else 0


@inlined
def from_pointer(s: State, shut: int) -> int:
    """Choose the first SM from the pointer on; the pointer moves one past it."""
    chosen = first_with_room(s, s.pointer, shut)
    s.pointer = following(s, chosen)
    return chosen


@inlined
def least_loaded(s: State, shut: int) -> int:
    """Choose the SM with the fewest occupied warp slots, ties to the lowest number."""
    chosen = first_with_room(s, 0, shut)
    for number in range(chosen + 1, s.rules.sms):
        if not s.sms[number].room or number == shut:
            continue
        if s.sms[number].free[WARPS] > s.sms[chosen].free[WARPS]:
            chosen = number
    return chosen


@inlined
def freed_first(s: State, shut: int) -> int:
    """Choose the SM at the queue's head, which leaves, else the next in the order table."""
    if s.queued > 0:
        head: int = s.queue[s.front]
        s.front = s.front + 1 if s.front + 1 < len(s.queue) else 0
        s.queued -= 1
        if s.sms[head].room and head != shut:
            return head
    # A replay leaves the table as it is after reset: the identity.
    return from_pointer(s, shut)


@inlined
def choose(s: State, shut: int) -> int:
    """Choose one of the eligible SMs, by the placement policy."""
    policy = s.rules.policy
    if policy == ROUND_ROBIN:
        return from_pointer(s, shut)
    if policy == LEAST_LOADED:
        return least_loaded(s, shut)
    if policy == FREED_FIRST:
        return freed_first(s, shut)
    return first_with_room(s, 0, shut)


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


# --- the SMs' stand-in ---------------------------------------------------------------------------
@inlined
def enter_key(tournament: Integers, players: int, player: int, key: int) -> None:
    """Change the key of one player of a tournament, whose element 1 is the least of all keys."""
    node = players + player
    tournament[node] = key
    while node > 1:
        node >>= 1
        tournament[node] = min(tournament[2 * node], tournament[2 * node + 1])


@inlined
def hold(s: State, number: int, slot: int, due: int) -> None:
    """Let an SM hold a block until it is due, in a later cycle."""
    enter_key(s.due[number], s.rules.block_slots, slot, due << SLOT_BITS | slot)
    planned = s.calendar[s.rules.sms + number]
    enter_key(s.calendar, s.rules.sms, number, min(planned, due << SM_BITS | number))


@inlined
def send(s: State, reports: Integers, cycle: int) -> None:
    """Let each SM report one block that is due: the first due, then of the lowest slot."""
    while s.calendar[1] >> SM_BITS <= cycle:
        number = s.calendar[1] & SM_MASK
        due = s.due[number]
        slot = due[1] & SLOT_MASK
        reports[CYCLE, s.sent] = cycle
        reports[SM, s.sent] = number
        reports[SLOT, s.sent] = slot
        s.sent += 1
        block = s.slots[number, slot]
        s.places[block.place].last_report = cycle
        block.done = cycle + s.rules.returns - 2
        enter_key(due, s.rules.block_slots, slot, NEVER << SLOT_BITS | slot)
        # One that is overdue waits for the next cycle.
        planned = max(due[1] >> SLOT_BITS, cycle + 1)
        enter_key(s.calendar, s.rules.sms, number, planned << SM_BITS | number)


# --- what was reported ---------------------------------------------------------------------------
@inlined
def process(s: State, offers: Integers, reports: Integers, cycle: int) -> bool:
    """Process earlier reports at the end of a cycle; return whether the next one may differ."""
    if s.rules.in_order:
        return reclaim(s, offers, cycle)
    first, given = s.processed, s.given
    while s.processed < s.sent and reports[CYCLE, s.processed] == cycle - (s.rules.returns - 2):
        leave(s, reports[SM, s.processed], reports[SLOT, s.processed], cycle)
        s.processed += 1
    while s.given < first and reports[CYCLE, s.given] == cycle - (s.rules.returns - 1):
        give_back(s, reports[SM, s.given], reports[SLOT, s.given])
        s.given += 1
    return s.processed > first or s.given > given


@inlined
def reclaim(s: State, offers: Integers, cycle: int) -> bool:
    """Retire one block in order, and return earlier ones; return whether the next cycle may differ.

    A block that retires in u is out no longer at the end of u + `returns` - 2, and has returned
    what it took a cycle later.
    """
    while s.counted < s.retired:
        number, slot = offers[SM, s.counted], offers[SLOT, s.counted]
        if s.slots[number, slot].returns - 1 > cycle:
            break
        leave(s, number, slot, cycle)
        s.counted += 1
    pending = s.returned < s.retired
    while s.returned < s.retired:
        number, slot = offers[SM, s.returned], offers[SLOT, s.returned]
        if s.slots[number, slot].returns > cycle:
            break
        give_back(s, number, slot)
        s.returned += 1
    if s.retired < s.decided:
        block = s.slots[offers[SM, s.retired], offers[SLOT, s.retired]]
        if block.done <= cycle:
            block.returns = cycle + s.rules.returns - 1
            s.retired += 1
    return pending or s.returned < s.retired


# --- the two places ------------------------------------------------------------------------------
@inlined
def give(s: State, cycle: int) -> bool:
    """Give a launch to the walker; return whether one was given or will be by itself."""
    was_held = s.held
    s.held = False
    for number in (s.older, 1 - s.older):
        place, older = s.places[number], s.places[s.older]
        if not place.occupied or place.walking:
            continue
        if cycle < place.since + s.rules.stage - 1:
            return True
        if number != s.older and s.decided < older.end:
            return False
        if number != s.older and place.awaits == older.stream:
            s.held = True
            s.stall_order += 1
            return False
        if was_held or cycle < place.since + s.rules.stage:
            # It was not the candidate in the cycle before, or held by order then.
            return True
        place.walking = True
        s.head = number
        # It is the head from the next cycle on, in which the SM that got a block in the cycle
        # before this one has no room yet.
        other = s.places[1 - number]
        known = place.since + s.rules.fit_table + 2 * place.most
        known += other.most if other.occupied else 0
        fit(s, place.need, known <= cycle + 1, closed(s, cycle))
        s.known = max(known, cycle + 2)
        return True
    return False


@inlined
def decide(s: State, offers: Integers, cycle: int) -> bool:
    """Place the head if an SM is eligible, or give the walker its next launch.

    Returns whether the next cycle may differ for it.
    """
    if s.head == NONE:
        return give(s, cycle)
    shut = closed(s, cycle)
    open_rooms = s.rooms
    if shut != NONE:
        open_rooms -= s.sms[shut].room
    if open_rooms == 0:
        stall(s, shut, cycle, 1)
        return shut != NONE
    number = choose(s, shut)
    slot = take(s, number)
    place = s.places[s.head]
    place.started = min(place.started, cycle)
    place.out += 1
    s.slots[number, slot].place = s.head
    s.slots[number, slot].done = NEVER
    offered = cycle + s.rules.offer
    hold(s, number, slot, offered + offers[LENGTH, s.decided])
    offers[CYCLE, s.decided] = offered
    offers[SM, s.decided] = number
    offers[SLOT, s.decided] = slot
    s.decided += 1
    s.last, s.last_cycle = number, cycle
    if s.decided == place.end:
        s.head = NONE
    return True


@inlined
def load(s: State, cycle: int) -> int:
    """Load the end of the older launch that is gone; return its place, or `NONE`."""
    for number in (s.older, 1 - s.older):
        place = s.places[number]
        if place.load <= cycle:
            place.occupied = False
            place.load = NEVER
            s.older = 1 - number
            return number
    return NONE


# --- time ----------------------------------------------------------------------------------------
@inlined
def stall(s: State, shut: int, cycle: int, cycles: int) -> None:
    """Count cycles, from ``cycle`` on, in which no SM is eligible for the head.

    The SM ``shut`` does not hold the block that it got in the cycle before yet: it has room.
    """
    if shut != NONE:
        s.stall_offer += cycles
        if s.rules.sms == 1:
            return
    place = s.places[s.head]
    # Before, it is not known what limits the launch.
    cycles = min(cycles, cycle + cycles - (place.since + place.most + LIMIT_KNOWN))
    if cycles > 0:
        for k in range(len(s.stalls)):
            s.stalls[k] += cycles * place.limiting[k]


@inlined
def resident(s: State, cycle: int) -> bool:
    """Tell whether a place is occupied and started, by the state at the start of a cycle."""
    for number in range(2):
        if s.places[number].occupied and s.places[number].started < cycle - 1:
            return True
    return False


@inlined
def next_event(s: State, offers: Integers, reports: Integers, cycle: int) -> int:
    """Return the first cycle after this one in which something happens by itself."""
    event: int = min(s.known, s.calendar[1] >> SM_BITS, s.places[0].load, s.places[1].load)
    if s.processed < s.sent and not s.rules.in_order:
        event = min(event, reports[CYCLE, s.processed] + s.rules.returns - 2)
    if s.rules.in_order and s.retired < s.decided:
        event = min(event, s.slots[offers[SM, s.retired], offers[SLOT, s.retired]].done)
    return max(event, cycle + 1)


@inlined
def run_cycle(s: State, offers: Integers, reports: Integers, cycle: int) -> tuple[int, int]:
    """Run one cycle on the state at its start.

    Returns the next cycle in which something may happen, and the place whose end was loaded in
    this one, or `NONE`.
    """
    if s.known <= cycle:
        s.known = NEVER
        if s.head != NONE:
            fit(s, s.need, True, NONE)
    started = resident(s, cycle)
    entrant = entering(s)
    busy = decide(s, offers, cycle)
    if not started and s.queued + s.waiting > 0:
        forget_freed(s)
    elif entrant != NONE:
        enter(s, entrant)
    busy |= process(s, offers, reports, cycle)
    send(s, reports, cycle)
    ended = load(s, cycle)
    busy |= entrant != NONE or ended != NONE
    return cycle + 1 if busy else next_event(s, offers, reports, cycle), ended


@compiled
def advance(
    s: State, offers: Integers, reports: Integers, cycle: int, until: int
) -> tuple[int, int]:
    """Run from one cycle to another, or until a launch's end is loaded.

    Parameters
    ----------
    s : State
        The state at the start of ``cycle``.
    offers, reports : array of int64
        Rows `CYCLE`, `SM` and `SLOT` of what happens to blocks, to be filled in; row `LENGTH` of
        ``offers`` says how long each block holds its slot.
    cycle, until : int
        The first cycle to run, and the first one not to run.

    Returns
    -------
    tuple of int
        The next cycle in which something may happen, ``until`` at most; `NEVER` when nothing can
        happen any more by itself. And the place whose end was loaded in the cycle before, or
        `NONE`.
    """
    ended = NONE
    while cycle < until and ended == NONE:
        event, ended = run_cycle(s, offers, reports, cycle)
        event = min(event, until)
        # Nothing changes in the cycles between.
        between = event - cycle - 1
        if event < NEVER and s.head != NONE:
            stall(s, NONE, cycle + 1, between)
        elif event < NEVER and s.held:
            s.stall_order += between
        cycle = event
    return cycle, ended
