"""What SMs have free, their room for the next block, and the stalled cycles.

Follows ``docs/dispatch/block_dispatcher.md``, rules 16, 22 to 24, 26 and 35. Compiled as a part
of ``residents.machine``.

The page's two books are one here: `free` has every pick and every return at once. What a verdict
does not know yet is taken off again.
"""

from typing import Final

from warploom_golden.replay.compiled import inlined, part
from warploom_golden.replay.event_constants import LEAST_LOADED, NEVER, NONE, SLOTS, WARPS
from warploom_golden.replay.residents.state import RING, State

_MASK: Final = RING - 1


# --- what SMs have free --------------------------------------------------------------------------
@inlined
def judge(s: State, number: int) -> None:
    """Find out whether an SM has enough free for the active launch's next block."""
    fits = s.active != NONE and not s.sms[number].gone
    if fits:
        for k in range(len(s.sms[number].free)):
            fits &= s.sms[number].free[k] >= s.rows[s.active].need[k]
    if fits != s.sms[number].fits:
        s.sms[number].fits = fits
        s.fitting += 1 if fits else -1


@part
def judge_all(s: State) -> None:
    """Judge all SMs anew: another launch is active."""
    for number in range(s.rules.sms):
        judge(s, number)


@inlined
def take(s: State, number: int, row: int) -> int:
    """Take what a block needs, and the slot that has been free longest; return the slot."""
    sm = s.sms[number]
    slot: int = s.fifo[number, sm.front]
    sm.front = sm.front + 1 if sm.front + 1 < s.rules.block_slots else 0
    for k in range(len(sm.free)):
        need = s.rows[row].need[k]
        sm.free[k] -= need
        s.slots[number, slot].need[k] = need
    judge(s, number)
    return slot


@inlined
def give_back(s: State, number: int, slot: int, cycle: int, swept: bool) -> None:
    """Return in a cycle what a block took; its slot is the last of the free ones."""
    sm = s.sms[number]
    last = sm.front + sm.free[SLOTS]
    s.fifo[number, last if last < s.rules.block_slots else last - s.rules.block_slots] = slot
    ring = cycle & _MASK
    for k in range(len(sm.free)):
        need = s.slots[number, slot].need[k]
        sm.free[k] += need
        s.back_need[ring, k] = need
    s.back_at[ring], s.back_sm[ring], s.back_swept[ring] = cycle, number, swept
    s.last_back = cycle
    judge(s, number)


@part
def unknown(s: State, number: int, k: int, picks: int, returns: int) -> int:
    """Return how much less of a resource is free by a verdict than by `free`.

    The verdict knows picks before ``picks``, and returns before ``returns``, of the last cycles.
    """
    less = 0
    for j in range(RING):
        if s.back_at[j] >= returns and s.back_sm[j] == number:
            less += s.back_need[j, k]
        if s.pick_at[j] >= picks and s.pick_sm[j] == number:
            less -= s.rows[s.pick_row[j]].need[k]
    return less


# --- room ----------------------------------------------------------------------------------------
@inlined
def is_out(s: State, number: int, cycle: int) -> bool:
    """Tell whether an SM is out in a cycle."""
    picked = s.sms[number].picked
    return cycle - s.rules.out <= picked and picked < cycle


@inlined
def returned_since(s: State, number: int, returns: int, cycle: int) -> bool:
    """Tell whether something was written back to an SM in ``returns`` or later."""
    found = False
    for at in range(returns, cycle):
        k = at & _MASK
        found |= s.back_at[k] == at and s.back_sm[k] == number
    return found


@part
def verdict(s: State, number: int, returns: int, cycle: int) -> None:
    """Let a verdict that counts land; it knows all picks, and returns before ``returns``."""
    sm = s.sms[number]
    if sm.room or not sm.fits or sm.lost_at < cycle:
        return
    if returned_since(s, number, returns, cycle):
        for k in range(len(sm.free)):
            if sm.free[k] - unknown(s, number, k, NEVER, returns) < s.rows[s.active].need[k]:
                return
    if s.rules.policy == LEAST_LOADED:
        sm.kept = True
        return
    sm.room = True
    s.rooms += 1
    if s.rules.grouped:
        s.groups[s.sms[number].group].rooms += 1
        if s.shut:
            # Its group may choose it behind the gate.
            s.restless = max(s.restless, cycle + 2)


