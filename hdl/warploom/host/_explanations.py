"""What explains the end of a command: whose, in the cycle behind its completion, and why."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value

from warploom.host._errors import Errors
from warploom.host._launch_side import LaunchSide
from warploom.host._verdict import Verdict
from warploom.lib.bits import before
from warploom_spec import Config

#: Sections that completed in the cycle before, with a code, and an argument where there is one.
Explanation = tuple[Value, ...]


def explain_verdict(
    m: Module, completes: Value, verdict: Verdict, loop: Any, datum: Value
) -> Explanation:
    """Return what the mailbox completes itself; with them loops that end.

    An end's code and argument are the word that it writes, unless that is 0. Only one write commits
    in a cycle: no doorbell is judged in the cycle of `over`.
    """
    code, argument = (
        before(m, f"verdict_{name}", getattr(verdict, name)) for name in ("code", "argument")
    )
    if loop is None:
        return _completed(m, completes), code, argument
    written = before(m, "end_data", before(m, "datum_of_end", datum))
    is_end = before(m, "is_end", loop.over.any())
    explains = before(m, "end_explains", datum.any()).replicate(len(completes))
    mask = _completed(m, completes | loop.refuses | (loop.over & explains))
    return mask, Mux(is_end, written[:8], code), Mux(is_end, written[16:], argument)


def explain_answers(
    m: Module, box: Any, side: LaunchSide, launched: Value, turned_away: Value
) -> dict[str, Explanation]:
    """Return the launch path's answers, two cycles after they came, and the mailbox's own."""
    answer: Any = box.launch_answer
    code, argument = (
        before(m, f"launch_{name}", before(m, f"new_launch_{name}", answer[name]))
        for name in ("code", "argument")
    )
    aborted, commanded = (
        before(m, f"{name}_code", before(m, f"new_{name}_code", other.code))
        for name, other in (("abort", box.abort_answer), ("command", box.command_answer))
    )
    return {
        "launched": (_completed(m, launched), code, argument),
        "aborted": (_completed(m, side.aborted), aborted),
        "commanded": (_completed(m, side.commanded), commanded),
        "turned_away": (_completed(m, turned_away), before(m, "full", side.full_code)),
    }


def _completed(m: Module, mask: Value) -> Signal:
    """Return the sections that completed in the cycle before."""
    held = Signal(len(mask), name="explained")
    m.d.sync += held.eq(mask)
    return held


def add_errors(m: Module, config: Config, explained: dict[str, Explanation]) -> Errors:
    """Add what keeps and shows ERROR, with the kinds of answers that there are."""
    has_argument = {name: len(answer) == 3 for name, answer in explained.items()}
    m.submodules.errors = errors = Errors(config, has_argument)
    for name, answer in explained.items():
        kind: Any = getattr(errors, name)
        fields = zip(("sections", "code", "argument"), answer, strict=False)
        m.d.comb += [kind[field].eq(value) for field, value in fields]
    return errors
