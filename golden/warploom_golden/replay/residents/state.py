"""State of the event model's dispatcher and SMs: NumPy records, which compiled functions change.

The classes say what the fields of each record are; the records themselves are NumPy's. Words are
those of ``docs/dispatch/block_dispatcher.md``. A *row* is a stream's.
"""

from typing import Annotated, Final

from warploom_golden.replay.event_constants import MOST_SLOTS, MOST_SMS
from warploom_golden.replay.records import Amounts, Grid, Integers, Rows
from warploom_golden.replay.residents.rules import Rules
from warploom_spec import RESOURCES
from warploom_spec.resident_limits import GROUP_SMS, LEAST_GROUP_SMS

#: What the model's state has room for.
MOST_ROWS: Final = 256
MOST_GROUPS: Final = MOST_SMS // LEAST_GROUP_SMS
#: Cycles of which rings remember what happened: more than any pipe has stages.
RING: Final = 16


class Row:
    """A stream and its resident launch.

    Attributes
    ----------
    resident, open, begun, busy, kill, fault, sm_lost, all_placed, not_ok : bool
        The page's flags.
    hold, held, stop : bool
        The ports ``hold`` and ``stop`` in this cycle, and ``hold`` in the one before.
    eligible : bool
        As on the page.
    ticket, code, length, recorded_rate : int
        Of its launch; ``code`` and ``length`` make the blocks' lengths, and with contention
        ``recorded_rate`` is how far they came in a cycle of the recording.
    priority, waits : int, bool
        Priority; whether its mode is `wait`.
    order : int
        How many launches started before it.
    need : Amounts
        What one of its blocks takes.
    bx, by, bz, gx, gy : int
        Where its next block stands in the grid.
    next, end : int
        Numbers of its next block, and past its last one.
    mark_block, fault_block : int
        Blocks by their numbers: the first one's pick is to be told, the other one reports a fault;
        `NONE` for none.
    out : int
        Its blocks that are out.
    first_offer, last_return : int
        As `ended_first` and `ended_cycles` have it; `NEVER` and -1 before.
    kill_at : int
        First cycle in which its `kill` is 1, if it is.
    silent : int
        Silent visits in a row.
    """

    resident: bool
    open: bool
    begun: bool
    busy: bool
    kill: bool
    fault: bool
    sm_lost: bool
    all_placed: bool
    not_ok: bool
    hold: bool
    held: bool
    stop: bool
    eligible: bool
    ticket: int
    code: int
    length: int
    recorded_rate: int
    priority: int
    waits: bool
    order: int
    need: Amounts
    bx: int
    by: int
    bz: int
    gx: int
    gy: int
    next: int
    end: int
    mark_block: int
    fault_block: int
    out: int
    first_offer: int
    last_return: int
    kill_at: int
    silent: int


class Sm:
    """An SM.

    Attributes
    ----------
    group : int
        Its group, if SMs stand in groups.
    free : Amounts
        What it has left, all picks and all returns counted.
    fits, room, kept : bool
        Whether the active launch's next block fits into that; its bit of *room*; ``least_loaded``:
        a verdict that shows a cycle later.
    picked : int
        Cycle of its last pick.
    warps, warps_next, warps_at : int
        ``least_loaded``: free warps by the last verdict; what they are from a cycle on.
    front : int
        Where its ring of free slots begins; their number is that of `free`.
    held, ready_at : int
        Slot of the report that is held, `NONE` without one; first cycle in which its port is ready.
    lost_at, silent_from : int
        First cycle in which it is lost, and from which on it sends no report; `NEVER`.
    gone : bool
        It gets no block any more.
    load, progress, since : int
        With contention alone: warps of the blocks that were taken and not reported, and V of the
        rule in cycle ``since``, from which on they are so many.
    ending : int
        With contention alone: killed blocks that were not reported yet.
    """

    group: int
    free: Amounts
    fits: bool
    room: bool
    kept: bool
    picked: int
    warps: int
    warps_next: int
    warps_at: int
    front: int
    held: int
    ready_at: int
    lost_at: int
    silent_from: int
    gone: bool
    load: int
    progress: int
    since: int
    ending: int


