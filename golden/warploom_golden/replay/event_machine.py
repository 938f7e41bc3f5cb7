"""The dispatcher with two places and the SMs' stand-ins of the event model, compiled.

``docs/replay/replay.md`` has the SMs: offers are taken at once, all SMs are in use. Time jumps from
one cycle in which something happens to the next.

Its parts stand in a file each: placement, SMs, stops and ends; this one has the places, the
decision and the time. They are compiled together: ``SOURCES`` sees to it that a change of any of
them is noticed.
"""

from typing import Final

from warploom_golden.replay import (
    contention,
    event_constants,
    event_contention,
    event_placement,
    event_ranks,
    event_sms,
    event_state,
    event_stops,
)
from warploom_golden.replay.compiled import compiled, inlined, source_number
from warploom_golden.replay.event_constants import (
    BLOCK,
    CYCLE,
    FAULT,
    FREED_FIRST,
    KILLED,
    LIMIT_KNOWN,
    NEVER,
    NONE,
    OK,
    SLOT,
    SM,
    SM_BITS,
    TICKET,
)
from warploom_golden.replay.event_placement import (
    choose,
    count_others,
    enter,
    entering,
    fit,
    forget_freed,
    got_block,
    note_decision,
    open_rooms,
    take,
)
from warploom_golden.replay.event_ranks import begin_ranks, end_ranks, meant
from warploom_golden.replay.event_sms import (
    begin_kill,
    count_taken,
    hold,
    process,
    remove_lost_blocks,
    send,
    take_up,
)
from warploom_golden.replay.event_state import Integers, Rows, State
from warploom_golden.replay.event_stops import (
    give_up,
    load,
    lose,
    next_alarm,
    note_if_gone,
    stop_from,
)

#: The files that are compiled together with this one.
PARTS: Final = (
    contention,
    event_constants,
    event_contention,
    event_placement,
    event_ranks,
    event_sms,
    event_state,
    event_stops,
)
SOURCES: Final = source_number(*PARTS)


# --- the places ----------------------------------------------------------------------------------
@inlined
def give(s: State, cycle: int) -> bool:
    """Give a launch to the walker; return whether one was given or will be by itself."""
    if s.all_held:
        s.stall_order += 1
        return False
    s.tries += 1
    s.held = False
    stopped_now = False
    for k in range(s.residents):
        number = s.ages[k]
        place = s.places[number]
        if place.walking or place.stop_at <= cycle:
            stopped_now |= not place.walking and place.stop_at == cycle
            continue
        if cycle < place.since + s.rules.stage - 1:
            return True
        if place.ahead > 0:
            place.held_at = s.tries
            s.held = True
            continue
        first = cycle < place.since + s.rules.stage or stopped_now
        if first or place.held_at == s.tries - 1:
            # It was not the candidate in the cycle before, or held by order then.
            return True
        walk(s, number, cycle)
        return True
    s.all_held = s.held
    s.stall_order += 1 if s.held else 0
    return False


@inlined
def give_ranked(s: State, cycle: int, given: int) -> bool:
    """Give a launch to the walker, where launches may yield; return as `give` does.

    ``given`` may be given in this cycle if no place is walked.
    """
    s.held = False
    if given != NONE:
        walk(s, given, cycle)
        return True
    for k in range(s.residents):
        if s.places[s.ages[k]].since >= cycle:
            return True
    number = meant(s, cycle, s.outranked)
    if number == NONE:
        return False
    place = s.places[number]
    if place.ahead > 0 and cycle >= place.since + s.rules.stage - 1:
        s.held = True
        s.stall_order += 1
        return False
    return True


@inlined
def walk(s: State, number: int, cycle: int) -> None:
    """Give the launch in a place to the walker: its next block is the head `change` cycles later.

    In that cycle an SM that holds a block of the other place has no room.
    """
    place = s.places[number]
    place.walking = True
    s.head, s.head_since = number, cycle + s.rules.change
    s.unready = True
    beside = 0
    for k in range(s.residents):
        if s.ages[k] != number:
            beside = max(beside, s.places[s.ages[k]].most)
    since = place.since
    if s.rules.preempts:
        s.recount_at = s.head_since + 1
        if s.residents > 1 and s.ages[0] == number:
            # What fits beside a newer launch is worked out when both are known.
            since = max(s.places[s.ages[1]].since, since + place.most + s.rules.fit_again)
    known = since + s.rules.fit_table + 2 * place.most + beside
    fit(s, place.need, False)
    s.known = max(known, s.head_since + 1)


