"""The dispatcher below the kernel queue, and the SMs' stand-ins, compiled.

Two places; blocks in order, the older launch first; drain and kill as levels of a place; each
taken block reported once. Time jumps from one cycle in which something happens to the next.

All of it stands in one file, with its constants: `compiled` says why.
"""

from typing import Final

from warploom_golden.preemption.state import Place, Slot, State
from warploom_golden.replay.compiled import compiled, inlined
from warploom_golden.replay.event_state import Integers

#: A cycle that never comes.
NEVER: Final = 1 << 54
#: No SM, no place, no stream.
NONE: Final = -1
#: Placement policies.
FIRST_FIT: Final = 0
ROUND_ROBIN: Final = 1
LEAST_LOADED: Final = 2
#: What a report says.
OK: Final = 0
FAULT: Final = 1
KILLED: Final = 2
#: Resources by number.
SLOTS: Final = 0
WARPS: Final = 1
#: Elements of the rings, powers of two.
PIPE: Final = 1024
ORDER: Final = 16384


# --- what a place's launch may do ----------------------------------------------------------------
@inlined
def stopped(place: Place, cycle: int) -> bool:
    """Tell whether a launch is stopped, by a drain or a kill."""
    return min(place.drain_at, place.kill_at) <= cycle


@inlined
def exhausted(place: Place) -> bool:
    """Tell whether every block was decided."""
    return place.next == place.end


@inlined
def is_newer(s: State, number: int) -> bool:
    """Tell whether the other place is occupied by an older launch."""
    other = s.places[1 - number]
    return other.occupied and other.order < s.places[number].order


# --- stops ---------------------------------------------------------------------------------------
@inlined
def begin_kill(s: State, number: int, cycle: int) -> None:
    """Raise a place's kill level: its blocks end, but for those that have ended by themselves."""
    place = s.places[number]
    place.killing = cycle
    for n in range(s.rules.sms):
        for k in range(s.rules.block_slots):
            slot = s.slots[n, k]
            if slot.place == number and not slot.reported and slot.due > cycle:
                slot.status = KILLED
                slot.due = cycle + s.rules.report_time
        plan(s, n)


@inlined
def apply_stops(s: State, cycle: int) -> int:
    """Let stops act that are seen from this cycle on; return a launch that was taken back.

    A launch whose first block was not decided before is taken back at once: its place is free
    from the next cycle on. Returns the place, `NONE` if there is none.
    """
    skipped = NONE
    for turn in range(2):
        number = older_first(s, turn)
        place = s.places[number]
        if not place.occupied:
            continue
        if place.kill_at <= cycle and place.killing == NEVER:
            begin_kill(s, number, cycle)
        taken_back = place.skip_at <= cycle or stopped(place, cycle)
        if taken_back and place.started == NEVER and not place.no_sm and skipped == NONE:
            if s.head == number:
                s.head = NONE
            place.occupied = False
            skipped = number
    return skipped


@inlined
def older_first(s: State, turn: int) -> int:
    """Return the place of the older launch for turn 0, the other one for turn 1."""
    older = 1 if s.places[1].order < s.places[0].order else 0
    return older if turn == 0 else 1 - older


# --- decisions -----------------------------------------------------------------------------------
@inlined
def has_room(s: State, n: int, cycle: int) -> bool:
    """Tell whether an SM may get the head's next block.

    Beside blocks of the other place it is known from `fit_table` cycles after the hand-over on
    what fits, and not in the cycle after one of them was decided for the SM.
    """
    sm, place = s.sms[n], s.places[s.head]
    if sm.lost:
        return False
    for k in range(len(sm.free)):
        if sm.free[k] < place.need[k]:
            return False
    other = 1 - s.head
    if sm.holds[other] == 0:
        return True
    known = place.since + s.rules.fit_table <= cycle
    return known and bool(sm.decided[other] != cycle - 1)


@inlined
def choose(s: State, cycle: int) -> int:
    """Choose an SM that has room by the placement policy; `NONE` if no SM has."""
    start = s.pointer if s.rules.policy == ROUND_ROBIN else 0
    chosen = NONE
    for step in range(s.rules.sms):
        n = start + step if start + step < s.rules.sms else start + step - s.rules.sms
        if not has_room(s, n, cycle):
            continue
        if s.rules.policy != LEAST_LOADED:
            chosen = n
            break
        if chosen == NONE or s.sms[n].free[WARPS] > s.sms[chosen].free[WARPS]:
            chosen = n
    if chosen != NONE:
        s.pointer = chosen + 1 if chosen + 1 < s.rules.sms else 0
    return chosen


