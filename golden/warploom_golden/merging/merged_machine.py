"""Dispatcher and SMs of merged launches: those of the replay's event model, compiled with a gate.

One launch is in the dispatcher at a time, in row 0. Its blocks have lengths and needs of their own,
and the next block is held until its task is open. What opens a task, and what a waiting block does
on its SM, is not decided here: see ``merged_dispatcher``.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.compiled import compiled, inlined, source_number
from warploom_golden.replay.event_constants import (
    CYCLE,
    NEVER,
    NONE,
    NOT_DUE,
    SLOT,
    SLOT_BITS,
    SM,
)
from warploom_golden.replay.records import Integers, Rows
from warploom_golden.replay.residents import machine
from warploom_golden.replay.residents.books import begin_scan, judge_all, lose_all_rooms
from warploom_golden.replay.residents.machine import run_cycle, skip
from warploom_golden.replay.residents.sm_groups import move_candidates
from warploom_golden.replay.residents.stand_ins import enter_key, hold, plan
from warploom_golden.replay.residents.state import State

#: An argument whose type differs when the source of one of the parts does: then Numba compiles
#: again. A default value would tell it too, but slows every call down by milliseconds.
SOURCES: Final = np.zeros(0, [(f"sources_{source_number(machine, *machine.PARTS)}", np.int8)])
#: Rows of a launch's log; -1: it has not happened.
OFFERED: Final = 0
STARTED: Final = 1
DUE: Final = 2
REPORTED: Final = 3
ON_SM: Final = 4
IN_SLOT: Final = 5
#: Rows of the log of reports beside its cycle and its SM, which are ``CYCLE`` and ``SM``.
MERGED_ID: Final = 2


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
    reported : array of int64
        By row, and number of the report: cycle, SM, and `MERGED_ID`.
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
    reported: Integers
    holder: Integers


class Ran(NamedTuple):
    """How far `advance` has come.

    Attributes
    ----------
    cycle : int
        The next cycle to run; `NEVER` if nothing can happen any more by itself.
    told : bool
        Whether the caller of the dispatcher must know what happened.
    gated : int
        In how many cycles a gate alone held the next block.
    placed : int
        Merged id of the next block to place.
    waits : bool
        Whether the last block that was placed waits on its SM.
    reports : int
        How many blocks of the launch were reported.
    """

    cycle: int
    told: bool
    gated: int
    placed: int
    waits: bool
    reports: int


@inlined
def waits(w: Launch, spin: bool, number: int) -> bool:
    """Tell whether a block that is placed now waits on its SM, for marks or for tags."""
    task = w.tasks[number]
    return spin and (not w.open[task] or number == w.last[task])


@inlined
def shut_or_not(s: State, w: Launch, spin: bool) -> None:
    """Find out whether the gate is shut for the next block."""
    number = s.rows[0].next
    s.shut = not spin and number < len(w.tasks) and not w.open[w.tasks[number]]


@inlined
def place_block(s: State, w: Launch, spin: bool, offers: Integers, cycle: int) -> bool:
    """Let the block that was picked in a cycle last as long as its launch says; return if it waits.

    A block that waits on its SM is not due before the caller says when.
    """
    number = offers[SM, 0]
    slot = offers[SLOT, 0]
    offered = offers[CYCLE, 0]
    n = s.rows[0].next - 1
    w.holder[number, slot] = n
    w.log[OFFERED, n], w.log[ON_SM, n], w.log[IN_SLOT, n] = offered, number, slot
    waiting = waits(w, spin, n)
    due = NOT_DUE
    if not waiting:
        due = offered + w.lengths[n]
        w.log[STARTED, n], w.log[DUE, n] = offered, due
    enter_key(s.due[number], s.rules.block_slots, slot, due << SLOT_BITS | slot)
    plan(s, number, cycle + 1)
    return waiting


@inlined
def change_need(s: State, w: Launch, first_sm: int, cycle: int) -> None:
    """Look at all SMs anew if the next block takes something else: as another launch's would."""
    row = s.rows[0]
    if row.next >= len(w.tasks):
        return
    need = w.amounts[w.tasks[row.next]]
    same = True
    for k in range(len(need)):
        same &= row.need[k] == need[k]
    if same:
        return
    for k in range(len(need)):
        row.need[k] = need[k]
    lose_all_rooms(s)
    judge_all(s)
    begin_scan(s, first_sm)
    s.changed = cycle
    if s.rules.grouped:
        move_candidates(s, NONE, True, cycle)


@inlined
def note_reports(s: State, w: Launch, reports: Integers, count: int, few: int) -> bool:
    """Note the reports of a cycle; tell whether few blocks of a task are left now."""
    news = False
    for k in range(s.reports):
        number = reports[SM, k]
        n = w.holder[number, reports[SLOT, k]]
        w.log[REPORTED, n] = reports[CYCLE, k]
        w.reported[CYCLE, count + k] = reports[CYCLE, k]
        w.reported[SM, count + k] = number
        w.reported[MERGED_ID, count + k] = n
        w.left[w.tasks[n]] -= 1
        news |= w.left[w.tasks[n]] <= few
    return news


@compiled
def advance(
    states: Rows[State],
    w: Launch,
    holds: Integers,
    few: int,
    spin: bool,
    offers: Integers,
    reports: Integers,
    count: int,
    cycle: int,
    until: int,
    sources: NDArray[np.void],
) -> Ran:
    """Run from one cycle to another, or until the dispatcher's caller must know what happened.

    It also stops behind a cycle in which a block was placed that waits on its SM.

    Parameters
    ----------
    states : array of State
        The event model's state at the start of ``cycle``; its row 0 has the launch.
    w : Launch
        The launch.
    holds : array of int64
        Blocks of earlier cycles whose due cycle is now known: rows of SM, slot, cycle.
    few : int
        Stop behind a report that leaves so many blocks of its task, or fewer.
    spin : bool
        Whether blocks are placed that wait on their SM, until they are in ``holds``.
    offers, reports : array of int64
        Logs of one cycle, as in the event model.
    count : int
        How many blocks of the launch were reported.
    cycle, until : int
        The first cycle to run, and the first one not to run.
    sources : array of records
        `SOURCES`; only its type counts.
    """
    s = states[0]
    for k in range(len(holds)):
        hold(s, holds[k, 0], holds[k, 1], holds[k, 2])
    shut_or_not(s, w, spin)
    s.told = s.marked = False
    gated, news, waiting = 0, False, False
    while cycle < until and not s.told and not news:
        s.offers = s.reports = 0
        first_sm, had_room = s.first_sm, s.rooms > 0
        run_cycle(s, offers, reports, cycle)
        if s.offers > 0:
            waiting = place_block(s, w, spin, offers, cycle)
            change_need(s, w, first_sm, cycle)
            shut_or_not(s, w, spin)
        news = note_reports(s, w, reports, count, few) or waiting
        count += s.reports
        following = cycle + 1 if news else skip(s, cycle, until)
        if s.gated and had_room:
            gated += 1
        if s.gated and s.rooms > 0 and following < NEVER:
            gated += following - cycle - 1
        cycle = following
    return Ran(cycle, s.told, gated, s.rows[0].next, waiting, count)
