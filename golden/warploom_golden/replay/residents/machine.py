"""BlockDispatcher and the SMs' stand-ins of the event model, compiled.

What stands here follows ``docs/dispatch/block_dispatcher.md``, and ``docs/replay/replay.md`` for
the SMs. Time jumps from one cycle in which something may happen to the next.

Its parts stand in a file each; this one has the pick and the time. They are compiled together:
``SOURCES`` sees to it that a change of any of them is noticed.
"""

from typing import Final

from warploom_golden.replay import contention, event_constants
from warploom_golden.replay.compiled import compiled, inlined, part, source_number
from warploom_golden.replay.contention import LEAST, ONE
from warploom_golden.replay.event_constants import (
    BLOCK,
    CYCLE,
    FAULT,
    FREED_FIRST,
    KILLED,
    LEAST_LOADED,
    NEVER,
    NONE,
    OK,
    ROUND_ROBIN,
    SLOT,
    SM,
    SM_BITS,
    TICKET,
    WARPS,
)
from warploom_golden.replay.records import Integers, Rows
from warploom_golden.replay.residents import (
    books,
    choice,
    policies,
    returns,
    sm_groups,
    stand_ins,
    state,
)
from warploom_golden.replay.residents.books import (
    judge,
    judge_all,
    land,
    lose_all_rooms,
    lose_room,
    move_scan,
    note_warps,
    show_kept,
    skip_scan,
    stall_between,
    stall_now,
    take,
)
from warploom_golden.replay.residents.choice import keeps, made_now, note_choice, wanted_now
from warploom_golden.replay.residents.policies import choose, move_queue
from warploom_golden.replay.residents.returns import (
    PORTS_SETTLE,
    act_on_kills,
    at_books,
    grant,
    place,
    receive,
    retire,
    settle,
    skip_looks,
    start,
    stop_by_port,
    take_reports,
    tell_end,
    visit,
)
from warploom_golden.replay.residents.sm_groups import move_candidates
from warploom_golden.replay.residents.stand_ins import count_taken, hold, length, take_up
from warploom_golden.replay.residents.state import RING, State

#: The files that are compiled together with this one.
PARTS: Final = (
    contention,
    event_constants,
    books,
    choice,
    sm_groups,
    policies,
    returns,
    stand_ins,
    state,
)
SOURCES: Final = source_number(*PARTS)
_MASK: Final = RING - 1


# --- the pick ------------------------------------------------------------------------------------
@part
def pick(s: State, number: int, offers: Integers, cycle: int) -> None:
    """Pick the active launch's next block for an SM (15, 21)."""
    n = s.active
    row = s.rows[n]
    slot = take(s, number, n)
    offered = cycle + s.rules.offer
    block = s.slots[number, slot]
    block.row = n
    block.offer = offered
    block.reported = block.returned = NEVER
    block.status = FAULT if row.next == row.fault_block else OK
    lasts = length(s, row)
    if s.rules.knee:
        block.load = row.need[WARPS]
        block.work = max(LEAST * ONE, lasts * row.recorded_rate) * s.rules.speed
        block.ends = NEVER
    else:
        due = offered + lasts * s.rules.speed
        if row.kill:
            # Killed already when it is offered.
            block.status = KILLED
            due = offered + s.rules.report_time
        hold(s, number, slot, due)
    if s.offers < offers.shape[1]:
        offers[CYCLE, s.offers] = offered
        offers[SM, s.offers] = number
        offers[SLOT, s.offers] = slot
        offers[TICKET, s.offers] = row.ticket
        offers[BLOCK, s.offers] = row.next
        s.offers += 1
    if s.rules.in_order or s.rules.knee:
        at = s.order[s.picks % len(s.order)]
        at[0], at[1] = number, slot
    s.picks += 1
    s.marked |= row.next == row.mark_block
    s.sms[number].picked = s.last_pick = cycle
    k = cycle & _MASK
    s.pick_at[k], s.pick_sm[k], s.pick_row[k] = cycle, number, n
    s.aside = False
    row.first_offer = min(row.first_offer, offered)
    walk(s, n, cycle)


@inlined
def walk(s: State, n: int, cycle: int) -> None:
    """Let a launch's next block be the one after it: x fastest, then y, then z."""
    row = s.rows[n]
    row.next += 1
    row.bx += 1
    if row.bx == row.gx:
        row.bx = 0
        row.by += 1
        if row.by == row.gy:
            row.by = 0
            row.bz += 1
    if row.next == row.end:
        s.spent_at = cycle


