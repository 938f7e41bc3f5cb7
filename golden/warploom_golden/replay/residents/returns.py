"""Reports from their ports to the books, lost SMs, flags of streams, and ends.

Follows ``docs/dispatch/block_dispatcher.md``, rules 3 to 6, 25 to 34 and 'in_order'. Compiled as
a part of ``residents.machine``.
"""

from typing import Final

from warploom_golden.replay.compiled import inlined, part
from warploom_golden.replay.event_constants import (
    FAULT,
    FREED_FIRST,
    KILLED,
    NEVER,
    NONE,
    OK,
    SM_BITS,
)
from warploom_golden.replay.records import Integers
from warploom_golden.replay.residents.books import give_back
from warploom_golden.replay.residents.choice import SETTLES
from warploom_golden.replay.residents.sm_groups import granted, takes
from warploom_golden.replay.residents.stand_ins import (
    begin_kill,
    enter_key,
    plan,
    report,
    reporting,
)
from warploom_golden.replay.residents.state import RING, State

#: Kinds of turns at the books.
REPORT: Final = 0
FIND: Final = 1
RETURN: Final = 2
#: Cycles from a grant to the turn at the books, and from there to the first one to retire in.
_TO_BOOKS: Final = 3
_TO_RETIRE: Final = 3
#: Cycles from one row of a sweep to the next, and from the visit that begins it to its first one.
_ROW_EVERY: Final = 4
_TO_SWEEP: Final = 2
#: Cycles from the last held report until the groups' pointers stand still.
PORTS_SETTLE: Final = 3
#: What became of a launch.
FINISHED: Final = 0
ENDED_KILLED: Final = 1
FAILED: Final = 2
FAILED_SM_LOST: Final = 3
_MASK: Final = RING - 1


@inlined
def settle(s: State, cycle: int) -> None:
    """Note that flags change in this cycle."""
    s.restless = max(s.restless, cycle + SETTLES)


# --- flags ---------------------------------------------------------------------------------------
@part
def stop_row(s: State, n: int, cycle: int) -> None:
    """Stop a launch in a cycle: no block of it is placed, and SMs end those that they have."""
    row = s.rows[n]
    row.open = False
    if s.rules.kills and not row.kill:
        row.kill = True
        row.silent = 0
        # SMs see the level from the next cycle on.
        row.kill_at = s.kills_at = cycle + 1
    settle(s, cycle)


@part
def act_on_kills(s: State, cycle: int) -> None:
    """Let SMs see the kill levels that rise in this cycle."""
    for n in range(s.rules.rows):
        if s.rows[n].kill and s.rows[n].kill_at == cycle:
            begin_kill(s, n, cycle)


@part
def stop_by_port(s: State, cycle: int) -> None:
    """Stop what the port `stop` names and is alive (4, 6)."""
    for n in range(s.rules.rows):
        row = s.rows[n]
        kills = s.rules.kills and row.busy and not row.kill
        if row.stop and row.resident and (row.open or kills):
            stop_row(s, n, cycle)


@inlined
def place(s: State, cycle: int) -> None:
    """Let the block that was picked in the cycle before count (4, 5)."""
    k = (cycle - 1) & _MASK
    if s.pick_at[k] != cycle - 1:
        return
    row = s.rows[s.pick_row[k]]
    row.out += 1
    if not row.busy:
        row.busy = True
        settle(s, cycle)
    if not row.begun:
        row.begun = True
        s.told = True
        settle(s, cycle)
    if s.spent_at == cycle - 1:
        row.open = False
        row.all_placed = True
        settle(s, cycle)


@inlined
def start(s: State, cycle: int) -> None:
    """Let a launch become resident (3)."""
    if s.start == NONE:
        return
    row = s.rows[s.start]
    row.resident = row.open = True
    row.begun = row.kill = row.fault = row.sm_lost = row.all_placed = row.not_ok = False
    s.start = NONE
    settle(s, cycle)


