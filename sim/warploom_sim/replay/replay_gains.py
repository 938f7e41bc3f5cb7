"""What a replay would gain without one of its bounds: ``docs/replay/gains.md``."""

import dataclasses
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from warploom_golden.replay.gains import Gain, find_gains
from warploom_sim.build_cache import cached_by_sources, python_versions
from warploom_sim.replay.analysis.limits import LABELS as RESOURCE_LABELS
from warploom_sim.replay.model_input import workload_of
from warploom_sim.replay.request import DEFAULT_KNEE, ReplayRequest
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import RESOURCES, Config

#: What each relaxation is called where people read it.
LABELS: Final = {
    "sms": "twice the SMs",
    **{name: f"{RESOURCE_LABELS[name]} without bound" for name in RESOURCES},
    "order": "no stream order",
    "places": "any number of resident launches",
    "rate": "dispatch and hand-over without bound",
    "reclaim": "at-once reclaim",
    "ahead": "all launches queued ahead",
}
#: Gains below this many percent are none.
LEAST: Final = 0.05
#: Gains that stay, each some kilobytes.
_KEPT: Final = 256
_FILE: Final = "gains.json"
#: Beginnings of a sentence, by the column of `by_name`.
_WHERE: Final = {1: "Without contention", 2: "With contention"}


def gains_of(trace: Trace, config: Config, request: ReplayRequest) -> list[Gain]:
    """Return what a request's work gains without each bound, at the recorded block lengths.

    First without contention, then with it. What was found before is kept: a workload runs again
    when it, or a model's source, has changed.

    Raises
    ------
    WarploomError
        If a launch or an arrival is refused at its recorded length.
    """
    once = dataclasses.replace(request, time_scale=Fraction(1))
    work = workload_of(trace, config, once)
    knees = (None, request.knee or DEFAULT_KNEE)
    packed = [launch.pack(config) for launch in work.launches]
    asked = [packed, dataclasses.asdict(dataclasses.replace(work, launches=[])), knees]

    def make(folder: Path) -> None:
        found = [dataclasses.asdict(gain) for gain in find_gains(work, knees)]
        (folder / _FILE).write_text(json.dumps(found))

    folder = cached_by_sources("gains", [asked, python_versions()], make, _KEPT)
    return [Gain(**fields) for fields in json.loads((folder / _FILE).read_text())]


def as_json(gains: Sequence[Gain]) -> list[dict[str, Any]]:
    """Return gains as JSON has them."""
    return [
        {
            "name": gain.name,
            "contention": contention_of(gain),
            "fewer_cycles_percent": round(gain.fewer_cycles_percent, 3),
            "cycles": gain.cycles,
            "cycles_as_it_is": gain.before,
        }
        for gain in gains
    ]


def contention_of(gain: Gain) -> str:
    """Return under which contention a gain was found."""
    return "none" if gain.knee is None else "sharing"


def by_name(gains: Sequence[dict[str, Any]]) -> list[tuple[str, float, float]]:
    """Return name, gain without and gain with contention, the largest gain first."""
    found = {
        contention: {
            gain["name"]: gain["fewer_cycles_percent"]
            for gain in gains
            if gain["contention"] == contention
        }
        for contention in ("none", "sharing")
    }
    rows = [(name, alone, found["sharing"][name]) for name, alone in found["none"].items()]
    return sorted(rows, key=lambda row: -max(row[1:]))


def advice(gains: Sequence[dict[str, Any]]) -> list[str]:
    """Return sentences on what would help most, the largest gain first, by `as_json`'s gains."""
    rows = by_name(gains)
    if not rows or max(rows[0][1:]) < LEAST:
        return ["No relaxed bound would help: without any one of them it takes as long."]
    # Of the first row's two gains the larger one is the largest of all.
    lead = 1 if rows[0][1] >= rows[0][2] else 2
    best, other = (max(rows, key=lambda row: row[column]) for column in (lead, 3 - lead))
    if best != other:
        return [
            f"{_capital(LABELS[best[0]])} would help most: {_percent(best)}.",
            f"{_WHERE[3 - lead]} it is {LABELS[other[0]]}: {_percent(other)}.",
        ]
    sentences = [f"{_capital(LABELS[best[0]])} would help most: {_percent(best)}."]
    if max(rows[1][1:]) >= LEAST:
        sentences.append(f"Next best: {LABELS[rows[1][0]]}, {_percent(rows[1])}.")
    return sentences


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _percent(row: tuple[str, float, float]) -> str:
    return f"{said(row[1])} % fewer cycles without contention, {said(row[2])} % with it"


def said(percent: float) -> str:
    """Return a gain as people read it: with one decimal, and no minus before a zero."""
    return f"{round(percent, 1) + 0.0:.1f}"
