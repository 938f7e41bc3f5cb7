"""The page of a comparison: its combinations beside each other, and what makes them differ."""

import dataclasses
import json
import string
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from warploom_golden.replay.machine import RELAXATIONS
from warploom_sim.replay import replay_gains
from warploom_sim.replay.analysis.anatomy import Anatomy, anatomy
from warploom_sim.replay.replay_job import figures_alone, prepare_launches
from warploom_sim.sweep.labels import common, label, same_work, short, value, varying
from warploom_sim.sweep.plan import Run
from warploom_sim.sweep.recordings import Recordings
from warploom_sim.sweep.result_folder import Row
from warploom_sim.sweep.run_difference import OverSeeds, as_json, difference_of, in_words
from warploom_sim.sweep.table import change, verdicts
from warploom_sim.views.html_report import charts
from warploom_sim.views.html_report.page import NAME, Head, write_page
from warploom_spec import WarploomError

#: Kernels of a pair that are listed; the others are one row.
MOST_KERNELS: Final = 24
#: About as many runs as the gains of a combination take.
GAIN_RUNS: Final = len(RELAXATIONS)
#: Tables that are too wide for a narrow screen, by class.
WIDE: Final = {
    "runs": (
        Head("", is_text=True, label=False),
        NAME._replace(text="run"),
        *map(Head, ("cycles, mean", "to A, %")),
        Head("verdict, to the fewest cycles", is_text=True),
    ),
    "differing": (
        NAME,
        *map(Head, ("launches", "cycles, A", "cycles, other", "difference", "over all seeds")),
        *map(Head, ("first offer to end", "a block, A", "a block, other")),
    ),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Combination:
    """One combination of options on the page.

    Attributes
    ----------
    row : Row
        Its figures, means over the seeds.
    run : Run
        The run of its first seed.
    by_seed : tuple of Anatomy
        What the cycles of each seed's run are made of, in the order of the row's seeds.
    gains : list of dict
        Its gains under the contention of its runs, as JSON has them; empty if they are refused.
    """

    row: Row
    run: Run
    by_seed: tuple[Anatomy, ...]
    gains: list[dict[str, Any]]

    @property
    def parts(self) -> Anatomy:
        """What the cycles of the first seed's run are made of."""
        return self.by_seed[0]


def check_pairs(rows: Sequence[Row]) -> None:
    """Demand that two combinations have the same work, so that there is something to compare.

    Raises
    ------
    WarploomError
        If there are none.
    """
    pairs = any(same_work(one, other) for k, one in enumerate(rows) for other in rows[:k])
    if not pairs:
        raise WarploomError(
            f"--report shows combinations of the same work beside each other: {len(rows)} given,"
            " no two of the same trace, time scale, contention and launches; legal: two or more"
        )


def combination(
    row: Row, runs: Sequence[Run], recordings: Recordings, done: Callable[[int], object]
) -> Combination:
    """Run the model once more with each seed, and find the gains with the first one.

    Gains are those under the contention of the runs, which alone are shown.
    """
    trace = recordings.of(runs[0].request)
    request = dataclasses.replace(runs[0].request, rtl=False, simulator=None)
    first = prepare_launches(trace, runs[0].config, request)
    by_seed = []
    for run in runs:
        # The seeds of a combination have the same launches.
        seeded = dataclasses.replace(request, seed=run.request.seed)
        found = figures_alone(dataclasses.replace(first, request=seeded), limits=True)
        by_seed.append(anatomy(found))
        done(1)
    try:
        relaxed = replay_gains.gains_of(first, [request.contention])
        gains = replay_gains.as_json(relaxed)
    except WarploomError:  # a launch is too long at its recorded length
        gains = []
    done(GAIN_RUNS)
    return Combination(row=row, run=runs[0], by_seed=tuple(by_seed), gains=gains)


def runs_of_report(runs: Sequence[Sequence[Run]]) -> int:
    """Return about how many runs the page of some combinations takes, each of some seeds."""
    return sum(len(group) + GAIN_RUNS for group in runs)


def write_comparison(
    path: Path, rows: Sequence[Row], runs: Sequence[Sequence[Run]], done: Callable[[int], object]
) -> None:
    """Write the page: the whole file, or nothing.

    Parameters
    ----------
    path : Path
        The HTML file.
    rows : sequence of Row
        A row for each combination.
    runs : sequence of sequence of Run
        Of each combination the runs of its seeds.
    done : callable
        Called with how many of `runs_of_report` are done since the last call.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    recordings = Recordings()
    ready = []
    for row, group in zip(rows, runs, strict=True):
        ready.append(combination(row, group, recordings, done))
    works: list[list[Combination]] = []
    for one in ready:
        work = next((each for each in works if same_work(each[0].row, one.row)), None)
        if work is None:
            works.append([one])
        else:
            work.append(one)
    sections = [_section(number, work) for number, work in enumerate(works, 1)]
    titles = dict.fromkeys(section["trace"] for section in sections)
    write_page(path, "comparison", WIDE, sections=sections, titles=[*titles])


def _section(number: int, work: Sequence[Combination]) -> dict[str, Any]:
    """Return the template's variables for the combinations of one work."""
    rows = [one.row for one in work]
    names = varying(rows)
    shown = [
        {
            "letter": letter(k),
            "label": label(one.row, names),
            "row": one.row,
            "change": change(one.row),
            "advice": " ".join(replay_gains.advice(one.gains)) if one.gains else "",
        }
        for k, one in enumerate(work)
    ]
    pairs = [_pair(work[0], one, letter(k)) for k, one in enumerate(work) if k]
    return {
        "number": number,
        "trace": short(rows[0]["trace"]),
        "shared": ", ".join(f"{n.replace('_', ' ')} {text}" for n, text in common(rows).items()),
        "seed": work[0].run.request.seed,
        "runs": shown,
        "verdicts": [said.partition(": ")[2] for said in verdicts(rows)],
        "chart": charts.limits_of_runs(
            [letter(k) for k in range(len(work))], [one.parts.by_limit for one in work]
        ),
        "pairs": pairs,
        "data": _data(work, pairs),
    }


def _pair(a: Combination, b: Combination, name: str) -> dict[str, Any]:
    """Return what the template shows of one combination beside the first one."""
    found = difference_of(a.parts, b.parts, (*a.by_seed, *b.by_seed))
    over = OverSeeds([*zip(a.by_seed, b.by_seed, strict=True)])
    listed, rest = found.kernels[:MOST_KERNELS], found.kernels[MOST_KERNELS:]
    return {
        "name": name,
        "words": in_words(found, ("A", name)),
        "verdict": _told(b.row),
        "settings": _settings(a, b),
        "found": found,
        "kernels": listed,
        "more_kernels": len(rest),
        "rest": tuple(sum(getattr(one, side).head for one in rest) for side in "ab"),
        "over": over,
        "rest_over": over.kernels([one.name for one in rest]),
        "gains": _gains(a, b),
    }


def _told(row: Row) -> str:
    """Return whether the seeds tell a combination apart from the first one, in a sentence."""
    seeds = len(row["seeds"])
    if seeds == 1:
        return "One seed does not say whether the two can be told apart."
    if row["told_apart_from_first"]:
        return f"Over {seeds} seeds the two are told apart: {change(row)} %."
    return (
        f"Over {seeds} seeds the two cannot be told apart: {change(row)} %. The parts below may be"
        " the seed's alone."
    )


def _settings(a: Combination, b: Combination) -> list[tuple[str, str, str]]:
    """Return what differs between two combinations: options, and fields of the configuration."""
    rows = (a.row, b.row)
    said = {name: (value(a.row, name), value(b.row, name)) for name in varying(rows)}
    fields = [asdict(one.run.config) for one in (a, b)]
    for name in fields[0]:
        pair = str(fields[0][name]), str(fields[1][name])
        if pair[0] != pair[1]:
            said[name] = pair
    return [(name.replace("_", " "), *pair) for name, pair in said.items() if pair[0] != pair[1]]


def _gains(a: Combination, b: Combination) -> list[tuple[str, float | None, float | None]]:
    """Return each bound's gain in both combinations; None where resources do not hide each other.

    Gains are those under the contention that the combinations run with.
    """
    one, other = ({name: gain for name, (gain,) in replay_gains.by_name(c.gains)} for c in (a, b))
    if not (one and other):
        return []
    rows = [(replay_gains.label(name), one.get(name), other.get(name)) for name in one | other]
    return sorted(rows, key=lambda row: -max(gain for gain in row[1:] if gain is not None))


def letter(number: int) -> str:
    """Return what a combination is called on the page: A to Z, then A1, B1, ..."""
    turn, place = divmod(number, len(string.ascii_uppercase))
    return string.ascii_uppercase[place] + (str(turn) if turn else "")


def _data(work: Sequence[Combination], pairs: Sequence[dict[str, Any]]) -> str:
    """Return the page's figures as JSON, for programs; it cannot end the script element."""
    data = {
        "runs": [one.row | {"gains": one.gains} for one in work],
        "differences": [
            {"of": pair["name"], "to": "A"} | dict(as_json(pair["found"], pair["over"]))
            for pair in pairs
        ],
    }
    return json.dumps(data).replace("<", "\\u003c")