@inlined
def met(s: State, number: int, cycle: int) -> bool:
    """Tell whether a read in a cycle, in which a block of the SM returns, means nothing (35)."""
    k = cycle & _MASK
    back: bool = s.back_at[k] == cycle and s.back_sm[k] == number
    return s.rules.grouped and back


@inlined
def own_of_return(s: State, cycle: int) -> int:
    """Return the SM of the return whose own verdict lands in a cycle, `NONE` without one."""
    k = (cycle - s.rules.judged) & _MASK
    if s.back_at[k] != cycle - s.rules.judged:
        return NONE
    number: int = s.back_sm[k]
    return number


@inlined
def land(s: State, cycle: int) -> None:
    """Let the verdicts of a cycle land (16, 22, 23, 26)."""
    if s.active == NONE:
        return
    out = s.rules.out
    looked = cycle - s.rules.lands
    known = cycle - s.rules.known
    own = (cycle - out) & _MASK
    scanned = s.scan_at[looked & _MASK]
    seen = not is_out(s, scanned, cycle)
    judged = seen and s.sms[scanned].picked < cycle - out - s.rules.unseen
    if s.pick_at[own] == cycle - out:
        if not met(s, s.pick_sm[own], known):
            verdict(s, s.pick_sm[own], known, cycle)
    elif judged and not met(s, scanned, known):
        verdict(s, scanned, known, cycle)
    back = own_of_return(s, cycle)
    if back != NONE:
        if not is_out(s, back, cycle):
            verdict(s, back, known, cycle)
    elif s.looks_at[looked & _MASK] == looked and seen and not met(s, scanned, looked):
        verdict(s, scanned, looked, cycle)


@inlined
def lose_room(s: State, number: int) -> None:
    """Let an SM have no room."""
    s.sms[number].kept = False
    if s.sms[number].room:
        s.sms[number].room = False
        s.rooms -= 1
        if s.rules.grouped:
            s.groups[s.sms[number].group].rooms -= 1


@part
def lose_all_rooms(s: State) -> None:
    """Let no SM have room: the active launch changes."""
    for number in range(s.rules.sms):
        s.sms[number].room = False
        s.sms[number].kept = False
    for number in range(s.rules.groups):
        s.groups[number].rooms = 0
    s.rooms = 0


# --- least_loaded --------------------------------------------------------------------------------
@part
def show_kept(s: State, cycle: int) -> None:
    """Let what was kept in the cycle before show in the next one, unless its SM is out (19)."""
    for number in range(s.rules.sms):
        sm = s.sms[number]
        if sm.kept:
            sm.kept = False
            if not sm.room and not is_out(s, number, cycle) and sm.lost_at >= cycle:
                sm.room = True
                s.rooms += 1


@part
def note_warps(s: State, cycle: int) -> None:
    """Note the free warps of the verdicts that land in a cycle, the placement's last (19)."""
    back = own_of_return(s, cycle)
    if back != NONE and not is_out(s, back, cycle):
        keep_warps(s, back, cycle)
    own = (cycle - s.rules.out) & _MASK
    if s.pick_at[own] == cycle - s.rules.out:
        keep_warps(s, s.pick_sm[own], cycle)


@part
def keep_warps(s: State, number: int, cycle: int) -> None:
    """Keep an SM's free warps for picks from two cycles later on."""
    sm = s.sms[number]
    known_warps(s, number, cycle + 1)
    sm.warps_next = sm.free[WARPS] - unknown(s, number, WARPS, NEVER, cycle - 1)
    sm.warps_at = cycle + 2


