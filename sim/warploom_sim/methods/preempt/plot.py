"""The plot of a measurement: the share of urgent launches that started within a given time."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from warploom_sim.plots import new_figure, write_figure
from warploom_sim.traces.trace_launches import CLOCK_MHZ


def draw_latencies(path: Path, title: str, latencies: Mapping[str, Sequence[int]]) -> None:
    """Draw the distribution of each run's latencies, in microseconds.

    Parameters
    ----------
    path : Path
        File of the plot; its suffix selects the format.
    title : str
        Title above the plot.
    latencies : mapping of str to sequence of int
        Latencies of each run in cycles, by the run's name.
    """
    figure, axes = new_figure()
    shares = np.linspace(0, 1, 201)
    for name, each in latencies.items():
        reached = np.quantile(each, shares, method="inverted_cdf") / CLOCK_MHZ
        axes.step(reached, shares, where="post", label=name)
    axes.set_xscale("log")
    axes.set_xlabel("preemption latency, microseconds at 1.98 GHz")
    axes.set_ylabel("share of urgent launches")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend()
    write_figure(path, figure)
