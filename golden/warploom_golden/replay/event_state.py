"""State of the event model's dispatcher and SMs: NumPy records, which compiled functions change.

The classes say what the fields of each record are; the records themselves are NumPy's.
"""

from typing import (
    Annotated,
    Any,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_constants import MOST_PLACES, MOST_SLOTS, MOST_SMS
from warploom_spec import RESOURCES

Integers = NDArray[np.int64]
#: One amount of each resource.
Amounts = Annotated[Integers, len(RESOURCES)]

Row = TypeVar("Row", covariant=True)


class Rows(Protocol[Row]):
    """An array of records."""

    def __getitem__(self, index: int) -> Row:
        """Return one record, by reference."""


class Grid(Protocol[Row]):
    """An array of records in two dimensions."""

    def __getitem__(self, index: tuple[int, int]) -> Row:
        """Return one record, by reference."""


class Rules:
    """What the configuration and the SMs' stand-ins fix.

    Attributes
    ----------
    sms, block_slots : int
        Of the `Machine`.
    kill_timeout : int
        As in `Config`.
    policy : int
        Placement policy, a constant of ``event_constants``.
    in_order : bool
        The reclaim policy.
    at_once : bool
        What a block took is free in the cycle after its report.
    knee : int
        With contention: warps that an SM runs at full speed. 0: blocks do not slow each other down.
    stage, change, fit_table, offer, returns, stop, fault, loss, loss_kill, end : int
        Latencies in cycles, as in ``timing``.
    report_time : int
        Cycles from the kill of a block to its report.
    preempts : bool
        Launches may be skipped, and yield.
    fit_again : int
        From a launch's transfer, beside the most blocks that fit, to the first cycle in which the
        fit beside a newer launch can be worked out.
    """

    sms: int
    block_slots: int
    kill_timeout: int
    policy: int
    in_order: bool
    at_once: bool
    knee: int
    stage: int
    change: int
    fit_table: int
    offer: int
    returns: int
    stop: int
    fault: int
    loss: int
    loss_kill: int
    end: int
    report_time: int
    preempts: bool
    fit_again: int


class Place:
    """A resident place.

    Attributes
    ----------
    occupied : bool
        A launch is in it.
    since : int
        Cycle in which that was transferred.
    ticket, stream, awaits : int
        Of its launch; ``awaits`` is the stream that it waits for, `NONE` if it waits for none.
    ahead, held_at : int
        Older resident launches of the stream that it waits for; the last try to give a launch to
        the walker that found some.
    need, limiting : Amounts
        What one of its blocks takes; 1 for each resource of which one block more than fit on an
        empty SM would take too much.
    most : int
        Most blocks that fit on an empty SM.
    first, next, end : int
        Numbers of the block that it began with, of the next one, and past the last one.
    kill_block, fault_block : int
        Blocks by their numbers: with the decision of the one the launch is marked, the other one
        reports a fault; `NONE` for none.
    walking : bool
        Given to the walker.
    out : int
        Blocks that are out.
    started, last_report : int
        Cycles of its first decision and of its last report.
    stop_at, kill_at : int
        First cycle in which it is stopped, and in which its stop is a kill; `NEVER` if that is not
        known to come.
    load : int
        First cycle in which its end may be loaded.
    killed, faults : int
        Blocks that were reported so.
    held : int
        Sum over its reported blocks of the cycles from offer to report.
    sm_lost : bool
        A block of it is on a lost SM.
    no_sm_at : int
        First cycle in which it has blocks left and no SM is, `NEVER` if that did not come.
    priority, may_yield : int, bool
        With ``preempts`` alone: of its launch; ``may_yield`` is ``launch_yields``.
    skip_from, skipped : int, bool
        First cycle after that of a skip, `NEVER` if none came; whether a skip has acted.
    yields : bool
        The output ``yields`` in the next cycle.
    made_way : bool
        It has yielded, and got no block placed since.
    exhausted : int
        Cycle in which its last block was decided, `NEVER` if that did not come.
    """

    occupied: bool
    since: int
    ticket: int
    stream: int
    awaits: int
    ahead: int
    held_at: int
    need: Amounts
    limiting: Amounts
    most: int
    first: int
    next: int
    end: int
    kill_block: int
    fault_block: int
    walking: bool
    out: int
    started: int
    last_report: int
    stop_at: int
    kill_at: int
    load: int
    killed: int
    faults: int
    held: int
    sm_lost: bool
    no_sm_at: int
    priority: int
    may_yield: bool
    skip_from: int
    skipped: bool
    yields: bool
    made_way: bool
    exhausted: int


class Sm:
    """An SM.

    Attributes
    ----------
    free : Amounts
        What it has left.
    others : int
        Blocks of an earlier launch on it, as long as it is not known what fits beside them.
    front : int
        Where its ring of free slots begins; their number is that of `free`.
    waiting : int
        ``freed_first``: its entries that wait for the queue.
    lost_at : int
        First cycle in which it is lost, `NEVER` if that did not come.
    silent_from : int
        It sends no report from this cycle on.
    load, progress, since : int
        With contention alone: warps of the blocks that were taken and not reported, and V of the
        rule in cycle ``since``, from which on they are so many.
    ending : int
        With contention alone: killed blocks that were not reported yet.
    """

    free: Amounts
    others: int
    front: int
    waiting: int
    lost_at: int
    silent_from: int
    load: int
    progress: int
    since: int
    ending: int


class Slot:
    """A slot of an SM.

    Attributes
    ----------
    place : int
        Its block's place, `NONE` while no block holds it.
    need : Amounts
        What its block took.
    offer, reported : int
        Cycles of the block's offer and of its report; the latter `NEVER` as long as there is none.
    work : int
        With contention alone: the block's work, from the decision until it is taken.
    ends : int
        With contention alone: cycle from which on the killed block is due, `NEVER` if it was not
        killed.
    status : int
        What the report will say.
    out : bool
        The block is out.
    done : int
        In order: cycle from which on it may be retired.
    returns : int
        In order: cycle at whose end it returns what it holds.
    """

    place: int
    need: Amounts
    offer: int
    reported: int
    work: int
    ends: int
    status: int
    out: bool
    done: int
    returns: int


class State:
    """Everything but what is as long as the replay.

    Attributes
    ----------
    rules : Rules
        What the configuration fixes.
    head : int
        Place of the launch that is walked, `NONE` if none is.
    residents : int
        Occupied places.
    tries : int
        How often a launch for the walker was looked for.
    all_held : bool
        Stream order holds back every launch that was not given to the walker.
    load_at : int
        First cycle in which the end of a launch may be loaded.
    window, unready : int, bool
        The head's block whose length is the first that stands ready; whether those that stand ready
        are not the head's.
    known : int
        Cycle from which on it is known what fits beside older launches' blocks.
    held : bool
        Stream order alone holds a launch back.
    alarm : int
        Next cycle in which a stop acts, a head is forgotten, or a kill's time is over.
    need : Amounts
        What the next block takes of an SM, or the last one took.
    has_room, rooms : Integers, int
        1 for each SM that has room for it, by number; how many these are.
    alive, dead_at : int
        SMs that are not lost; the first cycle in which all are.
    head_since : int
        First cycle in which the walked launch's next block may be decided.
    last, last_cycle, earlier, earlier_cycle : int
        The SM of the last decision, and its cycle; the same of the decision before that.
    recount_at : int
        With ``preempts`` alone: cycle from which on an SM's blocks of the walked launch itself are
        not among its ``others`` any more, `NEVER` if they are not.
    candidate, candidate_at : int
        With ``preempts`` alone: the place that was the candidate in the cycle ``candidate_at`` and
        was not held by order then, `NONE` if none was.
    outranked : int
        With ``preempts`` alone: the place that is outranked in this cycle, `NONE` if none is.
    went_on, went_on_at : int
        With ``preempts`` alone: how often a launch that had started got a block placed after it had
        yielded; the cycle of the last such decision.
    pause : int
        The machine stops when so many blocks are decided.
    marked : bool
        With ``preempts`` alone: a block of which the caller must know is decided in this cycle.
    decided, taken, retired, counted, returned : int
        Blocks that got so far, in order of decision; ``taken`` with contention alone, the latter
        three in order alone.
    sent, processed, given : int
        Blocks whose reports count that got so far, in order of their reports: sent, no longer out,
        and given back. The latter two out of order alone.
    offers, reports, ignored : int
        Columns of the logs that are filled in; reports of lost SMs.
    pointer : int
        SM at which ``round_robin`` and the order table begin.
    waiting, entry_pointer, queued, front : int
        ``freed_first``: entries of all SMs that wait for the queue, the SM at which the search
        for the next one begins, entries in the queue, and where it begins.
    stalls : Amounts
        Stalled cycles by cause.
    stall_order, stall_offer : int
        Cycles in which stream order alone held a launch back, and in which the port of the SM that
        had just got a block did.
    places, sms, slots : records
        As their classes say; of slots one row an SM. There are as many as the largest machine has:
        a number is part of the type that functions are compiled for.
    ages : array
        Numbers of the occupied places, the one occupied first at the front.
    due : array
        For each SM a tournament of its slots, by the cycle in which the block there is due; with
        contention by its target.
    calendar : array
        Tournament of the SMs, by the next cycle in which one may send a report.
    fifo : array
        For each SM a ring of its free slots, the one that has been free longest first.
    queue : array
        ``freed_first``: a ring of SM numbers.
    pipe, order : array
        Rings: of reports that were sent, cycle, SM and slot; of blocks in order of decision, SM and
        slot.
    """

    rules: Rules
    head: int
    residents: int
    tries: int
    all_held: bool
    load_at: int
    window: int
    unready: bool
    known: int
    held: bool
    alarm: int
    need: Amounts
    has_room: Annotated[Integers, MOST_SMS]
    rooms: int
    alive: int
    dead_at: int
    head_since: int
    last: int
    last_cycle: int
    earlier: int
    earlier_cycle: int
    recount_at: int
    candidate: int
    candidate_at: int
    outranked: int
    went_on: int
    went_on_at: int
    pause: int
    marked: bool
    decided: int
    taken: int
    retired: int
    counted: int
    returned: int
    sent: int
    processed: int
    given: int
    offers: int
    reports: int
    ignored: int
    pointer: int
    waiting: int
    entry_pointer: int
    queued: int
    front: int
    stalls: Amounts
    stall_order: int
    stall_offer: int
    places: Annotated[Rows[Place], MOST_PLACES]
    ages: Annotated[Integers, MOST_PLACES]
    sms: Annotated[Rows[Sm], MOST_SMS]
    slots: Annotated[Grid[Slot], MOST_SMS, MOST_SLOTS]
    due: Annotated[Integers, MOST_SMS, 2 * MOST_SLOTS]
    calendar: Annotated[Integers, 2 * MOST_SMS]
    fifo: Annotated[Integers, MOST_SMS, MOST_SLOTS]
    queue: Annotated[Integers, MOST_SMS * MOST_SLOTS]
    pipe: Annotated[Integers, 4 * MOST_SMS, 3]
    order: Annotated[Integers, MOST_SMS * MOST_SLOTS, 2]


def record(kind: type) -> np.dtype[np.void]:
    """Return the layout of the records that a class above describes."""
    hints = get_type_hints(kind, include_extras=True)
    return np.dtype([(name, *_field(hint)) for name, hint in hints.items()], align=True)


def _field(hint: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the type and the shape of a field with such a type hint."""
    if get_origin(hint) is not Annotated:
        return {bool: np.bool_, int: np.int64}.get(hint) or record(hint), ()
    array, *shape = get_args(hint)
    rows = get_origin(array) in (Rows, Grid)
    return record(get_args(array)[0]) if rows else np.int64, tuple(shape)
