"""What the dispatcher of an H100 or H200 consists of, and its state; `h200_machine` changes it."""

from typing import Final, NamedTuple

import numpy as np

from warploom_golden.replay.recorded_grid import Numbers

#: No SM, no TPC, no round.
NONE: Final = -1
#: Ends that a TPC's queue and a GPC's queue hold.
TPC_QUEUE: Final = 12
GPC_QUEUE: Final = 8


class Layout(NamedTuple):
    """Which SMs belong together.

    Attributes
    ----------
    gpc : array of int
        For each SM the GPC through which it reports.
    rotation : array of int
        For each GPC its TPCs in the order in which it takes their reports; `NONE` behind the last.
    served : array of int
        For each GPC its SMs in the order in which a pass serves them; `NONE` behind the last. One
        row more has the singletons.
    group : array of int
        For each SM the row of ``served`` that it stands in.
    """

    gpc: Numbers
    rotation: Numbers
    served: Numbers
    group: Numbers


class State(NamedTuple):
    """Everything that the ticks change.

    Attributes
    ----------
    ended : array of int
        For each SM the ends that have not reached its TPC's queue.
    tpc_queue, tpc_count : array of int
        For each TPC the SMs whose ends wait, and how many.
    take_at, offer_at : array of int
        For each TPC the tick from which it takes the next end, and offers the next one.
    offered : array of int
        For each TPC the SM whose end it offers to its GPC, or `NONE`.
    turn : array of int
        For each TPC which of its two SMs comes first.
    gpc_queue, gpc_count : array of int
        As for a TPC.
    last_tpc : array of int
        For each GPC the place in its rotation that reported last.
    last_gpc, pointer, under_way : array of int
        One entry: the GPC that reported last, the ring's pointer, the ends that are under way.
    room, seen : array of int
        For each SM the free slots that are known, and those that the round looked at.
    """

    ended: Numbers
    tpc_queue: Numbers
    tpc_count: Numbers
    take_at: Numbers
    offer_at: Numbers
    offered: Numbers
    turn: Numbers
    gpc_queue: Numbers
    gpc_count: Numbers
    last_tpc: Numbers
    last_gpc: Numbers
    pointer: Numbers
    under_way: Numbers
    room: Numbers
    seen: Numbers


def state(layout: Layout, room: Numbers) -> State:
    """Return the state before the first tick; ``room`` has the free slots of each SM."""
    sms, gpcs = len(layout.gpc), len(layout.rotation)
    tpcs = (sms + 1) // 2

    def zeros(*shape: int) -> Numbers:
        return np.zeros(shape, np.int64)

    return State(
        ended=zeros(sms),
        tpc_queue=zeros(tpcs, TPC_QUEUE),
        tpc_count=zeros(tpcs),
        take_at=zeros(tpcs),
        offer_at=zeros(tpcs),
        offered=np.full(tpcs, NONE),
        turn=zeros(tpcs),
        gpc_queue=zeros(gpcs, GPC_QUEUE),
        gpc_count=zeros(gpcs),
        last_tpc=zeros(gpcs),
        last_gpc=np.full(1, gpcs - 1),
        pointer=np.full(1, gpcs - 1),
        under_way=zeros(1),
        room=room.astype(np.int64),
        seen=zeros(sms),
    )
