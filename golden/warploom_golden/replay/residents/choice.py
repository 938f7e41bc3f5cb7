"""Which launch is active, and who is next.

Follows ``docs/dispatch/block_dispatcher.md``, rules 7 to 14. Compiled as a part of
``residents.machine``. All functions read the state of a cycle, before anything of the next one is
set.
"""

from typing import Final

from warploom_golden.replay.compiled import inlined, part
from warploom_golden.replay.event_constants import NONE
from warploom_golden.replay.residents.state import State

#: After what changes a candidate or the active launch so many cycles may differ by themselves.
SETTLES: Final = 6
#: A change is wanted again when no change was made in this cycle and so many before.
_GAP: Final = 3


@inlined
def stays(s: State) -> bool:
    """Tell whether the active launch stays: its mode is `wait`, and it has begun (10)."""
    if s.active == NONE:
        return False
    row = s.rows[s.active]
    return row.waits and row.next > 0


@inlined
def keeps(s: State, cycle: int) -> bool:
    """Tell whether the active launch is placing and not spent (10)."""
    if s.active == NONE or not s.was_open or s.spent_at == cycle - 1:
        return False
    return s.was_candidate or stays(s)


@inlined
def made_now(s: State, cycle: int) -> int:
    """Return the row that becomes active by a change made in this cycle, or `NONE` (12)."""
    if s.wanted == NONE or (stays(s) and keeps(s, cycle)):
        return NONE
    return s.wanted


@inlined
def wanted_now(s: State, cycle: int, made: int) -> int:
    """Return the row to which a change is wanted in this cycle, or `NONE` (11)."""
    if s.changed >= cycle - _GAP or made != NONE or s.wanted != NONE:
        return NONE
    if not keeps(s, cycle) or (s.first and not stays(s)):
        return s.next
    return NONE


@part
def note_next(s: State) -> None:
    """Let the eligible stream that started first be next (8, 9)."""
    s.next = NONE
    for n in range(s.rules.rows):
        row = s.rows[n]
        if row.eligible and (s.next == NONE or row.order < s.rows[s.next].order):
            s.next = n
    s.first = False
    if s.next != NONE and s.active != NONE:
        active = s.rows[s.active]
        same = s.top_before == active.priority and s.rows[s.next].order < active.order
        s.first = s.top_before > active.priority or same


@part
def rank(s: State, start: int) -> None:
    """Find who is other and eligible, and top, with a launch that starts (7, 8)."""
    top = 0
    s.others = 0
    for n in range(s.rules.rows):
        row = s.rows[n]
        other = row.open and not row.held and n != s.active
        row.eligible = other and row.priority == s.top
        if other:
            top = max(top, row.priority)
            s.others += 1
    if start != NONE:
        top = max(top, s.rows[start].priority)
    s.top_before = s.top
    s.top = top


@inlined
def note_choice(s: State, made: int, wanted: int, leaves: bool, cycle: int) -> None:
    """Set who is active in the next cycle, and what is known of it then (10 to 13)."""
    if cycle <= s.restless:
        note_next(s)
        rank(s, s.start)
    s.was_candidate = s.was_open = False
    if s.active != NONE:
        row = s.rows[s.active]
        s.was_open = made == NONE and row.open
        s.was_candidate = row.open and not row.held
    s.wanted = wanted
    if made != NONE:
        s.active = made
        s.changed = cycle
    elif leaves:
        s.active = NONE
    if made != NONE or wanted != NONE or leaves:
        s.restless = max(s.restless, cycle + SETTLES)
