"""Prints and draws the results for the recordings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from warploom_sim.methods.silicon.comparison import Compared
from warploom_sim.methods.silicon.verdict import NEAR
from warploom_sim.plots import write_figure
from warploom_spec.extras import need

NOTE = (
    "Block lengths are the recording's own. 'within': the share of blocks, of those behind the"
    " first wave, on an SM with a slot that was left within so many ns of the predicted one; every"
    " policy sees the recorded reports. 'same SM': the share of decisions between two or more SMs"
    " in which the policy, after all that the GPU did before, chooses the GPU's SM. 'free': the"
    " same of all blocks, if the policy goes on from its own choices. 'makespan': the policy runs"
    " on its own, with the recorded lengths alone."
)
#: How the turnaround is called by where it comes from.
_SOURCES = {
    "others": "fitted on others",
    "itself": "fitted on itself",
    "given": "given",
    "table": "of h200_rounds",
}


def show(console: Console, compared: Sequence[Compared]) -> None:
    """Print a table and the verdicts for each recording, then what the figures are."""
    for one in compared:
        figures = one.figures
        table = Table(
            title=f"{figures['recording']}: {figures['blocks']:,} blocks, {figures['sms']} SMs of"
            f" {figures['slots']}, turnaround {figures['turnaround_ns']:.0f} ns"
            f" ({_SOURCES[figures['turnaround']]}), makespan {figures['makespan_ns']:,.0f} ns",
            title_justify="left",
        )
        table.add_column("policy")
        for limit in NEAR:
            table.add_column(f"within {limit} ns", justify="right")
        table.add_column("same SM", justify="right")
        table.add_column("free", justify="right")
        table.add_column("makespan", justify="right")
        for rule, result in figures["rules"].items():
            shares = [_percent(result["near"][str(limit)]) for limit in NEAR]
            shares += [_percent(result[key]) for key in ("same_sm", "same_sm_free")]
            error = result["makespan_error"]
            table.add_row(rule, *shares, "-" if error is None else f"{100 * error:+.2f} %")
        console.print(table)
        for line in figures["verdicts"]:
            console.print(line, highlight=False)
        console.print()
    console.print(NOTE)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def draw(path: Path, compared: Sequence[Compared]) -> None:
    """Draw each block's start, the model's against the GPU's, a panel for each recording."""
    columns = min(3, len(compared))
    rows = -(-len(compared) // columns)
    figure = need("matplotlib.figure", "report", "a plot").Figure(
        figsize=(3.6 * columns, 3.4 * rows), layout="constrained"
    )
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for panel, one in zip(panels, compared, strict=False):
        _panel(panel, one)
    for panel in list(panels)[len(compared) :]:
        panel.set_axis_off()
    figure.suptitle("Start of each block in microseconds: the best rule on its own, and the GPU")
    write_figure(path, figure)


def _panel(panel: Any, one: Compared) -> None:
    recorded, modelled = one.recorded / 1000, one.modelled / 1000
    end = max(recorded.max(), modelled.max(), 0.001)
    panel.plot([0, end], [0, end], color="0.7", linewidth=0.8)
    panel.scatter(recorded, modelled, s=2, color="black", linewidths=0, rasterized=True)
    panel.set_title(one.figures["recording"], fontsize=9)
    panel.set_xlabel("GPU")
    panel.set_ylabel("model")
    panel.set_aspect("equal")