@inlined
def take(s: State, n: int, number: int) -> int:
    """Take what a block needs, and the slot that has been free longest; return the slot."""
    sm = s.sms[n]
    k: int = s.free_slots[n, sm.front]
    sm.front = sm.front + 1 if sm.front + 1 < s.rules.block_slots else 0
    for r in range(len(sm.free)):
        sm.free[r] -= s.places[number].need[r]
    sm.holds[number] += 1
    return k


@inlined
def decide(s: State, lengths: Integers, log: Integers, cycle: int) -> bool:
    """Decide the head's next block; return whether the next cycle may differ for it."""
    if s.head == NONE:
        return False
    number = s.head
    place = s.places[number]
    n = choose(s, cycle)
    if n == NONE:
        return False
    k = take(s, n, number)
    s.sms[n].decided[number] = cycle
    offered = cycle + s.rules.offer
    slot = s.slots[n, k]
    slot.place = number
    slot.offer = offered
    slot.due = offered + lengths[number, place.next]
    slot.status = FAULT if place.next == place.fault_block else OK
    slot.reported = False
    slot.done = NEVER
    s.sms[n].due = min(s.sms[n].due, slot.due)
    note_offer(s, log, offered, n, k)
    if s.rules.in_order:
        row = s.order[s.decided & (ORDER - 1)]
        row[0], row[1], row[2] = n, k, NEVER
    s.decided += 1
    place.started = min(place.started, cycle)
    place.out += 1
    place.next += 1
    if exhausted(place):
        s.head = NONE
    return True


@inlined
def note_offer(s: State, log: Integers, offered: int, n: int, k: int) -> None:
    """Write an offer into the log, if there is one."""
    if s.offers < log.shape[1]:
        place = s.places[s.head]
        log[0, s.offers] = offered
        log[1, s.offers] = n
        log[2, s.offers] = k
        log[3, s.offers] = place.ticket
        log[4, s.offers] = place.next
        s.offers += 1


@inlined
def walk(s: State, cycle: int) -> bool:
    """Make the next launch the head from the next cycle on; return whether one may become it.

    Called when there is no head left at a cycle's end. A newer launch follows when the older one
    has no block left to place, or is stopped, and when it does not wait for the older one's stream.
    """
    for turn in range(2):
        number = older_first(s, turn)
        place, other = s.places[number], s.places[1 - number]
        if not place.occupied or place.walking or stopped(place, cycle):
            continue
        if cycle < place.since + s.rules.stage:
            return True
        if is_newer(s, number):
            if not (exhausted(other) or stopped(other, cycle)):
                return False
            if place.awaits == other.stream:
                return False
        place.walking = True
        s.head = number
        return True
    return False


# --- the SMs' stand-ins --------------------------------------------------------------------------
@inlined
def plan(s: State, n: int) -> None:
    """Find the cycle of an SM's next report."""
    sm = s.sms[n]
    sm.due = NEVER
    for k in range(s.rules.block_slots):
        sm.due = min(sm.due, s.slots[n, k].due)


@inlined
def send(s: State, log: Integers, cycle: int) -> None:
    """Let each SM report one block that is due: the first due, then of the lowest slot.

    What is overdue, because several blocks were due at once, follows in the next cycles.
    """
    for n in range(s.rules.sms):
        sm = s.sms[n]
        if sm.due > cycle or cycle >= sm.silent_from:
            continue
        k = 0
        while s.slots[n, k].due != sm.due:
            k += 1
        slot = s.slots[n, k]
        slot.due = NEVER
        if sm.lost:
            s.ignored += 1
        else:
            report(s, slot, cycle)
            row = s.pipe[s.sent & (PIPE - 1)]
            row[0], row[1], row[2] = cycle, n, k
            s.sent += 1
        if s.reports < log.shape[1]:
            log[0, s.reports] = cycle
            log[1, s.reports] = n
            log[2, s.reports] = k
            log[3, s.reports] = slot.status
            s.reports += 1
        plan(s, n)


