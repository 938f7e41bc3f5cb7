"""State of the dispatcher below the kernel queue: NumPy records, which compiled functions change.

The classes say what the fields of each record are; the records themselves are NumPy's.
"""

from typing import Annotated

from warploom_golden.replay.event_state import MOST_SLOTS, MOST_SMS, Amounts, Grid, Integers, Rows


class Rules:
    """What the configuration and the SMs' stand-ins fix.

    Attributes
    ----------
    sms, block_slots, retire_width, kill_timeout : int
        As in `Config`.
    policy : int
        Placement policy, a constant of ``machine``.
    in_order : bool
        The reclaim policy.
    stage, fit_table, offer, returns, end : int
        Latencies in cycles, as in ``timing``.
    report_time : int
        Cycles from the kill of a block to its report.
    """

    sms: int
    block_slots: int
    retire_width: int
    kill_timeout: int
    policy: int
    in_order: bool
    stage: int
    fit_table: int
    offer: int
    returns: int
    end: int
    report_time: int


class Place:
    """One of the two places for launches.

    Attributes
    ----------
    occupied : bool
        A launch has it.
    order : int
        Number of its hand-over: of two places the lower one is the older.
    ticket, stream, awaits : int
        Of its launch; ``awaits`` is the stream that it waits for, `NONE` if it waits for none.
    since : int
        Cycle of its hand-over.
    need : Amounts
        What one of its blocks takes.
    first, next, end : int
        Block number that this residence began with, the next one to decide, blocks of the grid.
    walking : bool
        Given to the walker.
    skip_at : int
        Cycle in which it is taken back unless it has started; `NEVER` if it is not.
    drain_at, kill_at : int
        First cycle in which it is stopped by a drain, by a kill; `NEVER` if it is not.
    killing : int
        First cycle of its kill level; `NEVER` while that is 0.
    started, last_report : int
        Cycles of its first decision and of its last report at the port.
    out : int
        Blocks decided and not yet returned.
    killed, faults : int
        Blocks reported so in this residence.
    sm_lost, no_sm : bool
        A block was on a lost SM; blocks are left and no SM is.
    held : int
        Sum over its reported blocks of the cycles from offer to report.
    fault_block : int
        Number of the block that reports a fault, `NONE` for none.
    load : int
        Cycle in which its end may be loaded.
    """

    occupied: bool
    order: int
    ticket: int
    stream: int
    awaits: int
    since: int
    need: Amounts
    first: int
    next: int
    end: int
    walking: bool
    skip_at: int
    drain_at: int
    kill_at: int
    killing: int
    started: int
    last_report: int
    out: int
    killed: int
    faults: int
    sm_lost: bool
    no_sm: bool
    held: int
    fault_block: int
    load: int


class Sm:
    """An SM.

    Attributes
    ----------
    free : Amounts
        What it has left.
    holds : array
        Blocks of each place, from decision to return.
    decided : array
        Cycle of each place's last decision for it.
    due : int
        Cycle of its next report; `NEVER` if it holds no block that will report.
    lost : bool
        Out of use for ever.
    silent_from : int
        It sends no report from this cycle on.
    front : int
        Where its queue of free slots begins.
    """

    free: Amounts
    holds: Annotated[Integers, 2]
    decided: Annotated[Integers, 2]
    due: int
    lost: bool
    silent_from: int
    front: int


class Slot:
    """A slot of an SM.

    Attributes
    ----------
    place : int
        Its block's place, `NONE` while no block holds it.
    offer, due : int
        Cycle of the block's offer; cycle of its report, `NEVER` once that was sent.
    status : int
        What the report will say.
    reported : bool
        The report was sent, or the SM was lost.
    done : int
        In order: cycle from which on it may be retired.
    """

    place: int
    offer: int
    due: int
    status: int
    reported: bool
    done: int


class State:
    """Everything but what is as long as a grid.

    Attributes
    ----------
    rules : Rules
        What the configuration fixes.
    head : int
        Place of the launch whose block is next, `NONE` if none is.
    pointer : int
        SM at which ``round_robin`` begins.
    sent, processed : int
        Reports sent and processed.
    decided, retired, returned : int
        In order: blocks that got so far.
    lost, ignored : int
        Lost SMs, and reports of theirs.
    offers, reports : int
        Rows of the logs in use.
    places, sms, slots : records
        As their classes say; of slots one row an SM.
    free_slots : array
        For each SM a ring of its free slots, the one free longest first.
    pipe : array
        Ring of sent reports: cycle, SM, slot.
    order : array
        In order: ring of decided blocks: SM, slot, cycle of return.
    """

    rules: Rules
    head: int
    pointer: int
    sent: int
    processed: int
    decided: int
    retired: int
    returned: int
    lost: int
    ignored: int
    offers: int
    reports: int
    places: Annotated[Rows[Place], 2]
    sms: Annotated[Rows[Sm], MOST_SMS]
    slots: Annotated[Grid[Slot], MOST_SMS, MOST_SLOTS]
    free_slots: Annotated[Integers, MOST_SMS, MOST_SLOTS]
    pipe: Annotated[Integers, 4 * MOST_SMS, 3]
    order: Annotated[Integers, MOST_SMS * MOST_SLOTS, 3]
