"""What README says of the methods: figures of their commands, kept in ``docs/figures``."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from click.testing import CliRunner

from warploom_sim.cli import main
from warploom_spec import WarploomError

FILE: Final = Path("docs/figures/methods.json")


class Measurement(NamedTuple):
    """A command, and the figures that are taken from what it writes."""

    command: str
    figures: Callable[[Mapping[str, Any]], dict[str, float]]


def _merged(figures: Mapping[str, Any]) -> dict[str, float]:
    change = figures["modes"]["spin"]["cycles"] / figures["cycles_unmerged"] - 1
    return {"spin_percent": round(100 * change, 2)}


def _preempted(figures: Mapping[str, Any]) -> dict[str, float]:
    modes = figures["modes"].items()
    return {f"{name}_median_cycles": round(mode["median"]) for name, mode in modes}


def _deferred(figures: Mapping[str, Any]) -> dict[str, float]:
    (row,) = (row for row in figures["rows"] if row["templates"] == 32)
    return {"launches": figures["launches"], "commands": row["commands"]}


_TWO_STREAMS: Final = "traces/two_streams_priority.json.gz"
_MERGE: Final = f"merge {_TWO_STREAMS} --config large --mode spin --charge"
#: By the name under which the figures stand in the file.
MEASUREMENTS: Final = {
    "merge_own_need": Measurement(f"{_MERGE} task", _merged),
    "merge_maximum": Measurement(f"{_MERGE} maximum", _merged),
    "preempt": Measurement(
        f"preempt {_TWO_STREAMS} --urgent 31 --mode reset --mode drain --arrivals 200",
        _preempted,
    ),
    "steal": Measurement(
        "steal quadrature --workers 16", lambda figures: {"speedup": figures["speedup"]}
    ),
    "defer": Measurement("defer traces/gpt2_generate.json.gz", _deferred),
}


def measure(name: str) -> dict[str, Any]:
    """Run a method's command and return it with its figures.

    Raises
    ------
    WarploomError
        If the command fails.
    """
    command, figures = MEASUREMENTS[name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        done = CliRunner().invoke(main, [*command.split(), "--json", str(file)])
        if done.exit_code:
            raise WarploomError(f"warploom {command} failed: {done.output}")
        return {"command": f"warploom {command}"} | figures(json.loads(file.read_text()))
