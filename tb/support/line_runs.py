"""Runs of launches in one line, as gains and merged launches have it: their offers and cycles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_dispatch import EventDispatch
from warploom_spec import Config, LaunchDescriptor


@dataclass(frozen=True)
class LineRun:
    """The results of a run.

    Attributes
    ----------
    cycle, sm : array of int64
        Of each offer, in order.
    cycles : int
        From cycle 0 to the last answer or final record, both included.
    refused : int
        Launches that LaunchCheck refused.
    """

    cycle: NDArray[np.int64]
    sm: NDArray[np.int64]
    cycles: int
    refused: int


def run_line(
    launches: Sequence[LaunchDescriptor], config: Config, seed: int, knee: int | None = None
) -> LineRun:
    """Run launches in one line; nothing is relaxed."""
    dispatch = EventDispatch(launches, config, seed, knee=knee)
    offers = np.concatenate([dispatch.take_logs()[0] for _ in dispatch.run()], axis=1)
    answers, ended = dispatch.front.answers, dispatch.ended
    last = max(rows[-1][0] for rows in (answers, ended) if rows)
    return LineRun(offers[0], offers[1], last + 1, sum(1 for answer in answers if answer[2]))
