"""Whether launches on the RTL began after those that they must wait for."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from warploom_golden.replay.event_model import Events
from warploom_golden.replay.event_tables import Table
from warploom_sim.replay.replay_columns import block_columns
from warploom_spec import Config

_PAIR: Final = ("valid", "stream", "count", "relative")


def early_starts(tables: Mapping[str, Table], config: Config) -> list[str]:
    """Return in words the launches that began too early: in their stream, or by their pairs.

    Parameters
    ----------
    tables : mapping of str to Table
        A run's events ``launched``, ``answers``, ``offers`` and ``reports``.
    config : Config
        The core's configuration.
    """
    launched, tickets = tables["launched"], tables["answers"]["ticket"]
    known = np.isin(tables["offers"]["ticket"], tickets)
    offers = {key: column[known] for key, column in tables["offers"].items()}
    blocks = block_columns(Events({**tables, "offers": offers}, {}))
    count = len(launched["stream"])
    never = np.iinfo(np.int64).max
    first, last = np.full(count, never), np.zeros(count, np.int64)
    # A block without a report has not ended.
    ends = np.where(blocks.end < 0, never, blocks.end)
    inside = (blocks.launch >= 0) & (blocks.launch < count)
    np.minimum.at(first, blocks.launch[inside], blocks.start[inside])
    np.maximum.at(last, blocks.launch[inside], ends[inside])
    return [
        f"launch {number} began in cycle {first[number]}, but launch {other}, for which it waits,"
        f" ended in cycle {last[other]}"
        for number, other in _awaited(launched, config)
        if first[number] <= last[other]
    ]


def _awaited(launched: Table, config: Config) -> Iterator[tuple[int, int]]:
    """Yield each launch with each one that it waits for, by their numbers in order of transfer."""
    of_stream: dict[int, list[int]] = defaultdict(list)
    for number, stream in enumerate(launched["stream"].tolist()):
        yield from ((number, other) for other in of_stream[stream][-1:])
        for k in range(config.launch_waits):
            pair = {key: int(launched[f"wait{k}_{key}"][number]) for key in _PAIR}
            theirs = of_stream[pair["stream"]]
            back = len(theirs) - pair["count"] if pair["relative"] else pair["count"]
            if pair["valid"] and 0 < back <= len(theirs):
                yield number, theirs[back - 1]
        of_stream[stream].append(number)
