"""Collects the content of the report's page, and writes the file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from warploom_sim.json_file import write_whole
from warploom_sim.replay import replay_gains
from warploom_sim.replay.analysis.block_walk import find_waits
from warploom_sim.replay.analysis.limits import LABELS
from warploom_sim.replay.analysis.overview import Overview, overview
from warploom_sim.replay.recorded_times import recorded_times, times_in_words
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import Launches
from warploom_sim.replay.request_fields import conditions
from warploom_sim.screen import shortened
from warploom_sim.traces.time_faults import LABELS as TIME_LABELS
from warploom_sim.traces.time_faults import LEFT_OUT
from warploom_sim.views.html_report import charts
from warploom_sim.views.html_report.in_words import blocked_sentences
from warploom_spec import RESOURCES, Config
from warploom_spec.extras import need

#: Figures of what a trace holds and a replay has not got, and what one reads.
_NOT_REPLAYED: Final = {
    "left_out": "kernels without a launch call",
    "without_grid": "kernels without a recorded grid",
    **{name: TIME_LABELS[name] for name in LEFT_OUT},
    "event_waits_ignored": "event waits",
}
#: Most kernels that are drawn as blockers, and most launches that are listed for what they lost.
MOST_BLOCKERS: Final = 12
MOST_LOST: Final = 12
_PERCENTILES: Final = (50, 95, 99, 100)


class Head(NamedTuple):
    """The heading of one column of a wide table.

    Attributes
    ----------
    text : str
        Its words.
    is_text : bool
        Whether the column's cells are words, not numbers.
    label : bool
        Whether the words stand before each cell on a narrow screen, where a row is a card.
    """

    text: str
    is_text: bool = False
    label: bool = True


#: Of a column that fills a card's first line.
NAME: Final = Head("kernel", is_text=True, label=False)
#: Tables that are too wide for a narrow screen, by class.
WIDE: Final = {
    "blockers": (
        Head("", is_text=True, label=False),
        NAME,
        Head("cycles"),
        Head("of the time"),
        Head("for what cause", is_text=True),
    ),
    "kernels": (
        Head("no.", is_text=True),
        NAME,
        *map(Head, ("launches", "blocks", "threads a block", "cycles", "a launch", "waves")),
        *map(Head, ("theo\N{SOFT HYPHEN}retical", "achieved")),
        Head("limited by", is_text=True),
        *map(Head, ("SM time lost", "after the last offer", "history hits")),
    ),
    "times": (NAME, *map(Head, ("launches", "recorded, us", "replayed, us", "error"))),
    "lost": (
        Head("launch"),
        NAME,
        *map(Head, ("blocks", "cycles", "after the last offer", "SM time lost")),
    ),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One replay for the report.

    Attributes
    ----------
    replay : Replay
        The result of the replay.
    figures : mapping
        The figures that the command's table shows, by name.
    command : str
        The command line that repeats the replay.
    recorded : Replay or None
        The result with the recorded block lengths, if the time scale limits the run; else None.
    """

    replay: Replay
    figures: Mapping[str, Any]
    command: str
    recorded: Replay | None = None


def check_report() -> None:
    """Check that a report can be made, before the replays run.

    Raises
    ------
    WarploomError
        If the packages of the extra ``report`` are not installed.
    """
    need("jinja2", "report", "a report")
    need("matplotlib", "report", "a report")


def write_report(path: Path, runs: Sequence[Run]) -> None:
    """Write the report's file: the whole file, or nothing.

    Parameters
    ----------
    path : Path
        The HTML file.
    runs : sequence of Run
        The replays; each one becomes a section of the page.

    Raises
    ------
    WarploomError
        If the packages of the extra ``report`` are not installed.
    OSError
        If the file cannot be written.
    """
    sections = [_section(number, run) for number, run in enumerate(runs, 1)]
    write_page(path, "page", WIDE, sections=sections)


def write_page(
    path: Path, template: str, wide: Mapping[str, Sequence[Head]], **content: Any
) -> None:
    """Write a page from a template of this folder: the whole file, or nothing.

    Parameters
    ----------
    path : Path
        The HTML file.
    template : str
        The template's name, without its ending.
    wide : mapping of str to sequence of Head
        Headings of the tables that become cards on a narrow screen, by the tables' class.
    **content
        What the template shows.
    """
    jinja2 = need("jinja2", "report", "a report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("warploom_sim.views.html_report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": _count,
        "percent": _percent,
        "error": _error,
        "short": short_name,
        "gain": replay_gains.said,
        "gain_label": replay_gains.label,
        "signed": "{:+,}".format,
        "interval": _interval,
    }
    made = environment.get_template(f"{template}.html.jinja")
    write_whole(path, made.render(wide=wide, labels=LABELS, resources=RESOURCES, **content))


def _interval(found: tuple[float, float | None]) -> str:
    """Return a mean difference with the half of its interval, if it has one."""
    mean, half = found
    return f"{mean:+,.0f}" + ("" if half is None else f" +/-{half:,.0f}")