@inlined
def known_warps(s: State, number: int, cycle: int) -> int:
    """Return an SM's free warps, as picks of a cycle know them."""
    sm = s.sms[number]
    if sm.warps_at <= cycle:
        sm.warps = sm.warps_next
        sm.warps_at = NEVER
    warps: int = sm.warps
    return warps


# --- the scan ------------------------------------------------------------------------------------
@inlined
def begin_scan(s: State, first: int) -> None:
    """Let the scan begin in a cycle, with an SM (23)."""
    s.scan, s.to_do, s.done = first, s.rules.sms, NEVER


@inlined
def move_scan(s: State, cycle: int, looks: bool, begins: bool) -> None:
    """End a cycle of the scan (23, 24); ``looks``: the pipe of returns did."""
    advances = looks or s.pick_at[(cycle - 1) & _MASK] != cycle - 1
    s.turn = s.to_do > 0 and s.idle == 7
    s.idle = 0 if advances else (s.idle + 1) & 7
    if begins:
        begin_scan(s, s.first_sm)
        return
    if advances:
        s.scan = s.scan + 1 if s.scan + 1 < s.rules.sms else 0
        s.to_do = max(0, s.to_do - 1)
    if s.to_do == 0 and s.done == NEVER:
        s.done = cycle + 1


@part
def skip_scan(s: State, cycle: int, cycles: int) -> None:
    """Let cycles pass, ``cycle`` the first one, in which nothing is picked and returned."""
    first = s.scan
    s.turn = False
    s.idle = 0
    advances = s.active != NONE
    if advances:
        if s.done == NEVER and s.to_do <= cycles:
            s.done = cycle + max(s.to_do, 1)
        s.to_do = max(0, s.to_do - cycles)
        s.scan = (s.scan + cycles) % s.rules.sms
    for j in range(max(0, cycles - RING), cycles):
        k = (cycle + j) & _MASK
        s.scan_at[k] = (first + j) % s.rules.sms if advances else first
        s.looks_at[k] = cycle + j


# --- stalls --------------------------------------------------------------------------------------
@part
def stall(s: State, number: int, cycles: int, picks: int, returns: int) -> None:
    """Count stalled cycles by an SM's verdict, which knows picks and returns before some (35)."""
    recent = s.last_back >= returns or s.last_pick >= picks
    for k in range(len(s.stalls)):
        free = s.sms[number].free[k]
        if recent:
            free -= unknown(s, number, k, picks, returns)
        if free < s.rows[s.active].need[k]:
            s.stalls[k] += cycles
            return
    s.stall_offer += cycles


@inlined
def stall_now(s: State, scanned: int, cycle: int) -> None:
    """Count a stalled cycle: the verdict of placements that lands in it says why."""
    out = s.rules.out
    known = cycle - s.rules.known
    own = (cycle - out) & _MASK
    if s.pick_at[own] == cycle - out:
        number = s.pick_sm[own]
        void = met(s, number, known)
        picks = cycle - out + 1
    else:
        number = scanned
        picks = cycle - out - s.rules.unseen
        void = met(s, number, known)
        for at in range(picks, cycle - out if s.rules.grouped else picks):
            k = at & _MASK
            void |= s.pick_at[k] == at and s.pick_sm[k] == number
    if void:
        s.stall_offer += 1
    else:
        stall(s, number, 1, picks, known)


@part
def stall_between(s: State, cycle: int, cycles: int) -> None:
    """Count cycles, ``cycle`` the first one, in which nothing happens while the head is stalled.

    The scan stands as in the first of them.
    """
    lands = s.rules.lands
    near = min(cycles, 2 * s.rules.out)
    for j in range(near):
        at = cycle + j - lands
        scanned = s.scan_at[at & _MASK] if at < cycle else (s.scan + at - cycle) % s.rules.sms
        stall_now(s, scanned, cycle + j)
    if cycles == near:
        return
    rounds, rest = divmod(cycles - near, s.rules.sms)
    for j in range(s.rules.sms if rounds > 0 else rest):
        scanned = (s.scan + near - lands + j) % s.rules.sms
        stall(s, scanned, rounds + (1 if j < rest else 0), NEVER, NEVER)
