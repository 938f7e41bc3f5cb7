"""The block dispatcher of an H100 or H200, tick by tick: how ends are reported, how rounds go out.

Follows ``docs/replay/silicon.md``, 'The rounds of an H200'. A tick is one cycle of the dispatcher's
clock. Numba compiles all of it; it stands in one file, because what Numba keeps is discarded when
that file changes. SMs have the GPU's own numbers here.
"""

from heapq import heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.compiled import compiled, inlined
from warploom_golden.replay.h200_state import Layout, State
from warploom_golden.replay.recorded_grid import Numbers, Times

#: `h200_state.NONE`. What Numba keeps is discarded when this file changes, not when that one does.
NONE: Final = -1

#: Ticks from one end to the next that a TPC takes from its SMs, and that it offers to its GPC.
TAKE: Final = 3
OFFER: Final = 11
#: Ticks that a round takes beside its passes, and that each pass takes.
ROUND: Final = 16
PASS: Final = 8
#: Ticks between two blocks, and from a round's first block on, from which a block is of a new
#: round.
JUMP: Final = 12
SPAN: Final = 20
#: Ticks by which the date of a round's first block is early: it is the earliest of noisy dates. The
#: page says on which recordings this and `JUMP` and `SPAN` were chosen.
EARLY: Final = 2

#: Of each end the tick in which it arrives at its TPC, in order, and its SM.
Ends = tuple[Numbers, Numbers]
_Heap = list[tuple[int, int]]


@inlined
def _shift(queue: Numbers, count: Numbers, row: int, place: int) -> int:
    """Take one entry out of a row's queue; those behind it move up."""
    taken: int = queue[row, place]
    count[row] -= 1
    for k in range(place, count[row]):
        queue[row, k] = queue[row, k + 1]
    return taken


@inlined
def _tpc_tick(s: State, tpc: int, tick: int) -> None:
    """Let a TPC take an end from one of its SMs, in turn, and offer one to its GPC."""
    first, other = 2 * tpc + s.turn[tpc], 2 * tpc + 1 - s.turn[tpc]
    sm = first if s.ended[first] > 0 else other
    if s.ended[sm] > 0 and s.tpc_count[tpc] < s.tpc_queue.shape[1] and tick >= s.take_at[tpc]:
        s.ended[sm] -= 1
        s.tpc_queue[tpc, s.tpc_count[tpc]] = sm
        s.tpc_count[tpc] += 1
        s.turn[tpc] = 1 - sm % 2
        s.take_at[tpc] = tick + TAKE
    if s.tpc_count[tpc] > 0 and s.offered[tpc] == NONE and tick >= s.offer_at[tpc]:
        s.offered[tpc] = _shift(s.tpc_queue, s.tpc_count, tpc, 0)
        s.offer_at[tpc] = tick + OFFER


@inlined
def _gpc_tick(layout: Layout, s: State, gpc: int, tick: int) -> None:
    """Let a GPC take one offer, its TPCs in rotation."""
    tpcs = layout.rotation.shape[1]
    for place in range(tpcs):
        if layout.rotation[gpc, place] != NONE:
            _tpc_tick(s, layout.rotation[gpc, place], tick)
    if s.gpc_count[gpc] == s.gpc_queue.shape[1]:
        return
    for step in range(1, tpcs + 1):
        place = (s.last_tpc[gpc] + step) % tpcs
        tpc = layout.rotation[gpc, place]
        if tpc != NONE and s.offered[tpc] != NONE:
            s.gpc_queue[gpc, s.gpc_count[gpc]] = s.offered[tpc]
            s.gpc_count[gpc] += 1
            s.offered[tpc] = NONE
            s.last_tpc[gpc] = place
            return


@inlined
def _report_tick(layout: Layout, s: State, tick: int) -> None:
    """Move the ends one tick on; the dispatcher takes one of them, the GPCs in rotation."""
    if s.under_way[0] == 0:
        return
    gpcs = len(layout.rotation)
    for gpc in range(gpcs):
        _gpc_tick(layout, s, gpc, tick)
    for step in range(1, gpcs + 1):
        gpc = (s.last_gpc[0] + step) % gpcs
        if s.gpc_count[gpc] > 0:
            s.room[_shift(s.gpc_queue, s.gpc_count, gpc, 0)] += 1
            s.under_way[0] -= 1
            s.last_gpc[0] = gpc
            return


