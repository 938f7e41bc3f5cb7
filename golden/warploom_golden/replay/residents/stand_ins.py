"""The SMs' stand-ins: which blocks they hold, when these are due, and what they report.

Follows ``docs/replay/replay.md`` and ``docs/replay/contention.md``. Compiled as a part of
``residents.machine``.
"""

from warploom_golden.replay.compiled import inlined, part
from warploom_golden.replay.contention import ONE
from warploom_golden.replay.event_constants import (
    CYCLE,
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
from warploom_golden.replay.records import Integers
from warploom_golden.replay.residents.state import Row, State


# --- how long a block holds its slot -------------------------------------------------------------
@inlined
def mix(x: int) -> int:
    """Return 32 bits mixed, as ``block_length.mix`` does."""
    x ^= x >> 16
    x = x * 0x7FEB352D & 0xFFFF_FFFF
    x ^= x >> 15
    # As a negative number: a product of 64 bits does not overflow.
    x = x * (0x846CA68B - (1 << 32)) & 0xFFFF_FFFF
    return x ^ x >> 16


@inlined
def length(s: State, row: Row) -> int:
    """Return the length of a launch's next block, as ``block_length.block_lengths`` does."""
    hashed = mix((s.rules.seed ^ row.code) & 0xFFFF_FFFF)
    hashed = mix(mix(mix(hashed ^ row.bx) ^ row.by) ^ row.bz)
    jitter = (row.length >> 2) * (hashed >> 24) & 0xFFFF_FFFF
    found: int = (row.length - (row.length >> 3) + (jitter >> 8)) & 0xFFFF_FFFF
    return max(found, 4)


# --- contention ----------------------------------------------------------------------------------
@inlined
def rate(s: State, load: int) -> int:
    """Return how far each block of an SM comes in a cycle: never 0, whatever the load."""
    if load <= s.rules.knee:
        return ONE
    return max(ONE * s.rules.knee // load, 1)


@inlined
def progress_to(s: State, number: int, cycle: int) -> None:
    """Bring an SM's progress to a cycle, up to which it held the same warps."""
    sm = s.sms[number]
    sm.progress += (cycle - sm.since) * rate(s, sm.load)
    sm.since = cycle


@inlined
def reached(s: State, number: int, target: int) -> int:
    """Return the first cycle, of those that come, in which an SM's progress reaches a target."""
    if target == NOT_DUE:
        return NEVER
    sm = s.sms[number]
    each = rate(s, sm.load)
    ahead: int = max(target - sm.progress, 0)
    cycle: int = sm.since + (ahead + each - 1) // each
    return cycle


@inlined
def progress_when(s: State, number: int, cycle: int) -> int:
    """Return an SM's progress in a later cycle, as long as it holds the same warps."""
    sm = s.sms[number]
    later: int = sm.progress + (cycle - sm.since) * rate(s, sm.load)
    return later


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


@part
def plan(s: State, number: int, cycle: int) -> None:
    """Find the cycle of an SM's next report, ``cycle`` or later, unless it is silent then."""
    sm = s.sms[number]
    due = s.due[number][1] >> SLOT_BITS
    if s.rules.knee:
        due = reached(s, number, due)
    planned = max(due, cycle, sm.ready_at)
    if planned >= sm.silent_from:
        planned = NEVER
    enter_key(s.calendar, s.rules.sms, number, planned << SM_BITS | number)


@inlined
def hold(s: State, number: int, slot: int, due: int) -> None:
    """Let an SM hold a block until it is due, in a later cycle."""
    enter_key(s.due[number], s.rules.block_slots, slot, due << SLOT_BITS | slot)
    sm = s.sms[number]
    planned = s.calendar[s.rules.sms + number]
    due = max(due, sm.ready_at)
    if due < sm.silent_from:
        enter_key(s.calendar, s.rules.sms, number, min(planned, due << SM_BITS | number))


@part
def take_up(s: State, cycle: int) -> int:
    """Let the block that is offered in this cycle be taken; return the SM, or `NONE`.

    With contention alone, where its target depends on the SM's progress in this cycle.
    """
    if s.taken == s.picks:
        return NONE
    at = s.order[s.taken % len(s.order)]
    number: int = at[0]
    slot = at[1]
    block = s.slots[number, slot]
    if block.offer != cycle:
        return NONE
    progress_to(s, number, cycle)
    target = s.sms[number].progress + block.work
    enter_key(s.due[number], s.rules.block_slots, slot, target << SLOT_BITS | slot)
    row = s.rows[block.row]
    if row.kill and row.kill_at <= cycle:
        end_block(s, number, slot, cycle)
    plan(s, number, cycle)
    return number


@part
def end_block(s: State, number: int, slot: int, cycle: int) -> None:
    """Let a block end by a kill that acts in this cycle; with contention alone."""
    block = s.slots[number, slot]
    block.status = KILLED
    block.ends = cycle + s.rules.report_time
    s.sms[number].ending += 1
    target = progress_when(s, number, block.ends)
    enter_key(s.due[number], s.rules.block_slots, slot, target << SLOT_BITS | slot)


@part
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


@part
def count_taken(s: State, cycle: int) -> None:
    """Count the warps of the block that was taken in this cycle, from the next one on."""
    at = s.order[s.taken % len(s.order)]
    number: int = at[0]
    s.taken += 1
    block = s.slots[number, at[1]]
    # One of a killed launch may be reported already.
    if block.reported == NEVER:
        progress_to(s, number, cycle + 1)
        s.sms[number].load += block.load
        renew_ends(s, number)
        plan(s, number, cycle + 1)


@part
def begin_kill(s: State, row: int, cycle: int) -> None:
    """End the blocks of a launch whose kill level rises: those that are not due by themselves."""
    for n in range(s.rules.sms):
        if s.rules.knee:
            progress_to(s, n, cycle)
        for k in range(s.rules.block_slots):
            slot = s.slots[n, k]
            if slot.row != row or slot.reported != NEVER:
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


# --- what it reports -----------------------------------------------------------------------------
@part
def report(s: State, reports: Integers, number: int, cycle: int) -> int:
    """Let the SM's report of this cycle transfer; return its slot.

    The first due block is reported, then the one of the lowest slot.
    """
    slot: int = s.due[number][1] & SLOT_MASK
    block = s.slots[number, slot]
    if s.reports < reports.shape[1]:
        reports[CYCLE, s.reports] = cycle
        reports[SM, s.reports] = number
        reports[SLOT, s.reports] = slot
        reports[STATUS, s.reports] = block.status
        s.reports += 1
    block.reported = cycle
    enter_key(s.due[number], s.rules.block_slots, slot, NOT_DUE << SLOT_BITS | slot)
    if s.rules.knee:
        progress_to(s, number, cycle)
        if block.ends != NEVER:
            s.sms[number].ending -= 1
        # One just taken never slowed its SM down.
        if block.offer < cycle:
            s.sms[number].load -= block.load
        renew_ends(s, number)
    return slot


@inlined
def reporting(s: State, cycle: int) -> int:
    """Return the lowest SM whose report transfers in this cycle, `NONE` if there is none left."""
    if s.calendar[1] >> SM_BITS > cycle:
        return NONE
    number: int = s.calendar[1] & SM_MASK
    return number
