"""A replay in words: fates and codes by name, a mismatch, the command that runs it again."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from warploom_golden.replay.event_model import Events
from warploom_sim.replay.event_comparison import Mismatch
from warploom_sim.replay.replay_columns import fates
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.replay.request_fields import Surface, words
from warploom_sim.traces.trace_file import shown
from warploom_spec import ErrorCode, Fate


def refused_by_code(events: Events) -> dict[str, int]:
    """Return how many launches were refused, by the code's name, in order of the codes."""
    codes = events.tables["answers"]["code"]
    counts = Counter(int(code) for code in codes if code)
    return {_code_name(code): counts[code] for code in sorted(counts)}


def launches_by_fate(events: Events) -> dict[str, int]:
    """Return how many accepted launches had each fate, by its name, in order of the numbers."""
    counts = Counter(fates(events.tables["ended"]).tolist())
    return {_fate_name(fate): counts[fate] for fate in sorted(counts)}


def _fate_name(fate: int) -> str:
    # A faulty run may show a fate that does not exist.
    return Fate(fate).name.lower() if fate in list(Fate) else f"fate {fate}"


def _code_name(code: int) -> str:
    # A faulty run may show a code that does not exist.
    return ErrorCode(code).name if code in list(ErrorCode) else f"code {code}"


def scale_caution(time_scale: Fraction) -> str:
    """Return a sentence on what a time scale below 1 does to the figures; empty without one."""
    if time_scale >= 1:
        return ""
    return (
        f"blocks last {time_scale} of their recorded time: throughput, what more SMs gain and how"
        " often the dispatch rate limits are not the recording's; --time-scale 1 has its lengths"
    )


def describe(mismatch: Mismatch, names: Sequence[str], request: ReplayRequest) -> str:
    """Return a mismatch in words: where, both values, how to see it again."""
    launch, block = mismatch.launch, mismatch.block
    where = "no launch" if launch is None else f"launch {launch} ({shown(names[launch])})"
    lines = [
        f"first mismatch: {mismatch.kind} {mismatch.number}, {where},"
        f" block {block if block else 'none yet'}, cycle {mismatch.cycle}",
    ]
    for side, values in (("RTL", mismatch.rtl), ("model", mismatch.model)):
        lines.append(f"  {side + ':':6} {_values(values)}")
    if mismatch.differing():
        lines.append(f"  differs: {', '.join(mismatch.differing())}")
    return "\n".join([*lines, f"  again with: {command(request)}"])


def _values(values: Mapping[str, int] | None) -> str:
    if values is None:
        return "no such event"
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def _number(value: int) -> str:
    return str(value) if value < 1 << 32 else hex(value)


def command(request: ReplayRequest) -> str:
    """Return the command that does the same replay again."""
    given = words(request, Surface.SIM)
    return shlex.join(["warploom", "sim", *(str(path) for path in request.traces), *given])
