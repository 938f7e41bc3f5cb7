"""One replay on Icarus for all tests that need a replay, and look at what it said and wrote."""

import csv
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from filelock import FileLock

from tb.support.trace_files import write
from warploom_sim import cli

#: What the command writes of a replay.
_WRITTEN = {"json": "f.json", "launches-csv": "l.csv", "report": "r.html"}


@dataclass(frozen=True)
class SharedReplay:
    """What ``warploom sim`` said and wrote, in a folder that no test changes.

    Attributes
    ----------
    folder : Path
        Of trace and files.
    seed : int
        Of the trace, and of the replay's own draws.
    """

    folder: Path
    seed: int

    @property
    def trace(self) -> Path:
        """The recording."""
        return self.folder / "trace.json"

    @property
    def report(self) -> Path:
        """The report's page."""
        return self.folder / _WRITTEN["report"]

    @cached_property
    def stdout(self) -> str:
        """What was said."""
        return (self.folder / "stdout").read_text()

    @cached_property
    def figures(self) -> dict[str, Any]:
        """What ``--json`` has."""
        found: dict[str, Any] = json.loads((self.folder / _WRITTEN["json"]).read_text())
        return found

    @property
    def rows(self) -> list[dict[str, str]]:
        """What ``--launches-csv`` has."""
        with (self.folder / _WRITTEN["launches-csv"]).open(newline="") as file:
            return list(csv.DictReader(file))


def shared_replay(
    common: Path, name: str, content: dict[str, Any], seed: int, *options: str
) -> SharedReplay:
    """Return a replay of a trace on `tiny` and Icarus, equal to its model: made once in a run.

    Parameters
    ----------
    common : Path
        A folder of all processes of the run.
    name : str
        Of the replay.
    content : dict
        The trace.
    seed : int
        The replay's.
    *options : str
        More of the command's.

    Raises
    ------
    AssertionError
        If RTL and model differ; each test that asks says so.
    """
    folder = common / f"{name}-{seed}"
    with FileLock(common / f"{folder.name}.lock"):
        if not (folder / "stdout").exists():
            folder.mkdir(exist_ok=True)
            words = ["sim", str(write(folder, content)), "--config", "tiny", "--sim", "icarus"]
            words += ["--seed", str(seed), *options]
            for option, file in _WRITTEN.items():
                words += [f"--{option}", str(folder / file)]
            done = CliRunner().invoke(cli.main, words, catch_exceptions=False)
            assert done.exit_code == 0, done.output
            (folder / "stdout").write_text(done.stdout)
    return SharedReplay(folder, seed)