class Group:
    """A group of SMs (35).

    Attributes
    ----------
    sms, members : int, array
        How many SMs it has, and which.
    rooms : int
        How many of them have room.
    candidate, pointer : int
        The SM that may be picked, `NONE` without one; the member from which on it looks for the
        next one.
    waiting, taker : int
        Reports at its ports; the member from which on it looks for the next one.
    holds, slot, since : int
        The SM whose report it holds, `NONE` without one; its slot; from which cycle on.
    held : bool
        Whether it held one in the cycle before.
    """

    sms: int
    members: Annotated[Integers, GROUP_SMS]
    rooms: int
    candidate: int
    pointer: int
    waiting: int
    taker: int
    holds: int
    slot: int
    since: int
    held: bool


class Slot:
    """A slot of an SM.

    Attributes
    ----------
    row, need : int, Amounts
        Whose block has it, `NONE` without one; what that took.
    offer, reported : int
        Cycles of the block's offer and of its report; the latter `NEVER` before.
    returned : int
        In order: cycle in which its report's books were written, `NEVER` before.
    status : int
        What the report will say.
    load : int
        Its warps.
    work : int
        With contention alone: the block's work, from the pick until it is taken.
    ends : int
        With contention alone: cycle from which on the killed block is due, `NEVER` if it was not
        killed.
    """

    row: int
    need: Amounts
    offer: int
    reported: int
    returned: int
    status: int
    load: int
    work: int
    ends: int