@inlined
def _heap(ends: Ends) -> _Heap:
    """Return the ends as a heap, which they are since they are in order."""
    # Numba takes the type of an empty list from what is put in first.
    heap = [(0, 0)]
    heap.pop()
    for k in range(len(ends[0])):
        heap.append((int(ends[0][k]), int(ends[1][k])))
    return heap


@inlined
def _admit(s: State, ends: _Heap, owed: Numbers, tick: int) -> None:
    """Let the ends in that arrive by a tick; one that is owed was counted before."""
    while len(ends) > 0 and ends[0][0] <= tick:
        sm = heappop(ends)[1]
        if owed[sm] > 0:
            owed[sm] -= 1
        else:
            s.ended[sm] += 1
            s.under_way[0] += 1


@inlined
def _has_room(layout: Layout, s: State, group: int) -> bool:
    room = 0
    for sm in layout.served[group]:
        if sm != NONE:
            room += s.room[sm]
    return room > 0


@inlined
def _begin_round(layout: Layout, s: State) -> None:
    """Move the pointer to the next GPC with room, unless a singleton has room."""
    gpcs = len(layout.rotation)
    s.seen[:] = 0
    if _has_room(layout, s, gpcs):
        return
    for step in range(1, gpcs + 1):
        gpc = (s.pointer[0] + step) % gpcs
        if _has_room(layout, s, gpc):
            s.pointer[0] = gpc
            return


@inlined
def _look(layout: Layout, s: State, age: int) -> None:
    """Look at one GPC in each tick of a round, from the one behind the pointer on."""
    gpcs = len(layout.rotation)
    if 1 <= age <= gpcs:
        for sm in layout.served[(s.pointer[0] + age) % gpcs]:
            if sm != NONE:
                s.seen[sm] = s.room[sm]
    if age == gpcs:
        for sm in layout.served[gpcs]:
            if sm != NONE:
                s.seen[sm] = s.room[sm]


@inlined
def _turn(layout: Layout, s: State, place: int) -> int:
    """Return the group that is served at a place: the singletons, then the ring."""
    gpcs = len(layout.rotation)
    return gpcs if place == 0 else (s.pointer[0] + place) % gpcs


@compiled
def place_blocks(
    layout: Layout,
    s: State,
    ends: Ends,
    begin: int,
    travel: tuple[Times, Times],
    lengths: Times,
    gaps: tuple[float, Times],
) -> tuple[Numbers, Times]:
    """Let the dispatcher run by itself; return each block's SM, and when it leaves, in ticks.

    Parameters
    ----------
    layout : Layout
        Which SMs belong together.
    s : State
        Its ``room`` is what the first wave left.
    ends : tuple of array of int
        Known ends: their ticks in order, and their SMs.
    begin : int
        First tick.
    travel : tuple of array of float
        For each SM the ticks of an end to the dispatcher, and of a block to the SM.
    lengths : array of float
        For each block the ticks from its start to its end, which is then an end; negative: the ends
        are known already.
    gaps : tuple of float and array of float
        Ticks from one start on an SM to its next, at the least; the last start on each SM.
    """
    heap = _heap(ends)
    up, down = travel
    gap, last_start = gaps
    blocks = len(lengths)
    sms, leaves = np.full(blocks, NONE), np.zeros(blocks)
    owed = np.zeros(len(layout.gpc), np.int64)
    tick, ready, first, placed = begin, begin, NONE, 0
    gpcs = len(layout.rotation)
    while placed < blocks:
        _admit(s, heap, owed, tick)
        _report_tick(layout, s, tick)
        if first == NONE and tick >= ready and s.room.any():
            first = tick
            _begin_round(layout, s)
        if first != NONE:
            _look(layout, s, tick - first)
        if first != NONE and tick - first == gpcs:
            passes = 0
            while placed < blocks and s.seen.any():
                leave = first + PASS * passes
                for place in range(gpcs + 1):
                    served = False
                    for sm in layout.served[_turn(layout, s, place)]:
                        if sm == NONE or s.seen[sm] == 0 or placed == blocks:
                            continue
                        served = True
                        s.seen[sm] -= 1
                        s.room[sm] -= 1
                        time = max(float(leave), last_start[sm] + gap - down[sm])
                        last_start[sm] = time + down[sm]
                        sms[placed], leaves[placed] = sm, time
                        if lengths[placed] >= 0:
                            end = time + down[sm] + lengths[placed] + up[sm]
                            heappush(heap, (int(np.ceil(end)), int(sm)))
                        placed += 1
                    leave += served
                passes += 1
            ready, first = first + ROUND + PASS * passes, NONE
        tick += 1
        if first == NONE and s.under_way[0] == 0 and not s.room.any():
            if len(heap) == 0:
                break
            tick = max(tick, heap[0][0])
    return sms, leaves


