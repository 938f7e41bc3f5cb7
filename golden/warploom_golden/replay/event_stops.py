"""Stops, kills, lost SMs and ends of launches in the event model's dispatcher.

Of the dispatcher with two places. Compiled as a part of
``event_machine``.
"""

from warploom_golden.replay.compiled import inlined
from warploom_golden.replay.event_constants import NEVER, NONE
from warploom_golden.replay.event_placement import judge
from warploom_golden.replay.event_state import Place, State


# --- stops ---------------------------------------------------------------------------------------
@inlined
def stop_from(s: State, number: int, cycle: int, kill: bool) -> None:
    """Let the launch in a place be stopped from a later cycle on, by a kill or a drain."""
    place = s.places[number]
    place.stop_at = min(place.stop_at, cycle)
    if kill:
        place.kill_at = min(place.kill_at, cycle)
    s.alarm = min(s.alarm, cycle)


@inlined
def next_alarm(s: State, cycle: int) -> int:
    """Return the first cycle after this one in which a stop acts or a time is over."""
    alarm = NEVER
    for k in range(s.residents):
        place = s.places[s.ages[k]]
        for at in (place.stop_at, place.kill_at, time_out(s, place)):
            if at > cycle:
                alarm = min(alarm, at)
        if s.rules.preempts:
            for at in (place.skip_from, place.since + 1, place.exhausted + 2):
                if at > cycle:
                    alarm = min(alarm, at)
    if s.alive < s.rules.sms:
        for n in range(s.rules.sms):
            at = s.sms[n].lost_at + s.rules.loss_kill - 2
            if at > cycle:
                alarm = min(alarm, at)
    return alarm


# --- lost SMs ------------------------------------------------------------------------------------
@inlined
def time_out(s: State, place: Place) -> int:
    """Return the cycle at whose end a silent SM is lost, for the kill of a place."""
    return place.kill_at + s.rules.kill_timeout + s.rules.loss - 1


@inlined
def lose(s: State, cycle: int) -> bool:
    """Lose the SMs that did not report a killed block in time; return whether one was lost."""
    before = s.alive
    for k in range(s.residents):
        number = s.ages[k]
        if cycle != time_out(s, s.places[number]):
            continue
        for n in range(s.rules.sms):
            if s.sms[n].lost_at == NEVER and is_silent(s, n, number):
                lose_sm(s, n, cycle)
    return s.alive < before


@inlined
def is_silent(s: State, n: int, number: int) -> bool:
    """Tell whether an SM has a block of a killed place that it did not report in time."""
    till = s.places[number].kill_at + s.rules.kill_timeout
    for k in range(s.rules.block_slots):
        if s.slots[n, k].place == number and s.slots[n, k].reported > till:
            return True
    return False


@inlined
def lose_sm(s: State, n: int, cycle: int) -> None:
    """Take an SM out of use from the next cycle on; launches with unreported blocks are killed."""
    sm = s.sms[n]
    sm.lost_at = cycle + 1
    s.alive -= 1
    if s.alive == 0:
        s.dead_at = cycle + 1
    judge(s, n)
    for k in range(s.rules.block_slots):
        slot = s.slots[n, k]
        if slot.place != NONE and slot.reported == NEVER:
            s.places[slot.place].sm_lost = True
            stop_from(s, slot.place, cycle + s.rules.loss_kill + 1, True)


@inlined
def give_up(s: State, cycle: int) -> bool:
    """End launches with blocks left when no SM is; return whether the next cycle may differ."""
    if s.dead_at > cycle:
        return False
    waits = False
    for k in range(s.residents):
        number = s.ages[k]
        place = s.places[number]
        if place.next == place.end or place.no_sm_at != NEVER:
            continue
        waits = True
        if place.since < cycle:
            place.no_sm_at = cycle + 1
            stop_from(s, number, cycle + 1, False)
    return waits


# --- ends ----------------------------------------------------------------------------------------
@inlined
def note_if_gone(s: State, number: int, cycle: int) -> None:
    """Note that a launch is gone from a cycle on, if it is: its end is loaded soon."""
    place = s.places[number]
    if place.out > 0 or place.load != NEVER or not place.occupied:
        return
    stopped = place.stop_at <= cycle and s.head != number
    if place.next == place.end or stopped:
        place.load = cycle + s.rules.end - 1
        s.load_at = min(s.load_at, place.load)


@inlined
def load(s: State, cycle: int) -> int:
    """Load the end of the oldest launch that is gone; return its place, or `NONE`."""
    if s.load_at > cycle:
        return NONE
    for k in range(s.residents):
        number: int = s.ages[k]
        if s.places[number].load <= cycle:
            leave_place(s, number)
            return number
    return NONE


@inlined
def leave_place(s: State, number: int) -> None:
    """Free a place; launches that waited for its stream wait for one launch less."""
    left = s.places[number]
    left.occupied = False
    left.load = s.load_at = NEVER
    s.all_held = False
    kept = 0
    for k in range(s.residents):
        other = s.ages[k]
        if other == number:
            continue
        s.ages[kept] = other
        kept += 1
        place = s.places[other]
        s.load_at = min(s.load_at, place.load)
        # Only older ones count as ahead, and those of its own stream alone.
        if kept <= k and place.awaits == left.stream:
            place.ahead -= 1
    s.residents = kept
