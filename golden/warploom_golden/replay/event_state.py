"""State of the event model's dispatcher and SMs: NumPy records, which compiled functions change.

The classes say what the fields of each record are; the records themselves are NumPy's.
"""

from dataclasses import fields
from typing import (
    Annotated,
    Any,
    Final,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from warploom_spec import Config

#: Resources of an SM in the order of the stall counters; of the first one a block takes one.
RESOURCES: Final = ("slots", "warps", "registers", "shared", "barriers")

Integers = NDArray[np.int64]
#: One amount of each resource.
Amounts = Annotated[Integers, len(RESOURCES)]
#: What `Config` allows at most.
_MOST: Final = {field.name: field.metadata.get("high", 0) for field in fields(Config)}
MOST_SMS: Final = _MOST["sms"]
MOST_SLOTS: Final = _MOST["block_slots"]

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
    """What the configuration fixes.

    Attributes
    ----------
    sms, block_slots : int
        SMs, and slots of each.
    policy : int
        Placement policy, a constant of ``event_machine``.
    in_order : bool
        The reclaim policy.
    retire_width : int
        Blocks retired a cycle, in order.
    stage, fit_table, offer, returns, end : int
        Latencies in cycles, as in ``timing``.
    """

    sms: int
    block_slots: int
    policy: int
    in_order: bool
    retire_width: int
    stage: int
    fit_table: int
    offer: int
    returns: int
    end: int


class Place:
    """A resident place.

    Attributes
    ----------
    occupied : bool
        A launch is in it.
    since : int
        Cycle in which that was transferred.
    stream, awaits : int
        The stream it belongs to, and the one it waits for, `NONE` if it waits for none.
    need : Amounts
        What one of its blocks takes.
    end : int
        Number that the next launch's first block has among all blocks.
    walking : bool
        Given to the walker.
    out : int
        Blocks decided and not yet returned.
    started, last_completion : int
        Cycles of its first decision and of its last completion.
    load : int
        First cycle in which its end may be loaded.
    """

    occupied: bool
    since: int
    stream: int
    awaits: int
    need: Amounts
    end: int
    walking: bool
    out: int
    started: int
    last_completion: int
    load: int


class Sm:
    """An SM.

    Attributes
    ----------
    free : Amounts
        What it has left.
    lacks : Amounts
        1 for each resource of which that is too little.
    others : int
        Blocks of an earlier launch on it, as long as it is not known what fits beside them.
    room : int
        1 if it has room for the next block.
    lowest : int
        Its lowest free slot.
    waiting : int
        ``freed_first``: its entries that wait for the queue.
    """

    free: Amounts
    lacks: Amounts
    others: int
    room: int
    lowest: int
    waiting: int


class Slot:
    """A slot of an SM.

    Attributes
    ----------
    taken : bool
        A block holds it.
    place : int
        That block's place.
    done : int
        In order: cycle from which on it may be retired.
    returns : int
        In order: cycle at whose end it returns what it holds.
    """

    taken: bool
    place: int
    done: int
    returns: int


class State:
    """Everything but what is as long as the replay.

    Attributes
    ----------
    rules : Rules
        What the configuration fixes.
    head : int
        Place of the launch whose block is next, `NONE` if none is.
    older : int
        Of two occupied places the one occupied earlier; of one that one.
    known : int
        Cycle from which on it is known what fits beside an older launch's blocks.
    held : bool
        Stream order alone holds a launch back.
    need : Amounts
        What the next block takes of an SM, or the last one took.
    rooms : int
        SMs that have room for it.
    lacking : Amounts
        Of each resource the number of SMs that lack it.
    decided, retired, returned : int
        Blocks that got so far, in order of decision; the latter two in order alone.
    sent, processed : int
        Blocks that got so far, in order of completion.
    pointer : int
        SM at which ``round_robin`` and the order table begin.
    waiting, entry_pointer, queued, front : int
        ``freed_first``: entries of all SMs that wait for the queue, the SM at which the search
        for the next one begins, entries in the queue, and where it begins.
    stalls : Amounts
        Stalled cycles by cause.
    stall_order : int
        Cycles in which stream order alone held a launch back.
    places, sms, slots : records
        As their classes say; of slots one row an SM. There are as many as the largest
        configuration has: a number is part of the type that functions are compiled for.
    due : array
        For each SM a tournament of its slots, by the cycle in which the block there is due.
    calendar : array
        Tournament of the SMs, by the next cycle in which one may send a completion.
    queue : array
        ``freed_first``: a ring of SM numbers.
    """

    rules: Rules
    head: int
    older: int
    known: int
    held: bool
    need: Amounts
    rooms: int
    lacking: Amounts
    decided: int
    retired: int
    returned: int
    sent: int
    processed: int
    pointer: int
    waiting: int
    entry_pointer: int
    queued: int
    front: int
    stalls: Amounts
    stall_order: int
    places: Annotated[Rows[Place], 2]
    sms: Annotated[Rows[Sm], MOST_SMS]
    slots: Annotated[Grid[Slot], MOST_SMS, MOST_SLOTS]
    due: Annotated[Integers, MOST_SMS, 2 * MOST_SLOTS]
    calendar: Annotated[Integers, 2 * MOST_SMS]
    queue: Annotated[Integers, MOST_SMS * MOST_SLOTS]


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
