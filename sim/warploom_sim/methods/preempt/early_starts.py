"""Whether low launches on the RTL began after those that they wait for, by the trace's file alone.

The waits are read by the second reader of `warploom_sim.replay.wait_check`.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_tables import Table
from warploom_sim.replay import recount, wait_check


def early_starts(path: Path, urgent: int | None, events: Mapping[str, Table]) -> list[str]:
    """Return in words the low launches that began too early; numbers are those in a repetition.

    Parameters
    ----------
    path : Path
        The trace that has the low launches.
    urgent : int or None
        The trace's urgent stream; None: all its launches are low.
    events : mapping of str to Table
        The RTL's events.
    """
    every = [kernel.queue for kernel in recount.read(path)]
    low = [n for n, queue in enumerate(every) if queue[1] != urgent]
    place = {n: k for k, n in enumerate(low)}
    queues = [every[n] for n in low]
    pairs = [(place[a], place[b]) for a, b in wait_check.awaited(path) if a in place and b in place]
    offers = events["offers"]
    tickets = offers["ticket"].astype(np.int64)
    first = np.full(int(tickets.max(initial=0)) + 1, NEVER, np.int64)
    np.minimum.at(first, tickets, offers["cycle"].astype(np.int64))
    own = events["sent"]["urgent"] == 0
    answers = events["answers"]["ticket"][own]
    problems = []
    for number, begin in enumerate(range(0, len(answers), len(low))):
        given = {"ticket": answers[begin : begin + len(low)]}
        sent = queues[: len(given["ticket"])]
        found = wait_check.early_starts(pairs, sent, given, events["ended"], first)
        problems += [f"repetition {number}: {each}" for each in found]
    return problems
