"""The SMs' stand-in of the event model, what it reports, and when what a block took returns.

Follows ``docs/replay/replay.md``; of the dispatcher with two places.
Compiled as a part of ``event_machine``.
"""

from warploom_golden.replay.compiled import inlined
from warploom_golden.replay.event_constants import (
    CYCLE,
    FAULT,
    FREED_FIRST,
    KILLED,
    NEVER,
    NONE,
    NOT_DUE,
    SLOT,
    SLOT_BITS,
    SLOT_MASK,
    SM,
    SM_BITS,
    SM_MASK,
    STATUS,
)
from warploom_golden.replay.event_contention import (
    load_from_next,
    progress_to,
    progress_when,
    reached,
    unload,
)
from warploom_golden.replay.event_placement import give_back
from warploom_golden.replay.event_state import Integers, Slot, State
from warploom_golden.replay.event_stops import note_if_gone, stop_from


# --- what an SM holds ----------------------------------------------------------------------------
@inlined
def enter_key(tournament: Integers, players: int, player: int, key: int) -> None:
    """Change the key of one player of a tournament, whose element 1 is the least of all keys."""
    node = players + player
    tournament[node] = key
    while node > 1:
        node >>= 1
        least = min(tournament[2 * node], tournament[2 * node + 1])
        if least == tournament[node]:
            # All above stays as it is, too.
            return
        tournament[node] = least


@inlined
def plan(s: State, number: int, cycle: int) -> None:
    """Find the cycle of an SM's next report, ``cycle`` or later, unless it is silent then."""
    due = s.due[number][1] >> SLOT_BITS
    if s.rules.knee:
        due = reached(s, number, due)
    planned = max(due, cycle)
    if planned >= s.sms[number].silent_from:
        planned = NEVER
    enter_key(s.calendar, s.rules.sms, number, planned << SM_BITS | number)


@inlined
def hold(s: State, number: int, slot: int, due: int) -> None:
    """Let an SM hold a block until it is due, in a later cycle."""
    enter_key(s.due[number], s.rules.block_slots, slot, due << SLOT_BITS | slot)
    planned = s.calendar[s.rules.sms + number]
    if due < s.sms[number].silent_from:
        enter_key(s.calendar, s.rules.sms, number, min(planned, due << SM_BITS | number))


@inlined
def take_up(s: State, cycle: int) -> int:
    """Let the block that stands at an SM's port in this cycle be taken; return the SM, or `NONE`.

    With contention alone, where its target depends on the SM's progress in this cycle.
    """
    if s.taken == s.decided:
        return NONE
    row = s.order[s.taken % len(s.order)]
    number: int = row[0]
    slot = row[1]
    block = s.slots[number, slot]
    if block.offer != cycle:
        return NONE
    progress_to(s, number, cycle)
    target = s.sms[number].progress + block.work
    enter_key(s.due[number], s.rules.block_slots, slot, target << SLOT_BITS | slot)
    if s.places[block.place].kill_at <= cycle and s.sms[number].lost_at > cycle:
        end_block(s, number, slot, cycle)
    plan(s, number, cycle)
    return number


@inlined
def end_block(s: State, number: int, slot: int, cycle: int) -> None:
    """Let a block end by a kill that acts in this cycle; with contention alone."""
    block = s.slots[number, slot]
    block.status = KILLED
    block.ends = cycle + s.rules.report_time
    s.sms[number].ending += 1
    target = progress_when(s, number, block.ends)
    enter_key(s.due[number], s.rules.block_slots, slot, target << SLOT_BITS | slot)


@inlined
def renew_ends(s: State, number: int) -> None:
    """Find the targets of an SM's killed blocks again: its rate is another one from now on."""
    if s.rules.report_time == 0 or s.sms[number].ending == 0:
        return
    for k in range(s.rules.block_slots):
        block = s.slots[number, k]
        held = s.due[number, s.rules.block_slots + k] >> SLOT_BITS != NOT_DUE
        if held and block.ends != NEVER and block.ends > s.sms[number].since:
            target = progress_when(s, number, block.ends)
            enter_key(s.due[number], s.rules.block_slots, k, target << SLOT_BITS | k)


@inlined
def count_taken(s: State, cycle: int) -> None:
    """Count the warps of the block that was taken in this cycle, from the next one on."""
    row = s.order[s.taken % len(s.order)]
    s.taken += 1
    block = s.slots[row[0], row[1]]
    # One of a killed place may be reported already.
    if block.reported == NEVER:
        load_from_next(s, block, row[0], cycle)
        renew_ends(s, row[0])
        plan(s, row[0], cycle + 1)


@inlined
def begin_kill(s: State, number: int, cycle: int) -> None:
    """End the blocks of a place whose kill level rises: those that are not due by themselves."""
    for n in range(s.rules.sms):
        if s.sms[n].lost_at != NEVER:
            continue
        if s.rules.knee:
            progress_to(s, n, cycle)
        for k in range(s.rules.block_slots):
            slot = s.slots[n, k]
            if slot.place != number or slot.reported != NEVER:
                continue
            due = s.due[n, s.rules.block_slots + k] >> SLOT_BITS
            if s.rules.knee:
                # One that is not taken yet is ended when it is.
                if slot.offer < cycle and due > s.sms[n].progress:
                    end_block(s, n, k, cycle)
                continue
            ended = max(cycle, slot.offer)
            if due > ended:
                slot.status = KILLED
                ended += s.rules.report_time
                enter_key(s.due[n], s.rules.block_slots, k, ended << SLOT_BITS | k)
        plan(s, n, cycle)


