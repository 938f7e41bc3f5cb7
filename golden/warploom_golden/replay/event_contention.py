"""Contention in the event model: an SM's progress, and when that reaches a block's target.

Follows ``docs/replay/contention.md``. Compiled as a part of ``event_machine``.
"""

from warploom_golden.replay.compiled import inlined
from warploom_golden.replay.contention import ONE
from warploom_golden.replay.event_constants import NEVER, NOT_DUE, WARPS
from warploom_golden.replay.event_state import Slot, State


@inlined
def rate(s: State, load: int) -> int:
    """Return how far each block of an SM comes in a cycle: never 0, whatever the load."""
    if load <= s.rules.knee:
        return ONE
    return max(ONE * s.rules.knee // load, 1)


@inlined
def progress_to(s: State, number: int, cycle: int) -> None:
    """Bring an SM's progress to a cycle, up to which it held the same warps."""
    sm = s.sms[number]
    sm.progress += (cycle - sm.since) * rate(s, sm.load)
    sm.since = cycle


@inlined
def reached(s: State, number: int, target: int) -> int:
    """Return the first cycle, of those that come, in which an SM's progress reaches a target."""
    if target == NOT_DUE:
        return NEVER
    sm = s.sms[number]
    each = rate(s, sm.load)
    ahead: int = max(target - sm.progress, 0)
    cycle: int = sm.since + (ahead + each - 1) // each
    return cycle


@inlined
def progress_when(s: State, number: int, cycle: int) -> int:
    """Return an SM's progress in a later cycle, as long as it holds the same warps."""
    sm = s.sms[number]
    later: int = sm.progress + (cycle - sm.since) * rate(s, sm.load)
    return later


@inlined
def load_from_next(s: State, block: Slot, number: int, cycle: int) -> None:
    """Let a block that was taken in a cycle slow its SM down from the next one on."""
    progress_to(s, number, cycle + 1)
    s.sms[number].load += block.need[WARPS]


@inlined
def unload(s: State, block: Slot, number: int, cycle: int) -> None:
    """Let a block that is reported slow its SM down no longer; one just taken never did."""
    progress_to(s, number, cycle)
    if block.ends != NEVER:
        s.sms[number].ending -= 1
    if block.offer < cycle:
        s.sms[number].load -= block.need[WARPS]
