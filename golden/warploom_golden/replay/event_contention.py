"""Contention in the event model: an SM's progress, and when that reaches a block's target.

Follows ``docs/replay/contention.md``. Compiled as a part of ``event_machine``.
"""

from warploom_golden.replay.compiled import inlined
from warploom_golden.replay.event_constants import NEVER, WARPS
from warploom_golden.replay.event_state import Slot, State


@inlined
def progress_to(s: State, number: int, cycle: int) -> None:
    """Bring an SM's progress to a cycle, up to which it held the same warps."""
    sm = s.sms[number]
    sm.progress += (cycle - sm.since) * s.rates[sm.load]
    sm.since = cycle


@inlined
def reached(s: State, number: int, target: int) -> int:
    """Return the first cycle, of those that come, in which an SM's progress reaches a target."""
    if target == NEVER:
        return NEVER
    sm = s.sms[number]
    rate = s.rates[sm.load]
    ahead: int = max(target - sm.progress, 0)
    cycle: int = sm.since + (ahead + rate - 1) // rate
    return cycle


@inlined
def load_from_next(s: State, block: Slot, number: int, cycle: int) -> None:
    """Let a block that was taken in a cycle slow its SM down from the next one on."""
    progress_to(s, number, cycle + 1)
    s.sms[number].load += s.places[block.place].need[WARPS]


@inlined
def unload(s: State, block: Slot, number: int, cycle: int) -> None:
    """Let a block that is reported slow its SM down no longer; one just taken never did."""
    progress_to(s, number, cycle)
    if block.offer < cycle:
        s.sms[number].load -= s.places[block.place].need[WARPS]
