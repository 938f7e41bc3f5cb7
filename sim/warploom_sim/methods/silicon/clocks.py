"""Finer times: the GPU's timer steps by 32 ns, an SM's own clock by half a nanosecond.

The SMs of a GPC share one clock, which runs on for as long as the GPU is up. A stamp of the timer
lies 0 to 32 ns, a *grain*, before the event; over many stamps of a GPC the mean is half a grain.
"""

from typing import Final

import numpy as np

from warploom_golden.replay.recorded_grid import Numbers, Times

#: Stamps of one GPC over which the difference between timer and clock is averaged.
_STAMPS: Final = 41
#: Nanoseconds by which the clocks of one GPC differ at most; different GPCs differ by far more.
_SAME: Final = 500.0


def by_clocks(sm: Numbers, stamps: Numbers, clocks: Numbers) -> Times:
    """Return the time of each event in nanoseconds.

    No time leaves the grain of its stamp: clocks that say otherwise are not believed.

    Parameters
    ----------
    sm : array of int
        SM of each event.
    stamps, clocks : array of int
        The timer's stamp in nanoseconds, and the SM's clock in cycles.
    """
    ticks, rough = _rough(sm, stamps, clocks)
    gpc = _gpcs(sm, stamps - rough)[sm]
    times = np.zeros(len(sm))
    for number in range(int(gpc.max()) + 1):
        (events,) = np.nonzero(gpc == number)
        events = events[np.argsort(ticks[events], kind="stable")]
        times[events] = rough[events] + _smooth(stamps[events] - rough[events])
    half = _grain(stamps) / 2
    within = np.clip(times, stamps - half, stamps + half)
    finest: Times = within - within.min()
    return finest


def clock_groups(sm: Numbers, stamps: Numbers, clocks: Numbers) -> Numbers:
    """Return for each SM a number that the SMs of one clock share; as for `by_clocks`."""
    _, rough = _rough(sm, stamps, clocks)
    return _gpcs(sm, stamps - rough)


def _rough(sm: Numbers, stamps: Numbers, clocks: Numbers) -> tuple[Times, Times]:
    """Return the clocks from 0 on, in cycles and in nanoseconds."""
    ticks = (clocks - clocks.min()).astype(float)
    return ticks, ticks * _period(sm, stamps, ticks)


def _grain(stamps: Numbers) -> int:
    """Return the timer's step: every stamp is a multiple of it from the first one on."""
    return int(np.gcd.reduce(stamps - stamps.min()))


def _period(sm: Numbers, stamps: Numbers, ticks: Times) -> float:
    """Return a clock's period: the slope of stamps over ticks, each SM's about its own mean."""
    count = np.bincount(sm)
    count[count == 0] = 1
    x = ticks - (np.bincount(sm, ticks) / count)[sm]
    y = stamps - (np.bincount(sm, stamps) / count)[sm]
    return float(x @ y / (x @ x)) if x @ x else 0.0


def _gpcs(sm: Numbers, differences: Times) -> Numbers:
    """Return for each SM the number of its GPC: those whose clocks differ from the timer alike."""
    # Of each SM the first event: clocks run apart, and SMs end at different times.
    first = np.zeros(int(sm.max()) + 1)
    sms, events = np.unique(sm, return_index=True)
    first[sms] = differences[events]
    order = np.argsort(first, kind="stable")
    numbers = np.zeros(len(first), np.int64)
    numbers[order[1:]] = np.cumsum(np.diff(first[order]) > _SAME)
    return numbers


def _smooth(differences: Times) -> Times:
    """Return the running mean; at either end the outermost events count twice."""
    side = min(_STAMPS // 2, len(differences))
    head, tail = differences[:side][::-1], differences[len(differences) - side :][::-1]
    window = np.ones(2 * side + 1) / (2 * side + 1)
    smooth: Times = np.convolve(np.concatenate((head, differences, tail)), window, "valid")
    return smooth