def _section(number: int, run: Run) -> dict[str, Any]:
    """Return the template's variables for one run."""
    replay = run.replay
    found = overview(replay)
    shares, lacked = found.waits.shares(), found.waits.shares_lacked()
    scale = replay.settings.time_scale
    by_scale = found.waits.rate_by_time_scale(replay.launches, replay.config, scale)
    gains = run.figures.get("gains", [])
    return {
        "number": number,
        "figures": run.figures,
        "replay": replay,
        "work": conditions(replay.settings),
        "not_replayed": [
            f"{run.figures[name]:,} {what}"
            for name, what in _NOT_REPLAYED.items()
            if name in run.figures
        ],
        "causes": _causes(shares, lacked),
        "lacked": lacked,
        "styles": charts.STYLES,
        "advice": replay_gains.advice(gains) if gains else [],
        "gains": replay_gains.by_name(gains) if gains else [],
        "words": blocked_sentences(replay, shares),
        "by_scale": by_scale,
        "recorded": _recorded(run.recorded),
        "charts": _charts(found, replay.launches),
        "kernels": found.kernels,
        "times": _times(replay.launches),
        "blockers": found.blockers[:MOST_BLOCKERS],
        "lost": _most_lost(replay.launches),
        "lost_shares": _lost_shares(replay.launches),
        "percentiles": _percentiles(replay.launches),
        "hits": int(replay.launches.hit.sum()),
        "command": run.command,
        "settings": _settings(replay.config),
        "data": _data(replay, found, gains),
    }


def _causes(shares: Mapping[str, float], lacked: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the causes that held, and resources that were lacking, the longest one first."""
    held = [(name, share) for name, share in shares.items() if share or lacked.get(name)]
    return sorted(held, key=lambda cause: -cause[1])


def _charts(found: Overview, launches: Launches) -> dict[str, str]:
    over_time, worst = found.over_time, found.blockers[:MOST_BLOCKERS]
    drawn = {
        "limits": charts.limits_over_time(over_time),
        "occupancy": charts.occupancy_over_time(over_time),
        "blocks": charts.blocks_over_time(over_time),
    }
    if over_time.waiting:
        drawn["waiting"] = charts.waiting_over_time(over_time)
    if launches.finished.any():
        drawn["short"] = charts.short_kernels(launches.cycles[launches.finished])
    if worst:
        drawn["blockers"] = charts.blockers_over_time(worst, over_time.edges)
    return drawn


def _recorded(replay: Replay | None) -> dict[str, Any] | None:
    """Return the figures of the run with recorded block lengths; None if there is none."""
    if replay is None:
        return None
    return {
        "cycles": replay.cycles,
        "rate": find_waits(replay).shares()["rate"],
        "occupancy": replay.occupancy,
    }


def _percentiles(launches: Launches) -> dict[str, dict[str, int]]:
    """Return percentiles in cycles of the launches that finished."""
    done = launches.finished
    if not done.any():
        return {}
    return {name: _ranks(getattr(launches, name)[done]) for name in ("latency", "after_last_offer")}


def _lost_shares(launches: Launches) -> dict[str, float]:
    """Return percentiles of the SM time lost at the ends of the launches that finished."""
    done = launches.finished
    return _ranks(launches.sm_time_lost[done]) if done.any() else {}


def _ranks(column: Any) -> dict[str, Any]:
    return {
        "most" if p == 100 else f"p{p}": np.percentile(column, p, method="higher").item()
        for p in _PERCENTILES
    }


def _times(launches: Launches) -> list[str]:
    """Return in words the recorded time and the replayed one; nothing if no launch finished."""
    return times_in_words(recorded_times(launches)) if launches.finished.any() else []


def _most_lost(launches: Launches) -> list[dict[str, Any]]:
    """Return the finished launches that lost most at their ends, the worst first."""
    # One that did not finish comes behind those that lost nothing.
    lost = np.where(launches.finished, launches.lost, -1)
    rows = np.argsort(-lost, kind="stable")[:MOST_LOST].tolist()
    return [
        {
            "launch": row,
            "name": str(launches.name[row]),
            "blocks": int(launches.blocks[row]),
            "cycles": int(launches.cycles[row]),
            "after_last_offer": int(launches.after_last_offer[row]),
            "share": float(launches.sm_time_lost[row]),
        }
        for row in rows
        if launches.finished[row]
    ]


def _settings(config: Config) -> dict[str, Any]:
    return asdict(config)


def _data(replay: Replay, found: Overview, gains: Sequence[Mapping[str, Any]]) -> str:
    """Return the data of charts and tables as JSON, for programs that read the page.

    Each ``<`` is escaped, so that the JSON text cannot end the page's script element.
    """
    binned = found.over_time
    data = {
        "cycles": replay.cycles,
        "blocks": int(replay.launches.blocks.sum()),
        "head_blocked": found.waits.by_limit(),
        "resources_lacked": dict(zip(RESOURCES, found.waits.lacked.tolist(), strict=True)),
        "edges": binned.edges.tolist(),
        "occupancy": _lists(binned.occupancy),
        "blocks_per_cycle": _rounded(binned.blocks_per_cycle),
        "head_blocked_over_time": _lists(binned.limits),
        "waiting": {str(stream): _rounded(values) for stream, values in binned.waiting.items()},
        "kernels": [asdict(kernel) | {"launches": kernel.launches} for kernel in found.kernels],
        "gains": list(gains),
        "blockers": [
            {"kernel": one.kernel.number, "cycles": one.cycles, "by_limit": one.by_limit}
            for one in found.blockers
        ],
    }
    return json.dumps(data).replace("<", "\\u003c")


def _lists(columns: Mapping[str, Any]) -> dict[str, list[float]]:
    return {name: _rounded(values) for name, values in columns.items()}


def _rounded(values: Any) -> list[float]:
    rounded: list[float] = np.round(values, 4).tolist()
    return rounded


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _error(share: float | None) -> str:
    return "-" if share is None else f"{share:+.1%}"


def _percent(share: float) -> str:
    return f"{share:.1%}"


def short_name(name: str, most: int = 64) -> str:
    """Return a kernel's name, its middle left out if it exceeds ``most`` characters."""
    return shortened(name.removeprefix("void "), most)
