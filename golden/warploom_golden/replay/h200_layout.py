"""Which SMs of an H100 or H200 belong together, by the GPU's own numbers.

Measured on GPUs with 132 SMs; see ``docs/replay/silicon.md``, 'The rounds of an H200'.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from warploom_golden.replay.h200_state import NONE, Layout
from warploom_golden.replay.recorded_grid import Numbers

#: SMs and GPCs of the GPU.
SMS: Final = 132
GPCS: Final = 8
#: The first of the singletons: SMs that get blocks as a group of their own.
FIRST_SINGLETON: Final = 124
#: TPCs of a CPC, a part of a GPC.
_CPC: Final = 3


def gpcs_of() -> Numbers:
    """Return the GPC of each SM but the singletons: the first wave fills one after the other."""
    sm = np.arange(FIRST_SINGLETON)
    # GPC 0 has 8 SMs fewer than the others: it has no SM from 64 on. GPCs 6 and 7 have 2 more.
    gpc = np.where(sm < 64, sm % 16 // 2, (sm - 64) % 14 // 2 + 1)
    gpc[120:] = (6, 6, 7, 7)
    return gpc


def mismatch(names: Sequence[int], clock_groups: Sequence[int]) -> str:
    """Return why a GPU is none of those that the rule was measured on; empty if it is one.

    Parameters
    ----------
    names : sequence of int
        The GPU's own number of each SM.
    clock_groups : sequence of int
        For each SM a number that the SMs of one clock share; empty: unknown.
    """
    if sorted(names) != list(range(SMS)):
        return f"the recording has {len(names)} SMs, the rule is that of {SMS}, SM 0 to {SMS - 1}"
    if not len(clock_groups):
        return "the recording has no clocks, so the SMs of a GPC are not known"
    groups, gpcs = _by_name(names, clock_groups), gpcs_of()
    pairs = set(zip(gpcs.tolist(), groups[:FIRST_SINGLETON].tolist(), strict=True))
    alone = set(groups[FIRST_SINGLETON:].tolist()) - {group for _, group in pairs}
    if len(pairs) == GPCS == len({group for _, group in pairs}) and not alone:
        return ""
    return "the SMs that share a clock are not those of the GPCs that the rule knows"


def layout(names: Sequence[int], clock_groups: Sequence[int]) -> Layout:
    """Return the layout of a GPU without `mismatch`; a singleton reports where its clock is."""
    groups, gpcs = _by_name(names, clock_groups), gpcs_of()
    of_group = dict(zip(groups[:FIRST_SINGLETON].tolist(), gpcs.tolist(), strict=True))
    gpc = np.array([of_group[group] for group in groups.tolist()])
    group = np.where(np.arange(SMS) < FIRST_SINGLETON, gpc, GPCS)
    served = [np.flatnonzero(group == row).tolist() for row in range(GPCS + 1)]
    rotation = [_rotation(np.unique(np.flatnonzero(gpc == row) // 2)) for row in range(GPCS)]
    return Layout(gpc, _padded(rotation), _padded(served), group)


def _by_name(names: Sequence[int], values: Sequence[int]) -> Numbers:
    ordered = np.zeros(len(names), np.int64)
    ordered[np.asarray(names)] = values
    return ordered


def _rotation(tpcs: Numbers) -> list[int]:
    """Return a GPC's TPCs: the first of each CPC, then the second of each, then the third."""
    return [int(tpc) for turn in range(_CPC) for tpc in tpcs[turn::_CPC]]


def _padded(rows: list[list[int]]) -> Numbers:
    table = np.full((len(rows), max(map(len, rows))), NONE)
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table
