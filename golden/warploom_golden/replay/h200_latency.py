"""How far each SM of an H100 or H200 is from the dispatcher, in nanoseconds each way.

See ``docs/replay/silicon.md``, 'The rounds of an H200'.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from warploom_golden.replay.h200_layout import FIRST_SINGLETON, GPCS, gpcs_of
from warploom_golden.replay.recorded_grid import Numbers, Times

#: Far GPCs of the GPU that the table was measured on, and of each GPU known, by the GPCs whose
#: clocks the singletons share.
_MEASURED: Final = (1, 2, 3, 7)
_KNOWN: Final = {
    (0, 0, 0, 0, 0, 0, 0, 0): _MEASURED,
    (0, 0, 4, 4, 5, 5, 0, 0): (1, 2, 3, 6),
    (0, 0, 5, 5, 0, 0, 0, 0): (2, 3, 5, 6),
}
#: Nanoseconds by which far GPCs' turnarounds exceed near ones' at least, if they are told apart:
#: in every recording in which they are, it is 24 to 31.
_APART: Final = 16.0
#: Nanoseconds of the ninth TPC of a GPC beside the eighth, by the way.
_NINTH_TPC: Final = {"up": 4.0, "down": 0.0}
_TABLE: Final = Path(__file__).with_name("h200_latency.json")


def far_gpcs(gpc: Numbers, sm: Numbers, waits: Times) -> tuple[int, ...]:
    """Return the four far GPCs; empty if they cannot be told.

    Parameters
    ----------
    gpc : array of int
        For each SM the GPC through which it reports.
    sm : array of int
        For each block behind the first wave its SM.
    waits : array of float
        For each of these blocks the time for which its slot was free.
    """
    known = _KNOWN.get(tuple(gpc[FIRST_SINGLETON:].tolist()), ())
    of_block = np.where(sm < FIRST_SINGLETON, gpc[sm], GPCS)
    if len(np.unique(of_block[of_block < GPCS])) < GPCS:
        return known
    medians = np.array([np.median(waits[of_block == number]) for number in range(GPCS)])
    order = np.argsort(medians, kind="stable")
    steps = np.diff(medians[order])
    if steps.argmax() != GPCS // 2 - 1 or steps.max() < _APART or steps.max() > 2.5 * _APART:
        return known
    return tuple(sorted(order[GPCS // 2 :].tolist()))


def latencies(gpc: Numbers, far: Sequence[int]) -> tuple[Times, Times]:
    """Return for each SM the nanoseconds of an end's way up, and of a block's way down.

    The n-th far GPC has the latencies of the n-th far one of the GPU that was measured, its TPCs
    in order, and so have the near ones. A singleton is as far as the GPC whose clock it shares.
    """
    table = json.loads(_TABLE.read_text())
    up, down = (
        _moved(np.array(table[way], float).repeat(2), ninth, gpc, far)
        for way, ninth in _NINTH_TPC.items()
    )
    return up, down


def _moved(way: Times, ninth: float, gpc: Numbers, far: Sequence[int]) -> Times:
    """Return a way of the measured GPU's SMs for a GPU with other far GPCs."""
    sms = gpcs_of()
    by_gpc = [way[:FIRST_SINGLETON][sms == number] for number in range(GPCS)]
    moved = way.copy()
    for mine, theirs in zip(_sides(far), _sides(_MEASURED), strict=True):
        for number, model in zip(mine, theirs, strict=True):
            (own,) = np.nonzero(sms == number)
            there = by_gpc[model]
            beyond = np.repeat(there[-1] + ninth, max(0, len(own) - len(there)))
            moved[own] = np.concatenate((there, beyond))[: len(own)]
    near, distant = (
        np.mean([by_gpc[number].mean() for number in side]) for side in _sides(_MEASURED)
    )
    moved[FIRST_SINGLETON:] += np.where(np.isin(gpc[FIRST_SINGLETON:], far), distant - near, 0.0)
    return moved


def _sides(far: Sequence[int]) -> tuple[list[int], list[int]]:
    return [number for number in range(GPCS) if number not in far], sorted(far)