@inlined
def _drop(layout: Layout, s: State, sm: int) -> bool:
    """Take an SM's end out of the ends under way, the one that came farthest; say if there was one.

    The dispatcher has given the slot away, so it has heard of it already.
    """
    gpc, tpc = layout.gpc[sm], sm // 2
    for k in range(s.gpc_count[gpc]):
        if s.gpc_queue[gpc, k] == sm:
            _shift(s.gpc_queue, s.gpc_count, gpc, k)
            return True
    found = False
    if s.offered[tpc] == sm:
        s.offered[tpc] = NONE
        found = True
    for k in range(s.tpc_count[tpc]):
        if not found and s.tpc_queue[tpc, k] == sm:
            _shift(s.tpc_queue, s.tpc_count, tpc, k)
            found = True
    if not found and s.ended[sm] > 0:
        s.ended[sm] -= 1
        s.turn[tpc] = 1 - sm % 2
        found = True
    if found:
        for place in range(layout.rotation.shape[1]):
            if layout.rotation[gpc, place] == tpc:
                s.last_tpc[gpc] = place
    return found


@inlined
def _given(layout: Layout, s: State, owed: Numbers, sm: int) -> None:
    """Take a slot of the SM that the GPU chose."""
    if s.seen[sm] > 0:
        s.seen[sm] -= 1
    if s.room[sm] > 0:
        s.room[sm] -= 1
    elif _drop(layout, s, sm):
        s.under_way[0] -= 1
    else:
        owed[sm] += 1


@inlined
def _place_of(layout: Layout, s: State, sm: int) -> int:
    """Return the place at which an SM's group is served."""
    gpcs = len(layout.rotation)
    if layout.group[sm] == gpcs:
        return 0
    place: int = (layout.group[sm] - s.pointer[0] - 1) % gpcs + 1
    return place


@inlined
def _next_seen(layout: Layout, s: State, last: int) -> int:
    """Return the SM that the round serves after another one; `NONE` if it saw no room elsewhere."""
    groups = len(layout.served)
    place = 0 if last == NONE else _place_of(layout, s, last)
    behind = last == NONE
    # The last SM's own group is gone through twice: behind the SM, and in the next pass.
    for step in range(groups + 1):
        for sm in layout.served[_turn(layout, s, (place + step) % groups)]:
            if sm != NONE and behind and s.seen[sm] > 0:
                return int(sm)
            behind = behind or sm == last
    return NONE


@compiled
def next_choices(
    layout: Layout, s: State, ends: Ends, chosen: Numbers, dates: Times
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return for each block the SM that comes next, told what the GPU did before; and more.

    The second array says for each block whether its own SM had room then.

    Parameters
    ----------
    layout : Layout
        Which SMs belong together.
    s : State
        Its ``room`` is what the first wave left.
    ends : tuple of array of int
        All ends, as for `place_blocks`.
    chosen : array of int
        For each block the SM that the GPU chose.
    dates : array of float
        For each block the tick in which it left the dispatcher.
    """
    blocks, gpcs = len(chosen), len(layout.rotation)
    choices, had_room = np.full(blocks, NONE), np.zeros(blocks, np.bool_)
    owed = np.zeros(len(layout.gpc), np.int64)
    heap = _heap(ends)
    tick = min(heap[0][0], int(dates[0]))
    last, last_gpc, singleton = NONE, NONE, False
    opened = 0.0
    for block in range(blocks):
        date = dates[block]
        if block == 0 or date - dates[block - 1] > JUMP or date - opened > SPAN:
            opened = date
            if last_gpc != NONE and not singleton:
                s.pointer[0] = last_gpc
            last, last_gpc, singleton = NONE, NONE, False
            first = max(tick, int(np.round(date)) + EARLY)
            while tick <= first + gpcs:
                _admit(s, heap, owed, tick)
                _report_tick(layout, s, tick)
                if tick == first:
                    _begin_round(layout, s)
                _look(layout, s, tick - first if tick >= first else 0)
                tick += 1
        sm = int(chosen[block])
        choices[block] = _next_seen(layout, s, last)
        had_room[block] = s.seen[sm] > 0
        _given(layout, s, owed, sm)
        last = sm
        if layout.group[sm] == gpcs:
            singleton = True
        else:
            last_gpc = layout.group[sm]
    return choices, had_room