@inlined
def report(s: State, slot: Slot, cycle: int) -> None:
    """Count a block's report for its launch."""
    place = s.places[slot.place]
    slot.reported = True
    place.last_report = cycle
    place.held += cycle - slot.offer
    if slot.status == KILLED:
        place.killed += 1
    elif slot.status == FAULT:
        place.faults += 1


# --- what was reported ---------------------------------------------------------------------------
@inlined
def process(s: State, cycle: int) -> bool:
    """Process the reports of ``returns`` - 1 cycles before; return whether there were any."""
    first = s.processed
    while s.processed < s.sent:
        row = s.pipe[s.processed & (PIPE - 1)]
        if row[0] != cycle - (s.rules.returns - 1):
            break
        n, k = row[1], row[2]
        slot = s.slots[n, k]
        place = s.places[slot.place]
        if slot.status == FAULT:
            place.kill_at = min(place.kill_at, cycle + 1)
        if s.rules.in_order:
            slot.done = cycle + 1
        elif not s.sms[n].lost:
            give_back(s, n, k)
        else:
            place.out -= 1
        s.processed += 1
    return s.processed > first


@inlined
def give_back(s: State, n: int, k: int) -> None:
    """Return what a block held; its slot is now the one that has been free shortest."""
    sm, slot = s.sms[n], s.slots[n, k]
    place = s.places[slot.place]
    behind = sm.front + sm.free[SLOTS]
    s.free_slots[n, behind if behind < s.rules.block_slots else behind - s.rules.block_slots] = k
    for r in range(len(sm.free)):
        sm.free[r] += place.need[r]
    sm.holds[slot.place] -= 1
    place.out -= 1
    slot.place = NONE


@inlined
def reclaim(s: State, cycle: int) -> bool:
    """In order: return what was retired before, and retire; return whether there was any."""
    pending = s.returned < s.retired
    while s.returned < s.retired:
        row = s.order[s.returned & (ORDER - 1)]
        if row[2] > cycle:
            break
        n, k = row[0], row[1]
        if s.sms[n].lost:
            s.places[s.slots[n, k].place].out -= 1
        else:
            give_back(s, n, k)
        s.returned += 1
    most = min(s.decided, s.retired + s.rules.retire_width)
    while s.retired < most:
        row = s.order[s.retired & (ORDER - 1)]
        if s.slots[row[0], row[1]].done > cycle:
            break
        row[2] = cycle + s.rules.returns - 1
        s.retired += 1
    return pending or s.returned < s.retired


# --- lost SMs ------------------------------------------------------------------------------------
@inlined
def lose(s: State, cycle: int) -> bool:
    """Lose the SMs that did not report a killed block in time; return whether one was lost."""
    found = False
    for number in range(2):
        place = s.places[number]
        if not place.occupied or cycle != place.killing + s.rules.kill_timeout:
            continue
        for n in range(s.rules.sms):
            if not s.sms[n].lost and holds_unreported(s, n, number):
                lose_sm(s, n, cycle)
                found = True
    return found


@inlined
def holds_unreported(s: State, n: int, number: int) -> bool:
    """Tell whether an SM holds a block of a place that it has not reported."""
    for k in range(s.rules.block_slots):
        if s.slots[n, k].place == number and not s.slots[n, k].reported:
            return True
    return False


@inlined
def lose_sm(s: State, n: int, cycle: int) -> None:
    """Take an SM out of use: its unreported blocks count as returned, and kill their launches."""
    s.sms[n].lost = True
    s.lost += 1
    for k in range(s.rules.block_slots):
        slot = s.slots[n, k]
        if slot.place == NONE or slot.reported:
            continue
        place = s.places[slot.place]
        slot.reported = True
        slot.done = cycle + 1
        place.sm_lost = True
        place.kill_at = min(place.kill_at, cycle + 1)
        if not s.rules.in_order:
            place.out -= 1


@inlined
def give_up(s: State, cycle: int) -> None:
    """End every launch that has blocks left: no SM is."""
    for number in range(2):
        place = s.places[number]
        if place.occupied and not exhausted(place):
            place.no_sm = True
            place.drain_at = min(place.drain_at, cycle + 1)