@inlined
def act(s: State, cycle: int) -> None:
    """Let stops act that are seen from this cycle on."""
    s.all_held = False
    for k in range(s.residents):
        number: int = s.ages[k]
        place = s.places[number]
        if place.skip_from == cycle and place.started >= cycle:
            place.skipped = True
            stop_from(s, number, cycle + s.rules.stop - 1, False)
        if place.kill_at == cycle:
            begin_kill(s, number, cycle)
        note_if_gone(s, number, cycle)


# --- decisions -----------------------------------------------------------------------------------
@inlined
def decide(s: State, lengths: Integers, offers: Integers, cycle: int, given: int) -> bool:
    """Place the head if an SM is eligible, or give the walker its next launch.

    Returns whether the next cycle may differ for it. Where launches may yield, ``given`` is the one
    that may be given.
    """
    if s.head == NONE:
        return give_ranked(s, cycle, given) if s.rules.preempts else give(s, cycle)
    place = s.places[s.head]
    if place.stop_at < cycle:
        forget_head(s, cycle)
        return True
    if cycle < s.head_since or place.skipped:
        return True
    shut, earlier = got_block(s, cycle - 1), got_block(s, cycle - 2)
    if open_rooms(s, shut, earlier) == 0:
        stall(s, shut, earlier, cycle, 1)
        return shut != NONE or earlier != NONE or place.stop_at == cycle
    number = choose(s, shut, earlier)
    place_block(s, number, lengths, offers, cycle)
    note_decision(s, number, cycle)
    if place.next == place.end:
        s.head = NONE
        place.exhausted = cycle
        if s.rules.preempts:
            s.alarm = min(s.alarm, cycle + 2)
    return True


@inlined
def forget_head(s: State, cycle: int) -> None:
    """Forget the head of a stopped launch at the end of the third cycle of its stop."""
    number = s.head
    if s.places[number].stop_at + 2 <= cycle:
        s.head = NONE
        note_if_gone(s, number, cycle + 1)


@inlined
def place_block(s: State, number: int, lengths: Integers, offers: Integers, cycle: int) -> None:
    """Place the head's block on an SM, which holds it from its offer on until it is due."""
    place = s.places[s.head]
    if place.made_way:
        place.made_way = False
        if place.next > place.first:
            s.went_on += 1
            s.went_on_at = cycle
    slot = take(s, number)
    offered = cycle + s.rules.offer
    block = s.slots[number, slot]
    block.place = s.head
    block.offer = offered
    block.reported = block.done = NEVER
    block.status = FAULT if place.next == place.fault_block else OK
    block.out = True
    if s.rules.knee:
        block.work = lengths[place.next - s.window]
        block.ends = NEVER
    else:
        due = offered + lengths[place.next - s.window]
        if place.kill_at <= cycle:
            # Killed already when it is offered.
            block.status = KILLED
            due = offered + s.rules.report_time
        hold(s, number, slot, due)
    if s.offers < offers.shape[1]:
        offers[CYCLE, s.offers] = offered
        offers[SM, s.offers] = number
        offers[SLOT, s.offers] = slot
        offers[TICKET, s.offers] = place.ticket
        offers[BLOCK, s.offers] = place.next
        s.offers += 1
    if s.rules.in_order or s.rules.knee:
        row = s.order[s.decided % len(s.order)]
        row[0], row[1] = number, slot
    s.decided += 1
    s.marked |= place.next == place.kill_block
    place.started = min(place.started, cycle)
    place.out += 1
    place.next += 1


# --- time ----------------------------------------------------------------------------------------
@inlined
def stall(s: State, shut: int, earlier: int, cycle: int, cycles: int) -> None:
    """Count cycles, from ``cycle`` on, in which no SM is eligible for the head.

    The SM ``shut`` does not hold the block that it got in the cycle before yet: it has room. The SM
    ``earlier``, which got one in the cycle before that, holds it.
    """
    have_room = 0 if shut == NONE else 1
    if earlier != NONE:
        have_room += s.has_room[earlier]
    if have_room > 0:
        s.stall_offer += cycles
    if s.alive == have_room:
        return
    place = s.places[s.head]
    # Before, it is not known what limits the launch.
    cycles = min(cycles, cycle + cycles - (place.since + place.most + LIMIT_KNOWN))
    if cycles > 0:
        for k in range(len(s.stalls)):
            s.stalls[k] += cycles * place.limiting[k]


@inlined
def resident(s: State, cycle: int) -> bool:
    """Tell whether a place is occupied and started, by the state at the start of a cycle."""
    started = NEVER
    for k in range(s.residents):
        started = min(started, s.places[s.ages[k]].started)
    return started < cycle - 1