@inlined
def send(s: State, reports: Integers, cycle: int) -> bool:
    """Let each SM report one block that is due: the first due, then of the lowest slot.

    Returns whether the next cycle may differ for it.
    """
    sent = False
    while s.calendar[1] >> SM_BITS <= cycle:
        number = s.calendar[1] & SM_MASK
        slot = s.due[number][1] & SLOT_MASK
        block = s.slots[number, slot]
        if s.reports < reports.shape[1]:
            reports[CYCLE, s.reports] = cycle
            reports[SM, s.reports] = number
            reports[SLOT, s.reports] = slot
            reports[STATUS, s.reports] = block.status
            s.reports += 1
        if s.sms[number].lost_at <= cycle + 1:
            s.ignored += 1
        else:
            report(s, block, number, slot, cycle)
        enter_key(s.due[number], s.rules.block_slots, slot, NOT_DUE << SLOT_BITS | slot)
        if s.rules.knee:
            unload(s, block, number, cycle)
            renew_ends(s, number)
        # One that is overdue waits for the next cycle.
        plan(s, number, cycle + 1)
        if s.rules.at_once and s.sms[number].lost_at > cycle + 1:
            leave(s, number, slot, cycle)
            give_back(s, number, slot)
        sent = True
    return sent and s.rules.at_once


@inlined
def report(s: State, block: Slot, number: int, slot: int, cycle: int) -> None:
    """Count a block's report; a fault kills its launch."""
    place = s.places[block.place]
    place.last_report = cycle
    place.held += cycle - block.offer
    block.reported = cycle
    block.done = cycle + s.rules.returns - 2
    if block.status == KILLED:
        place.killed += 1
    elif block.status == FAULT:
        place.faults += 1
        stop_from(s, block.place, cycle + s.rules.fault, True)
    if not s.rules.in_order and not s.rules.at_once:
        row = s.pipe[s.sent % len(s.pipe)]
        row[CYCLE], row[SM], row[SLOT] = cycle, number, slot
        s.sent += 1


# --- what was reported ---------------------------------------------------------------------------
@inlined
def leave(s: State, number: int, slot: int, cycle: int) -> None:
    """Let a block be out no longer, from the next cycle on; count its slot as free."""
    if s.rules.policy == FREED_FIRST and s.sms[number].lost_at > cycle:
        s.sms[number].waiting += 1
        s.waiting += 1
    block = s.slots[number, slot]
    if block.out:
        block.out = False
        s.places[block.place].out -= 1
        note_if_gone(s, block.place, cycle + 1)


@inlined
def remove_lost_blocks(s: State, cycle: int) -> None:
    """Let the blocks of SMs that are lost for so long be out no longer, from the next cycle on."""
    for n in range(s.rules.sms):
        if s.sms[n].lost_at + s.rules.loss_kill - 2 != cycle:
            continue
        for k in range(s.rules.block_slots):
            block = s.slots[n, k]
            if block.place != NONE and block.out:
                block.out = False
                s.places[block.place].out -= 1
                note_if_gone(s, block.place, cycle + 1)


@inlined
def process(s: State, cycle: int) -> bool:
    """Process earlier reports at the end of a cycle; return whether the next one may differ."""
    if s.rules.in_order:
        return reclaim(s, cycle)
    first, given = s.processed, s.given
    while s.processed < s.sent:
        row = s.pipe[s.processed % len(s.pipe)]
        if row[CYCLE] != cycle - (s.rules.returns - 2):
            break
        leave(s, row[SM], row[SLOT], cycle)
        s.processed += 1
    while s.given < first:
        row = s.pipe[s.given % len(s.pipe)]
        if row[CYCLE] != cycle - (s.rules.returns - 1):
            break
        give_back(s, row[SM], row[SLOT])
        s.given += 1
    return s.processed > first or s.given > given


@inlined
def reclaim(s: State, cycle: int) -> bool:
    """Retire one block in order, and return earlier ones; return whether the next cycle may differ.

    A block that retires in u is out no longer at the end of u + `returns` - 2, and has returned
    what it took a cycle later.
    """
    while s.counted < s.retired:
        row = s.order[s.counted % len(s.order)]
        if s.slots[row[0], row[1]].returns - 1 > cycle:
            break
        leave(s, row[0], row[1], cycle)
        s.counted += 1
    pending = s.returned < s.retired
    while s.returned < s.retired:
        row = s.order[s.returned % len(s.order)]
        if s.slots[row[0], row[1]].returns > cycle:
            break
        give_back(s, row[0], row[1])
        s.returned += 1
    if s.retired < s.decided:
        row = s.order[s.retired % len(s.order)]
        block = s.slots[row[0], row[1]]
        if block.done <= cycle or s.sms[row[0]].lost_at <= cycle:
            block.returns = cycle + s.rules.returns - 1
            s.retired += 1
    return pending or s.returned < s.retired
