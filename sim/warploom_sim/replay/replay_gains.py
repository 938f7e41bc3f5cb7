"""What a replay would gain without one of its bounds: ``docs/replay/gains.md``."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from warploom_golden.replay.gains import ALL_RESOURCES, Gain, Workload, find_gains
from warploom_golden.replay.machine import parts
from warploom_golden.replay.waits import Waits
from warploom_sim.build_cache import cached_by_sources, python_versions
from warploom_sim.replay.analysis.limits import LABELS as RESOURCE_LABELS
from warploom_sim.replay.replay_job import Job, at_recorded_lengths
from warploom_sim.replay.request import DEFAULT_KNEE
from warploom_spec import RESOURCES

#: What each relaxation is called where people read it.
LABELS: Final = {
    "sms": "twice the SMs",
    **{name: f"{RESOURCE_LABELS[name]} without bound" for name in RESOURCES},
    "order": "a stream for each launch",
    "rate": "dispatch and hand-over without bound",
    "reclaim": "at-once reclaim",
}
#: Gains below this many percent are none.
LEAST: Final = 0.05
#: Gains that stay, each some kilobytes.
_KEPT: Final = 256
_FILE: Final = "gains.json"
#: Contentions under which gains are found, in this order.
CONTENTIONS: Final = ("none", "sharing")
#: Parts of a sentence, by contention, and the beginning of one.
_IN_SENTENCE: Final = {"none": "without contention", "sharing": "with contention"}
_WHERE: Final = {name: words.capitalize() for name, words in _IN_SENTENCE.items()}
_TOGETHER: Final = " without bound together"
#: A relaxation's name and its gains.
_Row = tuple[str, tuple[float, ...]]


def gains_of(job: Job, contentions: Sequence[str] = CONTENTIONS) -> list[Gain]:
    """Return what a job's work gains without each bound, at the recorded block lengths.

    What was found before is kept: a workload runs again when it, or a model's source, has changed.

    Parameters
    ----------
    job : Job
        What is replayed; its time scale and its contention do not count.
    contentions : sequence of str
        Under which of `CONTENTIONS`; gains come in this order.

    Raises
    ------
    WarploomError
        If a launch or an arrival is refused at its recorded length.
    """
    work = _workload(job)
    by_contention = dict(zip(CONTENTIONS, (None, job.request.knee or DEFAULT_KNEE), strict=True))
    knees = [by_contention[one] for one in contentions]
    packed = [launch.pack(job.config) for launch in work.launches]
    asked = [packed, dataclasses.asdict(dataclasses.replace(work, launches=[])), knees]

    def make(folder: Path) -> None:
        found = [dataclasses.asdict(gain) for gain in find_gains(work, knees)]
        (folder / _FILE).write_text(json.dumps(found))

    folder = cached_by_sources("gains", [asked, python_versions()], make, _KEPT)
    return [Gain(**fields) for fields in json.loads((folder / _FILE).read_text())]


def _workload(job: Job) -> Workload:
    once = at_recorded_lengths(job)
    waits = Waits(once.waits.pairs, once.waits.held)
    seed, kill_every = job.request.seed, job.request.kill_every
    return Workload(once.launches, job.config, seed, kill_every, once.arrivals, waits)


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


def label(name: str) -> str:
    """Return what a relaxation is called where people read it."""
    if name in LABELS:
        return LABELS[name]
    if name == ALL_RESOURCES:
        return f"all resources{_TOGETHER}"
    *most, last = (RESOURCE_LABELS[one] for one in parts(name))
    return f"{', '.join(most)} and {last}{_TOGETHER}"


def by_name(gains: Sequence[dict[str, Any]]) -> list[_Row]:
    """Return name and gains of each relaxation, the largest gain first.

    A relaxation has a gain for each contention under which gains were found, in their order.
    """
    rows: dict[str, tuple[float, ...]] = {}
    for gain in gains:
        rows[gain["name"]] = (*rows.get(gain["name"], ()), gain["fewer_cycles_percent"])
    return sorted(rows.items(), key=lambda row: -max(row[1]))


def advice(gains: Sequence[dict[str, Any]]) -> list[str]:
    """Return sentences on what would help most, the largest gain first, by `as_json`'s gains.

    The last ones name the resources that hide each other's gains, if some do. All of them together
    are no change that anybody can make: they are not what would help most.
    """
    rows = by_name(gains)
    where = [*dict.fromkeys(gain["contention"] for gain in gains)]
    hidden = _hidden(rows, where)
    changes = [row for row in rows if row[0] != ALL_RESOURCES]
    if changes and max(changes[0][1]) >= LEAST:
        return [*_best(changes, where), *hidden]
    return ["No relaxed bound would help: without any one of them it takes as long.", *hidden]


def _best(rows: Sequence[_Row], where: Sequence[str]) -> list[str]:
    """Return what helps most, and what comes next, or what contention makes of it."""
    first = rows[0]
    sentences = [f"{_capital(label(first[0]))} would help most: {_percent(first, where)}."]
    # Of the first row's gains the largest one is the largest of all.
    lead = first[1].index(max(first[1]))
    for column, contention in enumerate(where):
        best = max(rows, key=lambda row: row[1][column])
        if column != lead and best != first:
            words = f"{_WHERE[contention]} it is {label(best[0])}: {_percent(best, where)}."
            return [*sentences, words]
    if max(rows[1][1]) >= LEAST:
        sentences.append(f"Next best: {label(rows[1][0])}, {_percent(rows[1], where)}.")
    return sentences


def _hidden(rows: Sequence[_Row], where: Sequence[str]) -> list[str]:
    """Return a sentence for each set of resources that hide each other's gains."""
    found = dict(rows)
    sentences = []
    for name, percents in rows:
        alone = [found[one] for one in parts(name)]
        if len(alone) > 1:
            best = tuple(max(column) for column in zip(*alone, strict=True))
            hiding = _capital(label(name).removesuffix(_TOGETHER))
            sentences.append(
                f"{hiding} hide each other: without bound together they gain"
                f" {_figures(percents, where)}, the best of them alone {_figures(best, where)}."
            )
    return sentences


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _percent(row: _Row, where: Sequence[str]) -> str:
    """Return the gains of a relaxation as a part of a sentence."""
    first, *more = (f"{said(percent)} %" for percent in row[1])
    words = f"{first} fewer cycles {_IN_SENTENCE[where[0]]}"
    return f"{words}, {more[0]} with it" if more else words


def _figures(percents: Sequence[float], where: Sequence[str]) -> str:
    """Return gains as a part of a sentence that has said what they are."""
    words = (f"{said(percents[k])} % {_IN_SENTENCE[one]}" for k, one in enumerate(where))
    return " and ".join(words)


def said(percent: float) -> str:
    """Return a gain as people read it: with one decimal, and no minus before a zero."""
    return f"{round(percent, 1) + 0.0:.1f}"
