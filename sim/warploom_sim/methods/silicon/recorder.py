"""The constants of `h200_rounds` for a recording; none is fitted on the recording itself."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from warploom_golden.replay.recorded_grid import RecordedGrid, Turnaround
from warploom_golden.replay.recorded_h200 import Constants, refusal, turnarounds
from warploom_sim.methods.silicon.comparison import Fitted

#: Nanoseconds beside the table of ways, by the recording that shows them: the median over the
#: blocks whose slot was left 30 ns after any other slot, and 30 ns before any other.
RECORDER: Final = {"h100_random_1d_3persm": -28.8, "h200_random_1d_1persm": -28.6}
#: Nanoseconds between two starts on an SM, by the recording on which the error of the makespan is
#: least; of the multiples of 10.
START_GAP: Final = {"h200_short_3d_8persm": 40.0}


def constants(name: str, grid: RecordedGrid, fitted: Fitted) -> Constants | str:
    """Return the constants for a recording, or in one line why there are none.

    A turnaround that is given holds here, too. An older program, which does not name the GPU, is
    known by other recordings of its own alone.
    """
    if why := refusal(grid):
        return why
    gap, gap_on = _other(START_GAP, name) if grid.slots > 1 else (0.0, ())
    if fitted.source == "given" or (not grid.gpu and fitted.source == "others"):
        beside = float(np.median(fitted.turnaround.of(grid) - turnarounds(grid)))
        return Constants(beside, gap, (*fitted.recordings, *gap_on))
    if not grid.gpu:
        return "the program that made the recording is an older one, and no other recording is its"
    recorder, recorder_on = _other(RECORDER, name)
    return Constants(recorder, gap, (*recorder_on, *gap_on))


def dated(grid: RecordedGrid, fitted: Fitted, known: Constants | str) -> Fitted:
    """Return the turnaround by which a recording's decisions are dated.

    One that would be fitted on the recording itself gives way to that of `h200_rounds`.
    """
    if fitted.source != "itself" or isinstance(known, str):
        return fitted
    ways = (turnarounds(grid) + known.recorder).tolist()
    by_sm = {grid.name(sm): way for sm, way in enumerate(ways)}
    return Fitted(Turnaround(float(np.median(ways)), by_sm), "table", known.fitted_on)


def _other(known: Mapping[str, float], name: str) -> tuple[float, tuple[str, ...]]:
    """Return what the first recording but this one shows, and that recording."""
    for recording, value in known.items():
        if recording != name:
            return value, (recording,)
    return 0.0, ()
