"""What the event model's dispatcher and SMs take from their configuration."""


class Rules:
    """What the configuration and the SMs' stand-ins fix.

    Attributes
    ----------
    sms, block_slots : int
        Of the `Machine`.
    rows : int
        Streams.
    policy : int
        Placement policy, a constant of ``event_constants``.
    grouped, groups : bool, int
        Whether SMs stand in groups; how many groups there are.
    offer, out : int
        Cycles from a pick to its offer, and to its verdict: so long its SM is out.
    lands, known, unseen : int
        Cycles from a look to its verdict; back from a verdict of placements to the first return
        that it does not know; before its look, picks that make it void.
    back, judged : int
        Cycles from the look of a return to its books, and from there to its verdict.
    known_after : int
        Cycles from the scan's last look to the first cycle in which the round is known.
    in_order : bool
        The reclaim policy.
    at_once : bool
        A report's books are written in its own cycle.
    kills : bool
        SMs are asked to end blocks.
    silent_visits : int
        Silent visits in a row after which a sweep begins.
    knee : int
        With contention: warps that an SM runs at full speed. 0: blocks do not slow each other down.
    report_time : int
        Cycles from the kill of a block to its report.
    speed : int
        What lengths of blocks are multiplied by.
    seed : int
        Of the blocks' lengths.
    """

    sms: int
    block_slots: int
    rows: int
    policy: int
    grouped: bool
    groups: int
    offer: int
    out: int
    lands: int
    known: int
    unseen: int
    back: int
    judged: int
    known_after: int
    in_order: bool
    at_once: bool
    kills: bool
    silent_visits: int
    knee: int
    report_time: int
    speed: int
    seed: int