# --- a cycle -------------------------------------------------------------------------------------
@inlined
def run_cycle(s: State, offers: Integers, reports: Integers, cycle: int) -> None:
    """Run one cycle on the state at its start."""
    k = cycle & _MASK
    s.scan_at[k] = s.scan
    if s.kills_at == cycle:
        act_on_kills(s, cycle)
    kept = keeps(s, cycle)
    made = made_now(s, cycle)
    wanted = wanted_now(s, cycle, made)
    settled = made == NONE and s.changed != cycle - 1
    leaves = s.active != NONE and settled and not kept
    first_sm = s.pointer if s.rules.policy == ROUND_ROBIN else 0
    number = NONE
    s.gated = settled and kept and not s.turn and s.shut
    if settled and kept and not s.turn and not s.shut:
        number = choose(s, cycle)
        if number == NONE:
            stall_now(s, s.scan_at[(cycle - s.rules.lands) & _MASK], cycle)
    clears = made != NONE or (s.rules.grouped and s.changed == cycle - 1)
    if s.rules.grouped and s.rules.policy == ROUND_ROBIN:
        move_candidates(s, number, clears, cycle)
    end_room(s, clears, cycle)
    looks = look(s, cycle)
    begins = made != NONE or (s.active == NONE and s.others == 0)
    move_scan(s, cycle, looks, begins)
    s.first_sm = first_sm
    quiet = s.busy_before == 0 and s.pick_at[(cycle - 1) & _MASK] != cycle - 1
    quiet &= s.pick_at[(cycle - 2) & _MASK] != cycle - 2
    took = s.at_port if s.takes else NONE
    s.takes = False
    tell_end(s, took, cycle)
    if number != NONE:
        lose_room(s, number)
        pick(s, number, offers, cycle)
    before = s.active
    note_choice(s, made, wanted, leaves, cycle)
    end_flags(s, reports, took, cycle)
    if s.rules.policy == FREED_FIRST:
        move_queue(s, cycle, quiet)
    if s.active != before:
        judge_all(s)


@inlined
def look(s: State, cycle: int) -> bool:
    """Tell whether the pipe of returns looks for the scan, and note it (23)."""
    looks = s.judged & 2 == 0
    if not s.rules.in_order:
        # A grant has its books written three cycles later.
        granted = cycle + s.rules.back - 3
        looks = s.turn_at[granted & _MASK] != granted
    if looks:
        s.looks_at[cycle & _MASK] = cycle
    return looks


@inlined
def end_room(s: State, clears: bool, cycle: int) -> None:
    """Set the room bits (16)."""
    if s.rules.policy == LEAST_LOADED:
        show_kept(s, cycle)
        land(s, cycle)
        note_warps(s, cycle)
    else:
        land(s, cycle)
    if clears:
        lose_all_rooms(s)
    if cycle <= s.lost_last + 2:
        for n in range(s.rules.sms):
            if s.sms[n].lost_at < cycle:
                s.sms[n].gone = True
                lose_room(s, n)
                judge(s, n)


@part
def end_flags(s: State, reports: Integers, took: int, cycle: int) -> None:
    """Set flags, books and ports at the end of a cycle."""
    s.busy_before = s.busy_rows
    at_ports = cycle <= s.restless
    if at_ports:
        stop_by_port(s, cycle)
    if s.rules.in_order:
        retire(s, cycle)
    if s.rules.kills and s.killing > 0:
        visit(s, cycle)
    at_books(s, cycle)
    place(s, cycle)
    if took != NONE:
        s.rows[took].resident = s.rows[took].kill = False
        settle(s, cycle)
    start(s, cycle)
    if s.rules.grouped:
        take_reports(s, cycle)
    grant(s, cycle)
    taker = take_up(s, cycle) if s.rules.knee else NONE
    receive(s, reports, cycle)
    if taker != NONE:
        count_taken(s, cycle)
    if at_ports or cycle <= s.restless:
        count_flags(s)


@part
def count_flags(s: State) -> None:
    """Count flags, and keep `hold` for the next cycle."""
    s.busy_rows = s.killing = 0
    for n in range(s.rules.rows):
        row = s.rows[n]
        row.held = row.hold
        if row.busy:
            s.busy_rows += 1
        if row.busy and row.kill:
            s.killing += 1


