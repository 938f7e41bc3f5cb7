"""Placement and SMs of merged launches: those of the replay's event model, compiled with a gate.

One launch is in the dispatcher at a time. Its blocks have lengths and amounts of their own, and the
head is held until its task is open. What opens a task, and what a waiting block does on its SM, is
not decided here: see ``merged_dispatcher``.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay import event_machine
from warploom_golden.replay.compiled import compiled, inlined, source_number
from warploom_golden.replay.event_constants import NEVER, NONE, OK, SLOT, SM, STATUS
from warploom_golden.replay.event_machine import next_event, resident
from warploom_golden.replay.event_placement import (
    choose,
    enter,
    entering,
    fit,
    forget_freed,
    got_block,
    note_decision,
    open_rooms,
    take,
)
from warploom_golden.replay.event_sms import hold, process, send
from warploom_golden.replay.event_state import Integers, State
from warploom_golden.replay.event_stops import load

#: An argument whose type differs when the source of one of the parts does: then Numba compiles
#: again. A default value would tell it too, but slows every call down by milliseconds.
SOURCES: Final = np.zeros(
    0, [(f"sources_{source_number(event_machine, *event_machine.PARTS)}", np.int8)]
)
#: Rows of a launch's log; -1: it has not happened.
OFFERED: Final = 0
STARTED: Final = 1
DUE: Final = 2
REPORTED: Final = 3
ON_SM: Final = 4
IN_SLOT: Final = 5
#: Row of the log of reports that has the blocks' merged ids.
MERGED_ID: Final = STATUS
#: What a decision does: nothing, something may follow in the next cycle, a gate alone holds.
IDLE: Final = 0
BUSY: Final = 1
GATED: Final = 2


class Launch(NamedTuple):
    """The launch in the dispatcher.

    Attributes
    ----------
    tasks, lengths : array of int64
        By merged id: the block's task, its cycles of work.
    amounts : array of int64
        By task, in the order of ``RESOURCES``: what one block takes.
    open : array of int64
        By task: 1 if all marks stand that its blocks need.
    last, left : array of int64
        By task: the merged id of the block that reports last, and how many were not reported yet.
    log : array of int64
        By row, as above, and merged id.
    holder : array of int64
        By SM and slot: the merged id of the block that got it last.
    """

    tasks: Integers
    lengths: Integers
    amounts: Integers
    open: Integers
    last: Integers
    left: Integers
    log: Integers
    holder: Integers


class Ran(NamedTuple):
    """How far `advance` has come.

    Attributes
    ----------
    cycle : int
        The next cycle to run.
    event : int
        The one in which something may happen by itself, `NEVER` if none.
    ended : bool
        Whether the launch's end was loaded in the cycle before.
    gated : int
        In how many cycles a gate alone held the head.
    placed : int
        Merged id of the next block to place.
    waits : bool
        Whether the last block that was placed waits on its SM.
    reports : int
        How many blocks of the launch were reported.
    """

    cycle: int
    event: int
    ended: bool
    gated: int
    placed: int
    waits: bool
    reports: int


@inlined
def set_need(s: State, w: Launch) -> None:
    """Find out which SMs have room for the next block, unless it takes what the last one took."""
    number = s.places[0].next
    if number < len(w.tasks):
        need = w.amounts[w.tasks[number]]
        same = True
        for k in range(len(need)):
            same &= s.need[k] == need[k]
        if not same:
            fit(s, need, True)


@inlined
def decide(s: State, w: Launch, spin: bool, cycle: int) -> int:
    """Place the head if an SM is eligible and its task is open, or begin with the launch."""
    place = s.places[0]
    if not place.occupied:
        return IDLE
    if not place.walking:
        if cycle >= place.since:
            place.walking = True
            set_need(s, w)
        return BUSY
    if place.next == len(w.tasks) or s.rooms == 0:
        return IDLE
    if not spin and not w.open[w.tasks[place.next]]:
        return GATED
    shut, earlier = got_block(s, cycle - 1), got_block(s, cycle - 2)
    if open_rooms(s, shut, earlier) > 0:
        place_block(s, w, spin, choose(s, shut, earlier), cycle)
    return BUSY


@inlined
def waits(w: Launch, spin: bool, number: int) -> bool:
    """Tell whether a block that is placed now waits on its SM, for marks or for tags."""
    task = w.tasks[number]
    return spin and (not w.open[task] or number == w.last[task])


@inlined
def place_block(s: State, w: Launch, spin: bool, number: int, cycle: int) -> None:
    """Place the head on an SM, which holds it for its length, unless the block waits there."""
    place = s.places[0]
    slot = take(s, number)
    n, offered = place.next, cycle + s.rules.offer
    block = s.slots[number, slot]
    block.place = 0
    block.offer = offered
    block.reported = block.done = NEVER
    block.status = OK
    block.out = True
    w.holder[number, slot] = n
    w.log[OFFERED, n], w.log[ON_SM, n], w.log[IN_SLOT, n] = offered, number, slot
    if not waits(w, spin, n):
        w.log[STARTED, n], w.log[DUE, n] = offered, offered + w.lengths[n]
        hold(s, number, slot, offered + w.lengths[n])
    row = s.order[s.decided % len(s.order)]
    row[0], row[1] = number, slot
    s.decided += 1
    note_decision(s, number, cycle)
    place.started = min(place.started, cycle)
    place.out += 1
    place.next += 1
    set_need(s, w)


@inlined
def run_cycle(s: State, w: Launch, spin: bool, reports: Integers, cycle: int) -> tuple[int, bool]:
    """Run one cycle; return what the decision did, and whether the launch's end was loaded."""
    was_resident = resident(s, cycle)
    entrant = entering(s)
    does = decide(s, w, spin, cycle)
    if not was_resident and s.queued + s.waiting > 0:
        forget_freed(s)
    elif entrant != NONE:
        enter(s, entrant)
    if process(s, cycle) or entrant != NONE:
        does |= BUSY
    first = s.reports
    send(s, reports, cycle)
    for k in range(first, s.reports):
        n = reports[MERGED_ID, k] = w.holder[reports[SM, k], reports[SLOT, k]]
        w.log[REPORTED, n] = cycle
        w.left[w.tasks[n]] -= 1
    return does, load(s, cycle) != NONE