# --- returns -------------------------------------------------------------------------------------
@part
def back(s: State, number: int, slot: int, cycle: int, status: int, swept: bool) -> None:
    """Let a block return (26, 27)."""
    block = s.slots[number, slot]
    n = block.row
    row = s.rows[n]
    row.last_return = cycle
    row.out -= 1
    block.returned = cycle
    if row.out == 0:
        row.busy = False
        s.emptied = n
        settle(s, cycle)
    if status != OK:
        row.not_ok = True
    if swept or status == FAULT or (status == KILLED and not row.kill):
        row.fault = True
        row.sm_lost |= swept
        stop_row(s, n, cycle)
    if n == s.sweep and not swept and s.sweep_row >= 0 and s.sweep_from <= cycle:
        s.swept = True
    if not s.rules.in_order:
        free(s, number, slot, cycle, swept)
    if s.rules.policy == FREED_FIRST:
        settle(s, cycle)


@inlined
def free(s: State, number: int, slot: int, cycle: int, swept: bool) -> None:
    """Write back what a block took."""
    give_back(s, number, slot, cycle, swept)
    s.slots[number, slot].row = NONE


@part
def at_books(s: State, cycle: int) -> None:
    """Let what was granted three cycles ago have its turn at the books (26, 33)."""
    k = (cycle - _TO_BOOKS) & _MASK
    if s.turn_at[k] != cycle - _TO_BOOKS:
        return
    number = s.turn_sm[k]
    slot = s.turn_slot[k]
    lost = s.sms[number].lost_at <= cycle - 1
    block = s.slots[number, slot]
    runs = block.row != NONE and block.offer <= cycle - 3 and block.returned == NEVER
    kind = s.turn_kind[k]
    if kind == REPORT:
        if lost or not runs:
            s.ignored += 1
        else:
            back(s, number, slot, cycle, s.turn_status[k], False)
    elif kind == FIND:
        if runs and block.row == s.sweep and not s.swept and s.sms[number].lost_at == NEVER:
            s.sms[number].lost_at = cycle + 1
            s.lost_last = cycle + 1
            s.alive -= 1
            s.told = True
    elif runs and lost:
        back(s, number, slot, cycle, KILLED, True)


# --- ports ---------------------------------------------------------------------------------------
@inlined
def grant(s: State, cycle: int) -> None:
    """Grant a held report, or let the sweep look at a row (25, 33)."""
    k = cycle & _MASK
    on = s.sweep_row >= 0 and s.sweep_from <= cycle - 1
    if on and cycle % _ROW_EVERY == 1:
        slots = s.rules.block_slots
        rows = s.rules.sms * slots
        row = s.sweep_row % rows
        s.turn_at[k], s.turn_kind[k] = cycle, FIND if s.sweep_row < rows else RETURN
        s.turn_sm[k], s.turn_slot[k] = row // slots, row % slots
        s.sweep_row = -1 if s.sweep_row == 2 * rows - 1 else s.sweep_row + 1
        return
    if s.waiting == 0:
        return
    if s.rules.grouped:
        found = granted(s, cycle)
        if found == NONE:
            return
        number = s.groups[found].holds
        slot = s.groups[found].slot
        s.groups[found].holds = NONE
    else:
        number = s.arbiter
        while s.sms[number].held == NONE:
            number = number + 1 if number + 1 < s.rules.sms else 0
        s.arbiter = number + 1 if number + 1 < s.rules.sms else 0
        slot = leave_port(s, number, cycle)
    s.turn_at[k], s.turn_kind[k] = cycle, REPORT
    s.turn_sm[k], s.turn_slot[k] = number, slot
    s.turn_status[k] = s.slots[number, slot].status
    s.waiting -= 1


@inlined
def leave_port(s: State, number: int, cycle: int) -> int:
    """Let the report that is held at an SM's port leave it; return its slot."""
    sm = s.sms[number]
    slot: int = sm.held
    sm.held = NONE
    sm.ready_at = cycle + 2
    plan(s, number, cycle + 2)
    return slot