@inlined
def next_event(s: State, cycle: int) -> int:
    """Return the first cycle after this one in which something happens by itself."""
    event: int = min(s.known, s.recount_at, s.calendar[1] >> SM_BITS, s.load_at, s.alarm)
    if s.processed < s.sent:
        event = min(event, s.pipe[s.processed % len(s.pipe), CYCLE] + s.rules.returns - 2)
    if s.rules.knee and s.taken < s.decided:
        row = s.order[s.taken % len(s.order)]
        event = min(event, s.slots[row[0], row[1]].offer)
    if s.rules.in_order and s.retired < s.decided:
        row = s.order[s.retired % len(s.order)]
        event = min(event, s.slots[row[0], row[1]].done)
    return max(event, cycle + 1)


@inlined
def run_cycle(
    s: State, lengths: Integers, offers: Integers, reports: Integers, cycle: int
) -> tuple[int, int, bool]:
    """Run one cycle on the state at its start.

    Returns the next cycle in which something may happen; the place that a launch left in this one,
    or `NONE`; and whether a launch started or an SM was lost.
    """
    rings = s.alarm <= cycle
    if rings:
        act(s, cycle)
    given = begin_ranks(s, cycle) if s.rules.preempts else NONE
    if s.recount_at <= cycle:
        s.recount_at = NEVER
        if s.head != NONE:
            count_others(s)
    if s.known <= cycle:
        s.known = NEVER
        if s.head != NONE:
            fit(s, s.need, True)
    was_resident = s.rules.policy != FREED_FIRST or resident(s, cycle)
    entrant = entering(s)
    starting = s.head != NONE and s.places[s.head].started == NEVER
    decided = s.decided
    busy = decide(s, lengths, offers, cycle, given)
    started = starting and s.decided > decided
    lost = rings and lose(s, cycle)
    other_change = started or lost or s.marked
    s.marked = False
    if not was_resident and s.queued + s.waiting > 0:
        forget_freed(s)
    elif entrant != NONE:
        enter(s, entrant)
    busy |= process(s, cycle)
    taker = take_up(s, cycle) if s.rules.knee else NONE
    busy |= send(s, reports, cycle)
    if taker != NONE:
        count_taken(s, cycle)
    busy |= give_up(s, cycle)
    ended = load(s, cycle)
    if rings:
        remove_lost_blocks(s, cycle)
        s.alarm = next_alarm(s, cycle)
    if s.rules.preempts and end_ranks(s, cycle):
        busy = other_change = True
    busy |= entrant != NONE or ended != NONE or lost
    return cycle + 1 if busy else next_event(s, cycle), ended, other_change


@compiled
def advance(
    states: Rows[State],
    lengths: Integers,
    offers: Integers,
    reports: Integers,
    cycle: int,
    until: int,
    sources: int = SOURCES,
) -> tuple[int, int, bool, bool]:
    """Run from one cycle to another, or until a launch starts or leaves, or an SM is lost.

    It also stops when as many blocks are decided as the state's ``pause`` says, and when it has a
    new head, whose lengths do not stand ready.

    Parameters
    ----------
    states : array of one State
        The state at the start of ``cycle``. An array is handed over in a tenth of a record's time.
    lengths : array of int64
        How long the blocks of the head's launch hold their slots, with contention their work, from
        block ``window`` on.
    offers, reports : array of int64
        Logs, to be filled in as far as they have columns: rows `CYCLE`, `SM` and `SLOT`, of offers
        `TICKET` and `BLOCK`, of reports `STATUS`.
    cycle, until : int
        The first cycle to run, and the first one not to run.
    sources : int
        Not to be given: a part of what is compiled, which differs when the source does.

    Returns
    -------
    tuple
        The next cycle in which something may happen, ``until`` at most; `NEVER` when nothing can
        happen any more by itself. The place that a launch left in the cycle before, or `NONE`.
        Whether a launch started, an SM was lost, or a marked block was decided. Whether lengths
        must be made ready to go on.
    """
    s = states[0]
    ended, other_change = NONE, False
    while (
        cycle < until
        and ended == NONE
        and not other_change
        and s.decided < s.pause
        and not s.unready
    ):
        event, ended, other_change = run_cycle(s, lengths, offers, reports, cycle)
        event = min(event, until)
        # Nothing changes in the cycles between.
        between = event - cycle - 1
        if event < NEVER and s.head != NONE:
            stall(s, NONE, NONE, cycle + 1, between)
        elif event < NEVER and s.held:
            s.stall_order += between
        cycle = event
    return cycle, ended, other_change, s.unready or s.decided >= s.pause
