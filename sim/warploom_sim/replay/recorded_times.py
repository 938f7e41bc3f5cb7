"""Replayed times beside the recorded ones: of each launch, and of the whole run."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warploom_sim.replay.request import ReplayRequest
from warploom_sim.traces.trace_launches import CLOCK_MHZ
from warploom_sim.traces.trace_reader import Trace

if TYPE_CHECKING:
    from warploom_sim.replay.replay_rows import Launches

Times = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recording:
    """When the launches of a replay ran on the recorded GPU.

    Attributes
    ----------
    start, duration : array of float64
        Of each launch, in microseconds.
    cycles_each : Fraction
        The replay's cycles of a recorded microsecond.
    """

    start: Times
    duration: Times
    cycles_each: Fraction

    @classmethod
    def of(cls, trace: Trace, request: ReplayRequest, count: int) -> "Recording":
        """Return the times of a trace's first launches."""
        chosen = trace.launches[:count]
        return cls(
            np.array([launch.start for launch in chosen], np.float64),
            np.array([launch.duration for launch in chosen], np.float64),
            CLOCK_MHZ * request.time_scale,
        )

    def microseconds(self, cycles: NDArray[np.int64]) -> Times:
        """Return cycles of the replay as recorded microseconds."""
        return cycles / float(self.cycles_each)


def recorded_times(launches: "Launches") -> dict[str, Any]:
    """Return how long a run's finished launches took in the recording and in the replay.

    Returns
    -------
    dict
        ``recorded_us`` and ``replayed_us``: the time in which at least one of them ran, so that
        gaps between launches do not count. ``error_percent``: how much longer the replay took.
        ``launch_error_percent``: the median of the launches' errors without their signs. None where
        nothing finished, or the recording says 0.
    """
    done = np.flatnonzero(launches.finished & ~np.isnan(launches.recorded_us))
    recorded = busy(launches.recorded_start[done], launches.recorded_us[done])
    replayed = busy(launches.replayed_start[done], launches.replayed_us[done])
    errors = launches.error[done]
    errors = np.abs(errors[~np.isnan(errors)])
    return {
        "recorded_us": round(recorded, 3),
        "replayed_us": round(replayed, 3),
        "error_percent": round(100 * (replayed / recorded - 1), 2) if recorded else None,
        "launch_error_percent": round(100 * float(np.median(errors)), 2) if len(errors) else None,
    }


def busy(starts: Times, lengths: Times) -> float:
    """Return for how long at least one of some stretches of time lasted."""
    order = np.argsort(starts, kind="stable")
    ends = np.maximum.accumulate(starts[order] + lengths[order]) if len(order) else lengths
    begun = np.maximum(starts[order], np.concatenate(([-np.inf], ends[:-1])))
    return float(np.maximum(ends - begun, 0).sum())


def times_in_words(times: Mapping[str, Any]) -> list[str]:
    """Return in words how long the launches took, replayed and recorded."""
    error, each = times["error_percent"], times["launch_error_percent"]
    lines = [f"recorded {times['recorded_us']:,.1f} us, replayed {times['replayed_us']:,.1f} us"]
    if error is not None:
        lines.append(f"error of the whole {error:+.1f} %")
    if each is not None:
        lines.append(f"of a launch {each:.1f} % (median)")
    return lines