@inlined
def few_left(s: State, w: Launch, few: int, reports: Integers, first: int) -> bool:
    """Tell whether so few blocks are left of a task of which one was reported just now."""
    least = few + 1
    for k in range(first, s.reports):
        least = min(least, w.left[w.tasks[reports[MERGED_ID, k]]])
    return least <= few


@compiled
def advance(
    s: State,
    w: Launch,
    holds: Integers,
    few: int,
    spin: bool,
    reports: Integers,
    cycle: int,
    until: int,
    sources: NDArray[np.void],
) -> Ran:
    """Run from one cycle to another, or until the launch's end is loaded.

    It also stops behind a cycle in which a block was placed that waits on its SM.

    Parameters
    ----------
    s : State
        The event model's state at the start of ``cycle``; its place 0 has the launch.
    w : Launch
        The launch.
    holds : array of int64
        Blocks of earlier cycles whose due cycle is now known: rows of SM, slot, cycle.
    few : int
        Stop behind a report that leaves so many blocks of its task, or fewer.
    spin : bool
        Whether blocks are placed that wait on their SM, until they are in ``holds``.
    reports : array of int64
        Log of the launch's reports, as in the event model, but with the row `MERGED_ID`.
    cycle, until : int
        The first cycle to run, and the first one not to run.
    sources : array of records
        `SOURCES`; only its type counts.
    """
    for k in range(len(holds)):
        hold(s, holds[k, 0], holds[k, 1], holds[k, 2])
    event, gated, ended, news, waiting = cycle, 0, False, False, False
    while cycle < until and not ended and not news:
        decided, reported = s.decided, s.reports
        does, ended = run_cycle(s, w, spin, reports, cycle)
        waiting = s.decided > decided and waits(w, spin, s.places[0].next - 1)
        news = waiting or few_left(s, w, few, reports, reported)
        event = cycle + 1 if ended or does & BUSY else next_event(s, cycle)
        following = cycle + 1 if news else min(event, until)
        if does & GATED:
            gated += following - cycle
        cycle = following
    return Ran(cycle, event, ended, gated, s.places[0].next, waiting, s.reports)