class State:
    """Everything but what is as long as the replay.

    Attributes
    ----------
    rules : Rules
        What the configuration fixes.
    start, takes : int, bool
        Ports of this cycle: the row whose launch transfers at `start`, `NONE`; whether what is at
        `ended` transfers.
    active, next, wanted : int
        Rows, `NONE`: the page's active and next; to whom a change was wanted in the cycle before.
    shut, gated : bool
        The next block may not be picked, as its task waits; that alone held it back in this cycle,
        or no SM has room.
    first : bool
        *next* comes first.
    top, top_before : int
        Top of the cycle before, and of the one before that.
    others : int
        Streams that were other in the cycle before.
    changed : int
        Last cycle in which a change was made.
    was_open, was_candidate : bool
        Of the active launch in the cycle before, in which it was active.
    spent_at : int
        Cycle in which a launch's last block was picked.
    restless : int
        Last cycle in which flags, who is next, or the order of freed SMs may change by itself.
    started : int
        Launches that started.
    at_port, fate : int
        The row at `ended`, `NONE`; its fate, a constant of ``residents.returns``.
    emptied : int
        The row of a return of the cycle before that left nothing out, `NONE`.
    scan, to_do, idle, turn, done : int, bool
        The scan, as on the page; ``done`` is the first cycle with nothing to do, `NEVER` before.
    first_sm : int
        Where the scan begins.
    pointer : int
        Of ``round_robin``, and of the order table.
    fitting, rooms : int
        SMs with their bit `fits`, and with room.
    busy_rows, busy_before, killing, kills_at : int
        Rows that are busy, also in the cycle before; rows that are busy and killed; the last cycle
        in which a kill level rose.
    group : int
        The pointer of groups of ``round_robin``.
    waiting, arbiter, ports_at : int
        Reports that are held; the arbiter's pointer; the last cycle in which one was held.
    sweep, sweep_from, sweep_row, swept : int
        The stream of the sweep, its first cycle, its next row in both rounds (-1: off), and whether
        a report of the stream came since.
    alive, lost_last : int
        SMs that are not lost; when the last one became lost.
    queued, front, head, output, aside : int, bool
        ``freed_first``: numbers in the FIFO and where it begins; head and output, `NONE` without
        one; whether the head is aside.
    line, looked, judged, retired_at, retired_sm : int
        In order: the oldest block of the line and the next place to be looked at, counted from the
        first block on; ``judged`` has a bit for each of two cycles with a look.
    pause : int
        The machine stops when so many offers, or reports, are written down.
    last_pick, last_back : int
        Cycles of the last pick, and of the last block that was written back.
    picks, taken, offered : int
        Blocks that were picked; with contention: taken; in order: that stand in the line.
    offers, reports, ignored : int
        Columns of the logs that are filled in; reports of lost SMs.
    marked, told : bool
        A block of which the caller must know was picked in this cycle; so must it of the cycle.
    stalls : Amounts
        Stalled cycles by resource.
    stall_offer : int
        Those in which none lacked.
    rows, sms, groups, slots : records
        As their classes say.
    due : array
        For each SM a tournament of its slots, by the cycle in which the block there is due; with
        contention by its target.
    calendar : array
        Tournament of the SMs, by the next cycle in which one may send a report.
    fifo : array
        For each SM a ring of its free slots, the one that has been free longest first.
    queue, queue_at : array
        ``freed_first``: a ring of SM numbers, and in which cycle each entered.
    order : array
        Ring of blocks in order of their picks: SM and slot.
    pick_at, pick_sm, pick_row : array
        Rings by cycle: picks.
    back_at, back_sm, back_need, back_swept : array
        Rings by cycle: what was written back, and whether a sweep did it.
    scan_at : array
        Ring by cycle: the scan's SM.
    turn_at, turn_kind, turn_sm, turn_slot, turn_status : array
        Rings by cycle: grants, and rows of the sweep.
    looks_at : array
        Ring by cycle: cycles in which the pipe of returns looked for the scan.
    """

    rules: Rules
    start: int
    takes: bool
    active: int
    next: int
    wanted: int
    shut: bool
    gated: bool
    first: bool
    top: int
    top_before: int
    others: int
    changed: int
    was_open: bool
    was_candidate: bool
    spent_at: int
    restless: int
    started: int
    at_port: int
    fate: int
    emptied: int
    scan: int
    to_do: int
    idle: int
    turn: bool
    done: int
    first_sm: int
    pointer: int
    fitting: int
    rooms: int
    busy_rows: int
    busy_before: int
    killing: int
    kills_at: int
    group: int
    waiting: int
    arbiter: int
    ports_at: int
    sweep: int
    sweep_from: int
    sweep_row: int
    swept: bool
    alive: int
    lost_last: int
    queued: int
    front: int
    head: int
    output: int
    aside: bool
    line: int
    looked: int
    judged: int
    retired_at: int
    retired_sm: int
    pause: int
    last_pick: int
    last_back: int
    picks: int
    taken: int
    offered: int
    offers: int
    reports: int
    ignored: int
    marked: bool
    told: bool
    stalls: Amounts
    stall_offer: int
    rows: Annotated[Rows[Row], MOST_ROWS]
    sms: Annotated[Rows[Sm], MOST_SMS]
    groups: Annotated[Rows[Group], MOST_GROUPS]
    slots: Annotated[Grid[Slot], MOST_SMS, MOST_SLOTS]
    due: Annotated[Integers, MOST_SMS, 2 * MOST_SLOTS]
    calendar: Annotated[Integers, 2 * MOST_SMS]
    fifo: Annotated[Integers, MOST_SMS, MOST_SLOTS]
    queue: Annotated[Integers, MOST_SMS * MOST_SLOTS]
    queue_at: Annotated[Integers, MOST_SMS * MOST_SLOTS]
    order: Annotated[Integers, MOST_SMS * MOST_SLOTS, 2]
    pick_at: Annotated[Integers, RING]
    pick_sm: Annotated[Integers, RING]
    pick_row: Annotated[Integers, RING]
    back_at: Annotated[Integers, RING]
    back_sm: Annotated[Integers, RING]
    back_need: Annotated[Integers, RING, len(RESOURCES)]
    back_swept: Annotated[Integers, RING]
    scan_at: Annotated[Integers, RING]
    turn_at: Annotated[Integers, RING]
    turn_kind: Annotated[Integers, RING]
    turn_sm: Annotated[Integers, RING]
    turn_slot: Annotated[Integers, RING]
    turn_status: Annotated[Integers, RING]
    looks_at: Annotated[Integers, RING]