# --- time ----------------------------------------------------------------------------------------
@part
def is_over(s: State) -> bool:
    """Tell whether a launch is over that nobody was told of."""
    for n in range(s.rules.rows):
        row = s.rows[n]
        if row.resident and not row.open and not row.busy and n != s.at_port:
            return True
    return False


@inlined
def next_pipe_event(s: State, cycle: int) -> int:
    """Return the first later cycle in which something in a pipe has its turn."""
    event = NEVER
    for j in range(s.rules.out + 1):
        at = cycle - j
        k = at & _MASK
        if s.pick_at[k] == at and j < s.rules.out:
            event = min(event, at + 1 if j < 1 else at + s.rules.out)
        if s.turn_at[k] == at and j < 3:
            event = min(event, at + 3)
        if s.back_at[k] == at and j < s.rules.judged:
            event = cycle + 1
    return event


@inlined
def moves(s: State, cycle: int) -> bool:
    """Tell whether the cycle after this one may differ for what is not in a pipe."""
    if cycle <= s.restless or s.turn or s.waiting > 0 or s.killing > 0 or s.sweep_row >= 0:
        return True
    # Behind a gate the head waits with the room that it has.
    if s.active != NONE and s.fitting > (s.rooms if s.shut else 0):
        return True
    if s.rules.grouped and cycle <= s.ports_at + PORTS_SETTLE:
        return True
    policy = s.rules.policy
    if policy == LEAST_LOADED and cycle <= max(s.last_pick, s.last_back) + 8:
        return True
    if policy == FREED_FIRST and s.head == NONE and s.queued > 0:
        return True
    return s.at_port == NONE and is_over(s)


@inlined
def next_event(s: State, cycle: int) -> int:
    """Return the first cycle after this one in which something may happen by itself."""
    if moves(s, cycle):
        return cycle + 1
    event: int = min(s.calendar[1] >> SM_BITS, next_pipe_event(s, cycle))
    if s.rules.knee and s.taken < s.picks:
        at = s.order[s.taken % len(s.order)]
        event = min(event, s.slots[at[0], at[1]].offer)
    if s.rules.in_order and (retires_soon(s, cycle) or s.last_pick >= cycle - s.rules.offer):
        return cycle + 1
    return max(event, cycle + 1)


@inlined
def retires_soon(s: State, cycle: int) -> bool:
    """Tell whether the line's oldest block waits for nothing but its look, or has just retired."""
    if s.retired_at >= cycle - 1:
        return True
    if s.line == s.offered:
        return False
    at = s.order[s.line % len(s.order)]
    soon: bool = s.slots[at[0], at[1]].returned != NEVER
    return soon


@inlined
def skip(s: State, cycle: int, until: int) -> int:
    """Go on from a cycle to the next one in which something may happen, ``until`` at most."""
    event = min(next_event(s, cycle), until)
    if s.told or s.marked:
        event = cycle + 1
    between = event - cycle - 1
    if between > 0 and event < NEVER:
        if s.active != NONE and not s.shut:
            stall_between(s, cycle + 1, between)
        skip_scan(s, cycle + 1, between)
        if s.rules.in_order:
            skip_looks(s, between)
        s.busy_before = s.busy_rows
        s.first_sm = s.pointer if s.rules.policy == ROUND_ROBIN else 0
    return event


@compiled
def advance(
    states: Rows[State],
    offers: Integers,
    reports: Integers,
    cycle: int,
    until: int,
    sources: int = SOURCES,
) -> int:
    """Run from one cycle to another, or until the caller must know what happened.

    That is when a launch begins or is over, a marked block is picked, or an SM is lost; and when as
    many offers, or reports, are written down as the state's ``pause`` says.

    Parameters
    ----------
    states : array of one State
        The state at the start of ``cycle``. An array is handed over in a tenth of a record's time.
    offers, reports : array of int64
        Logs, to be filled in as far as they have columns: rows `CYCLE`, `SM` and `SLOT`, of offers
        `TICKET` and `BLOCK`, of reports `STATUS`.
    cycle, until : int
        The first cycle to run, and the first one not to run.
    sources : int
        Not to be given: a part of what is compiled, which differs when the source does.

    Returns
    -------
    int
        The next cycle in which something may happen, ``until`` at most; `NEVER` when nothing can
        happen any more by itself.
    """
    s = states[0]
    s.told = s.marked = False
    while (
        cycle < until and not s.told and not s.marked and s.offers < s.pause and s.reports < s.pause
    ):
        run_cycle(s, offers, reports, cycle)
        cycle = skip(s, cycle, until)
    return cycle
