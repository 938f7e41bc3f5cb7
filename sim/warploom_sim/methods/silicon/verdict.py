"""What a recording says: which policies it tells apart, and whether chance does as well."""

import math
from collections.abc import Mapping
from typing import Any, Final

from warploom_golden.replay.recorded_dispatch import CHANCE
from warploom_golden.replay.recorded_h200 import H200_ROUNDS

#: Nanoseconds: two, three and four grains of the GPU's timer.
NEAR: Final = (64, 96, 128)
#: Shares that differ by less are the same: those of two runs of one launch differ by up to 0.015.
SAME: Final = 0.02
#: Share of early blocks from which on decisions cannot be dated.
MANY_EARLY: Final = 0.05
#: Standard errors by which shares differ that are told apart.
_ERRORS: Final = 3
#: Fewer blocks or decisions tell nothing apart.
_ENOUGH: Final = 20


def verdicts(figures: Mapping[str, Any]) -> list[str]:
    """Return the lines for one recording.

    Parameters
    ----------
    figures : dict
        Those of `compare`.
    """
    blocks = figures["blocks"] - figures["first_wave"]
    if not blocks:
        return ["No block behind the first wave: this recording says nothing."]
    rules: Mapping[str, Any] = figures["rules"]
    near = {rule: result["near"][str(NEAR[1])] for rule, result in rules.items()}
    same = {rule: result["same_sm"] for rule, result in rules.items()}
    return [
        _verdict(f"Within {NEAR[1]} ns", near, blocks),
        _same_sm(figures, same),
        _makespan(figures),
        _left_over(figures, blocks),
        _constants(rules[H200_ROUNDS]),
    ]


def apart(one: float, other: float, count: int) -> bool:
    """Return whether two shares of ``count`` differ by more than chance makes them differ."""
    # One hit and one miss more: a share of 0 or 1 has an error, too.
    variance = sum((p := (share * count + 1) / (count + 2)) * (1 - p) for share in (one, other))
    margin = max(SAME, _ERRORS * math.sqrt(variance / (count + 2)))
    return count >= _ENOUGH and abs(one - other) > margin


def _same_sm(figures: Mapping[str, Any], shares: Mapping[str, float | None]) -> str:
    if figures["early"] > MANY_EARLY:
        return (
            f"Same SM: {_percent(figures['early'])} of the blocks start before the turnaround"
            " allows it, so no decision can be dated: this recording says nothing."
        )
    line = _verdict("Same SM", shares, figures["decisions"])
    if not figures["decisions"]:
        return line
    return f"{line} At most {_percent(figures['possible'])} is possible by the recorded times."


def _verdict(what: str, shares: Mapping[str, float | None], count: int) -> str:
    """Judge one figure: the best rule against the others, and against chance."""
    known = {rule: share for rule, share in shares.items() if share is not None}
    if not count or CHANCE not in known:
        return f"{what}: no decision between two SMs: this recording says nothing."
    chance = known.pop(CHANCE)
    best = max(known.values())
    leaders = [rule for rule, share in known.items() if not apart(best, share, count)]
    if not apart(best, chance, count) or chance > best:
        return f"{what}: chance does as well ({_percent(chance)}): this recording says nothing."
    found = f"{_percent(best)}, chance {_percent(chance)}"
    if len(leaders) == len(known):
        return f"{what}: all policies up to {found}: these cannot be told apart."
    found += f", the others up to {_percent(max(known[rule] for rule in known.keys() - leaders))}"
    if len(leaders) > 1:
        return f"{what}: {', '.join(leaders)} up to {found}: these cannot be told apart."
    return f"{what}: {leaders[0]} is told apart: {found}."


def _makespan(figures: Mapping[str, Any]) -> str:
    errors = {
        rule: 100 * error
        for rule, result in figures["rules"].items()
        if (error := result["makespan_error"]) is not None
    }
    best = figures["best"]
    own = errors.pop(best)
    errors.pop(CHANCE)
    source = {
        "others": f"fitted on other recordings ({len(figures['fitted_on'])})",
        "itself": "fitted on this recording, so this is no test",
        "table": "that of h200_rounds",
        "given": "given",
    }[figures["turnaround"]]
    return (
        f"Makespan: {best} {own:+.2f} %, the others {min(errors.values()):+.2f} to"
        f" {max(errors.values()):+.2f} %; turnaround {source}."
    )


def _left_over(figures: Mapping[str, Any], blocks: int) -> str:
    """Say what the best rule does not explain, and on which SMs."""
    left = figures["left_over"]
    share = _percent(left["blocks"] / blocks)
    best = figures["best"]
    line = f"Left over by {best}: {left['blocks']:,} blocks ({share}) beyond {NEAR[1]} ns"
    if left["blocks"]:
        most = ", ".join(f"{sm} ({count:.0f})" for sm, count in left["most"].items())
        line += f" on {left['sms']} SMs, most on SM {most}"
    if figures["missed_by_sm"] and figures["early"] <= MANY_EARLY:
        most = ", ".join(f"{sm} ({_percent(part)})" for sm, part in figures["missed_by_sm"].items())
        line += f"; decisions missed, most on SM {most}"
    return f"{line}."


def _constants(result: Mapping[str, Any]) -> str:
    """Say what the constants of `h200_rounds` were fitted on, or why it is not for this GPU."""
    if why := result.get("not_applied"):
        return f"{H200_ROUNDS}: -, since {why}."
    on = ", ".join(result["fitted_on"]) or "no recording"
    return (
        f"{H200_ROUNDS}: recorder {result['recorder_ns']:+.1f} ns, start gap"
        f" {result['start_gap_ns']:.0f} ns, fitted on {on}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
