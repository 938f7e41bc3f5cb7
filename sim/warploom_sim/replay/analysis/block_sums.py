"""Sums over a replay's blocks by launch, from events that come in pieces, compiled."""

from typing import Final

from warploom_golden.replay.compiled import compiled, inlined
from warploom_golden.replay.records import Integers

#: Columns of the sums of a launch: blocks offered and reported, cycles of its first offer, of its
#: last offer and of its last report, and the cycles that its blocks held their slots: all of them,
#: and those after its last offer.
OFFERED: Final = 0
REPORTED: Final = 1
FIRST: Final = 2
LAST_OFFER: Final = 3
LAST: Final = 4
HELD: Final = 5
HELD_AFTER: Final = 6
SUMS: Final = 7


@inlined
def take(sums: Integers, slots: Integers, cycle: int, row: int, slot: int) -> None:
    """Count an offer."""
    if sums[row, OFFERED] == 0:
        sums[row, FIRST] = cycle
    sums[row, OFFERED] += 1
    # All that runs from here on is counted anew: this offer may be the last one.
    sums[row, LAST_OFFER] = cycle
    sums[row, HELD_AFTER] = 0
    slots[slot, 0], slots[slot, 1] = row, cycle


@compiled
def add(
    sums: Integers,
    slots: Integers,
    offered: Integers,
    rows: Integers,
    offer_slots: Integers,
    reported: Integers,
    report_slots: Integers,
    reported_rows: Integers,
    reported_since: Integers,
) -> None:
    """Add blocks that were offered and reported.

    Parameters
    ----------
    sums : array of int64, shape (launches, SUMS)
        What came so far, to be changed.
    slots : array of int64, shape (slots, 2)
        Of each slot of all SMs the row of the launch that was offered there last, and the cycle.
    offered, rows, offer_slots : array of int64
        Of each offer, in order: cycle, row of the launch, slot among all SMs'.
    reported, report_slots : array of int64
        Of each report, in order: cycle and slot.
    reported_rows, reported_since : array of int64
        To be filled in: of each report the row of its launch, and the cycle of the block's offer.
    """
    k = 0
    for n in range(len(reported)):
        while k < len(offered) and offered[k] <= reported[n]:
            take(sums, slots, offered[k], rows[k], offer_slots[k])
            k += 1
        row, since = slots[report_slots[n], 0], slots[report_slots[n], 1]
        reported_rows[n], reported_since[n] = row, since
        sums[row, REPORTED] += 1
        sums[row, LAST] = reported[n]
        sums[row, HELD] += reported[n] - since
        # A piece before may have had an offer of a later cycle than this report.
        sums[row, HELD_AFTER] += max(reported[n] - sums[row, LAST_OFFER], 0)
    while k < len(offered):
        take(sums, slots, offered[k], rows[k], offer_slots[k])
        k += 1