# --- ends ----------------------------------------------------------------------------------------
@inlined
def note_ends(s: State, cycle: int) -> None:
    """Judge which launches are gone: no block out, and none left to place."""
    for number in range(2):
        place = s.places[number]
        if not place.occupied or place.load != NEVER or place.out > 0:
            continue
        if exhausted(place) or (stopped(place, cycle) and s.head != number):
            place.load = cycle + s.rules.end - 1


@inlined
def load(s: State, cycle: int) -> int:
    """Free the place of the older launch that is gone; return the place, or `NONE`."""
    for turn in range(2):
        number = older_first(s, turn)
        place = s.places[number]
        if place.occupied and place.load <= cycle:
            place.occupied = False
            return number
    return NONE


# --- time ----------------------------------------------------------------------------------------
@inlined
def next_event(s: State, cycle: int) -> int:
    """Return the first cycle after this one in which something happens by itself."""
    event = NEVER
    for number in range(2):
        place = s.places[number]
        if not place.occupied:
            continue
        event = min(event, place.load)
        timeout = place.killing + s.rules.kill_timeout
        for at in (place.skip_at, place.drain_at, place.kill_at, timeout):
            if at > cycle:
                event = min(event, at)
        for at in (place.since + s.rules.stage, place.since + s.rules.fit_table):
            if at > cycle:
                event = min(event, at)
    for n in range(s.rules.sms):
        # What is overdue when an SM falls silent is never sent.
        if max(s.sms[n].due, cycle + 1) < s.sms[n].silent_from:
            event = min(event, s.sms[n].due)
        if s.head != NONE and s.sms[n].decided[1 - s.head] == cycle - 1:
            event = cycle + 1
    if s.processed < s.sent:
        event = min(event, s.pipe[s.processed & (PIPE - 1), 0] + s.rules.returns - 1)
    return max(event, cycle + 1)


@inlined
def run_cycle(
    s: State, lengths: Integers, offers: Integers, reports: Integers, cycle: int
) -> tuple[int, int, bool]:
    """Run one cycle on the state at its start.

    Returns the next cycle in which something may happen, the place whose launch left it in this
    one (or `NONE`), and whether a launch started or an SM was lost.
    """
    ended = apply_stops(s, cycle)
    note_ends(s, cycle)
    started = False
    if s.head != NONE and stopped(s.places[s.head], cycle):
        # A stopped head is flushed: the next launch is given to the walker one cycle later.
        s.head = NONE
        busy = True
    else:
        unstarted = s.head != NONE and s.places[s.head].started == NEVER
        busy = decide(s, lengths, offers, cycle)
        started = busy and unstarted
        if s.head == NONE:
            busy |= walk(s, cycle)
    send(s, reports, cycle)
    busy |= process(s, cycle)
    if s.rules.in_order:
        busy |= reclaim(s, cycle)
    lost = lose(s, cycle)
    if s.lost == s.rules.sms:
        give_up(s, cycle)
    if ended == NONE:
        ended = load(s, cycle)
    busy |= lost or ended != NONE
    return cycle + 1 if busy else next_event(s, cycle), ended, started or lost


@compiled
def advance(
    s: State, lengths: Integers, offers: Integers, reports: Integers, cycle: int, until: int
) -> tuple[int, int, bool]:
    """Run from one cycle to another, or until the kernel queue must know what happened.

    Parameters
    ----------
    s : State
        The state at the start of ``cycle``.
    lengths : array of int64, shape (2, blocks)
        For each place the lengths of its launch's blocks, in cycles.
    offers, reports : array of int64, shape (5, rows) and (4, rows)
        Logs: cycle, SM, slot, and ticket and block number, or status; as many as there are rows.
    cycle, until : int
        The first cycle to run, and the first one not to run.

    Returns
    -------
    tuple
        The next cycle to run, ``until`` at most; the place whose launch left it in the cycle
        before the next, or `NONE`; whether a launch started or an SM was lost.
    """
    ended, news = NONE, False
    while cycle < until and ended == NONE and not news:
        event, ended, news = run_cycle(s, lengths, offers, reports, cycle)
        cycle = cycle + 1 if ended != NONE or news else min(event, until)
    return cycle, ended, news
