"""Launches that yield, in the event model's dispatcher.

Of the dispatcher with two places. Compiled as a part of
``event_machine``.
"""

from warploom_golden.replay.compiled import inlined
from warploom_golden.replay.event_constants import NONE
from warploom_golden.replay.event_state import State
from warploom_golden.replay.event_stops import note_if_gone


@inlined
def outranked(s: State, cycle: int) -> int:
    """Return the place that is outranked in a cycle, by the state at its start; `NONE` if none."""
    if s.residents < 2:
        return NONE
    if s.places[s.ages[0]].since >= cycle or s.places[s.ages[1]].since >= cycle:
        return NONE
    for k in range(2):
        low = s.places[s.ages[k]]
        high = s.places[s.ages[1 - k]]
        if not low.may_yield or high.priority <= low.priority:
            continue
        # ``ahead`` counts older launches of the stream for which it waits.
        if high.stop_at > cycle and high.next < high.end and high.ahead == 0:
            number: int = s.ages[k]
            return number
    return NONE


@inlined
def meant(s: State, cycle: int, below: int) -> int:
    """Return the place that may be the candidate in a cycle; ``below`` is the outranked one."""
    found = NONE
    for k in range(s.residents):
        number: int = s.ages[k]
        place = s.places[number]
        if place.since >= cycle or place.walking or place.stop_at <= cycle:
            continue
        if found in (NONE, below):
            found = number
    return found


@inlined
def candidate(s: State, cycle: int, below: int) -> int:
    """Return the candidate of a cycle unless it is held by order; `NONE` if there is none."""
    number = meant(s, cycle, below)
    if number == NONE:
        return NONE
    place = s.places[number]
    if place.ahead > 0 or place.since > cycle - s.rules.stage + 1:
        return NONE
    return number


@inlined
def begin_ranks(s: State, cycle: int) -> int:
    """Begin a cycle; return the place that may be given to the walker in it, `NONE` if none."""
    # The cycles since the one that was run last began with the state that stands now.
    before = s.candidate
    if s.candidate_at != cycle - 1:
        before = candidate(s, cycle - 1, outranked(s, cycle - 1))
    s.outranked = outranked(s, cycle)
    s.candidate = candidate(s, cycle, s.outranked)
    s.candidate_at = cycle
    if before == NONE or before == s.outranked or s.places[before].stop_at <= cycle:
        return NONE
    return before


@inlined
def end_ranks(s: State, cycle: int) -> bool:
    """End a cycle: interrupt a walk, keep ``yields``; return whether that has changed."""
    changed = False
    for k in range(s.residents):
        number: int = s.ages[k]
        place = s.places[number]
        stopped = place.stop_at <= cycle
        yields = number == s.outranked and not stopped and place.exhausted > cycle - 2
        changed |= yields != place.yields
        place.yields = yields
        if yields:
            place.made_way = True
        if number == s.head and number == s.outranked and place.next < place.end:
            place.walking = False
            s.head = NONE
            note_if_gone(s, number, cycle + 1)
            changed = True
    return changed
