"""Groups of SMs: candidates of ``round_robin``, and the reports that groups hold.

Follows ``docs/dispatch/block_dispatcher.md``, rule 35. Compiled as a part of
``residents.machine``.
"""

from warploom_golden.replay.compiled import inlined, part
from warploom_golden.replay.event_constants import NONE
from warploom_golden.replay.residents.state import Group, State


@inlined
def next_group(s: State, number: int) -> int:
    """Return the group behind another one, cyclically."""
    return number + 1 if number + 1 < s.rules.groups else 0


# --- candidates ----------------------------------------------------------------------------------
@part
def candidate(s: State) -> int:
    """Return the candidate of the first group that has one, and go past that group, or `NONE`."""
    number = s.group
    for _ in range(s.rules.groups):
        found: int = s.groups[number].candidate
        number = next_group(s, number)
        if found != NONE:
            s.group = number
            return found
    return NONE


@part
def move_candidates(s: State, picked: int, clears: bool, cycle: int) -> None:
    """Let groups choose by the rooms of a cycle (35 b)."""
    if clears:
        for number in range(s.rules.groups):
            s.groups[number].candidate = NONE
            s.groups[number].pointer = 0
        return
    for number in range(s.rules.groups):
        group = s.groups[number]
        held = group.candidate
        if held in (NONE, picked) or s.sms[held].lost_at < cycle:
            choose_anew(s, group, cycle)


@inlined
def choose_anew(s: State, group: Group, cycle: int) -> None:
    """Let a group have another candidate, if another of its SMs has room."""
    before = group.candidate
    group.candidate = NONE
    if group.rooms > 0:
        for place in range(group.pointer, group.sms):
            sm = group.members[place]
            if s.sms[sm].room and sm != before and s.sms[sm].lost_at >= cycle:
                group.candidate = sm
                group.pointer = place + 1
                return
    group.pointer = 0


# --- reports -------------------------------------------------------------------------------------
@inlined
def takes(s: State, number: int) -> int:
    """Return the SM whose report a group takes from its port, and go past it, or `NONE` (35 e)."""
    group = s.groups[number]
    if group.waiting > 0:
        for place in range(group.taker, group.sms):
            sm: int = group.members[place]
            if s.sms[sm].held != NONE:
                group.taker = place + 1
                group.waiting -= 1
                return sm
    group.taker = 0
    return NONE


@part
def granted(s: State, cycle: int) -> int:
    """Return the group whose report is granted in a cycle, and go past it, or `NONE` (35 e)."""
    number = s.arbiter
    for _ in range(s.rules.groups):
        group = s.groups[number]
        following = next_group(s, number)
        if group.holds != NONE and group.since <= cycle:
            s.arbiter = following
            return number
        number = following
    return NONE