@part
def take_reports(s: State, cycle: int) -> None:
    """Let groups take reports from their ports (35 e), before one is granted."""
    if s.waiting > 0:
        s.ports_at = cycle
    elif cycle > s.ports_at + PORTS_SETTLE:
        return
    for number in range(s.rules.groups):
        group = s.groups[number]
        holds = group.holds != NONE
        if not holds and not group.held:
            sm = takes(s, number)
            if sm != NONE:
                group.holds = sm
                group.slot = leave_port(s, sm, cycle)
                group.since = cycle + 1
        group.held = holds


@part
def receive(s: State, reports: Integers, cycle: int) -> None:
    """Hold the reports that transfer in this cycle."""
    number = reporting(s, cycle)
    while number != NONE:
        slot = report(s, reports, number, cycle)
        if s.rules.at_once:
            back(s, number, slot, cycle, s.slots[number, slot].status, False)
            plan(s, number, cycle + 1)
        else:
            sm = s.sms[number]
            sm.held = slot
            sm.ready_at = NEVER
            s.waiting += 1
            if s.rules.grouped:
                s.groups[s.sms[number].group].waiting += 1
            enter_key(s.calendar, s.rules.sms, number, NEVER << SM_BITS | number)
        number = reporting(s, cycle)


# --- in order ------------------------------------------------------------------------------------
@part
def retire(s: State, cycle: int) -> None:
    """Write back what retired in the cycle before, and judge the line's oldest block."""
    before = s.retired_at == cycle - 1
    if before:
        at = s.order[(s.line - 1) % len(s.order)]
        free(s, at[0], at[1], cycle, False)
    judged = s.judged & 2 != 0
    addressed = s.looked < s.offered
    retired = False
    if judged:
        at = s.order[s.line % len(s.order)]
        done = s.slots[at[0], at[1]].returned <= cycle - _TO_RETIRE
        retired = done and not (before and s.retired_sm == at[0])
        if retired:
            s.line += 1
            s.retired_at, s.retired_sm = cycle, at[0]
    if judged and not retired:
        s.looked, s.judged = s.line, 0
    else:
        s.looked += 1 if addressed else 0
        s.judged = (s.judged << 1 | (1 if addressed else 0)) & 3
    k = (cycle - 3) & _MASK
    if s.pick_at[k] == cycle - 3:
        s.offered += 1


@part
def skip_looks(s: State, cycles: int) -> None:
    """Let cycles pass in which the line's oldest block does not retire: looks go on."""
    # They repeat with every third cycle.
    for _ in range(cycles if cycles < 9 else 6 + cycles % 3):
        if s.judged & 2:
            s.looked, s.judged = s.line, 0
        else:
            addressed = 1 if s.looked < s.offered else 0
            s.looked += addressed
            s.judged = (s.judged << 1 | addressed) & 3


# --- lost SMs ------------------------------------------------------------------------------------
@part
def visit(s: State, cycle: int) -> None:
    """Visit a stream; after so many silent visits a sweep begins (32)."""
    n = cycle % s.rules.rows
    row = s.rows[n]
    silent = row.kill and row.busy and row.last_return < cycle - s.rules.rows
    row.silent = row.silent + 1 if silent else 0
    if row.silent < s.rules.silent_visits:
        return
    row.silent = 0
    if s.sweep_row < 0:
        s.sweep, s.sweep_from, s.sweep_row, s.swept = n, cycle + _TO_SWEEP, 0, False


# --- ends ----------------------------------------------------------------------------------------
@inlined
def tell_end(s: State, took: int, cycle: int) -> None:
    """Look at a stream; one that is over is at `ended` from the next cycle on (29, 30)."""
    n = s.emptied if s.emptied != NONE else cycle % s.rules.rows
    s.emptied = NONE
    row = s.rows[n]
    over = row.resident and not row.open and not row.busy and n not in (s.active, s.at_port)
    if s.at_port != NONE and took == NONE:
        return
    s.at_port = n if over else NONE
    if not over:
        return
    s.told = True
    if row.sm_lost:
        s.fate = FAILED_SM_LOST
    elif row.fault:
        s.fate = FAILED
    else:
        s.fate = FINISHED if row.all_placed and not row.not_ok else ENDED_KILLED
