"""Sums over a replay's blocks by launch, from events that come in pieces, compiled."""

from typing import Final

from warploom_golden.replay.compiled import compiled, inlined
from warploom_golden.replay.event_state import Integers

#: Columns of the sums of a launch: blocks offered and reported, cycles of its first offer, of its
#: last report, of the report of its median block, and the cycles that its blocks held their slots.
OFFERED: Final = 0
REPORTED: Final = 1
FIRST: Final = 2
LAST: Final = 3
HALF: Final = 4
HELD: Final = 5
SUMS: Final = 6


@inlined
def take(sums: Integers, slots: Integers, cycle: int, row: int, slot: int) -> None:
    """Count an offer."""
    if sums[row, OFFERED] == 0:
        sums[row, FIRST] = cycle
    sums[row, OFFERED] += 1
    slots[slot, 0], slots[slot, 1] = row, cycle


@compiled
def add(
    sums: Integers,
    half: Integers,
    slots: Integers,
    offered: Integers,
    rows: Integers,
    offer_slots: Integers,
    reported: Integers,
    report_slots: Integers,
    reported_rows: Integers,
) -> None:
    """Add blocks that were offered and reported.

    Parameters
    ----------
    sums : array of int64, shape (launches, SUMS)
        What came so far, to be changed.
    half : array of int64
        Of each launch: which of its reports is its median block's, from 1.
    slots : array of int64, shape (slots, 2)
        Of each slot of all SMs the row of the launch that was offered there last, and the cycle.
    offered, rows, offer_slots : array of int64
        Of each offer, in order: cycle, row of the launch, slot among all SMs'.
    reported, report_slots : array of int64
        Of each report, in order: cycle and slot.
    reported_rows : array of int64
        To be filled in: of each report the row of its launch.
    """
    k = 0
    for n in range(len(reported)):
        while k < len(offered) and offered[k] <= reported[n]:
            take(sums, slots, offered[k], rows[k], offer_slots[k])
            k += 1
        row, since = slots[report_slots[n], 0], slots[report_slots[n], 1]
        reported_rows[n] = row
        sums[row, REPORTED] += 1
        sums[row, LAST] = reported[n]
        sums[row, HELD] += reported[n] - since
        if sums[row, REPORTED] == half[row]:
            sums[row, HALF] = reported[n]
    while k < len(offered):
        take(sums, slots, offered[k], rows[k], offer_slots[k])
        k += 1
