"""Runs of the C driver in front of the RTL: what each does, and the events that it writes."""

import json
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from warploom_golden.replay.event_tables import Table
from warploom_sim.build_cache import build_root
from warploom_sim.cosim import simulators
from warploom_sim.failure import ProgramError
from warploom_sim.kept_folders import hold, release_folder
from warploom_sim.replay.bench.driver_build import SIMULATOR
from warploom_sim.replay.bench.records import launched_packet, record_packets
from warploom_sim.replay.bench.replay_bench_build import Simulation
from warploom_sim.replay.event_files import EventFile
from warploom_sim.replay.simulation_run import LOG, SILENCE_LIMIT, failure, read_end
from warploom_sim.screen import progress_bar
from warploom_spec import Config

_COMMANDS: Final = "commands.txt"
_POLL_S: Final = 0.2
#: Cycles that a run goes on after its last block: a launch too many would begin.
_DRAIN: Final = 2000
#: The kinds of events that are read.
_READ: Final = ("launched", "answers", "words", "offers", "reports")


@dataclass(frozen=True)
class Given:
    """What a run does.

    Attributes
    ----------
    lines : iterable of str
        The host's file.
    blocks : int
        Blocks of all launches.
    longest : int
        Base length of the longest block.
    """

    lines: Iterable[str]
    blocks: int
    longest: int


@dataclass(frozen=True)
class Done:
    """What a run did.

    Attributes
    ----------
    tables : dict of str to Table
        Its events by kind.
    host : dict
        What the host counted, and the driver's code if it gave up.
    stopped : str
        Why the run was given up, or "".
    """

    tables: dict[str, Table]
    host: dict[str, Any]
    stopped: str

    @property
    def problem(self) -> str:
        """What went wrong, or ""."""
        if self.host["error"]:
            line = self.host["line"]
            return f"the driver's code is {self.host['error']}, line {line}; {self.stopped}"
        return self.stopped


def run_all(
    simulation: Simulation, given: Mapping[str, Given], config: Config, title: str
) -> dict[str, Done]:
    """Run several simulations side by side, with a progress bar over their blocks.

    Raises
    ------
    ProgramError
        If one fails, or an event file is not whole.
    """
    with _folder() as folder, progress_bar() as progress, ExitStack() as stack:
        task = progress.add_task(title, total=sum(one.blocks for one in given.values()))
        runs = {}
        for name, one in given.items():
            runs[name] = _Run(simulation, one, folder / name, config)
            stack.callback(runs[name].stop)
        while sum(run.read() for run in runs.values()):
            progress.update(task, completed=sum(run.offered for run in runs.values()))
            time.sleep(_POLL_S)
        return {name: run.done() for name, run in runs.items()}


@contextmanager
def _folder() -> Iterator[Path]:
    folder = build_root() / "deferrals" / uuid.uuid4().hex[:12]
    hold(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        release_folder(folder)


class _Run:
    """One simulation, of which the events are read while it writes them."""

    def __init__(self, simulation: Simulation, given: Given, folder: Path, config: Config):
        self._folder = folder
        folder.mkdir(parents=True)
        (folder / _COMMANDS).write_text("".join(given.lines))
        values = {
            "commands": _COMMANDS,
            "blocks": given.blocks,
            # A block is at most an eighth longer than its base length.
            "silence_limit": SILENCE_LIMIT + 2 * given.longest,
            "offer_limit": 1000 + 2 * given.blocks,
            "drain": _DRAIN,
        }
        packets = record_packets(config) | {"launched": launched_packet(config)}
        self._files = {kind: EventFile(folder / f"{kind}.bin", packets[kind]) for kind in _READ}
        self._parts: dict[str, list[Table]] = {kind: [] for kind in _READ}
        command = [*simulation.command, *(f"+{name}={value}" for name, value in values.items())]
        environment = {**os.environ, **simulators.environment(SIMULATOR)}
        with (folder / LOG).open("w") as log:
            self._process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
            )

    @property
    def offered(self) -> int:
        """Blocks that were offered so far."""
        return self._files["offers"].count

    def read(self) -> bool:
        """Read what was written since the last time; tell whether there may be more."""
        runs = self._process.poll() is None
        found = False
        for kind, file in self._files.items():
            table = file.read()
            if table is not None:
                self._parts[kind].append(table)
                found = True
        return runs or found

    def done(self) -> Done:
        """Return what the run did, once `read` has returned False."""
        if self._process.wait():
            raise ProgramError(failure("the simulator", self._process.returncode, self._folder))
        end = read_end(self._folder / "end.bin")
        tables = {}
        for kind, file in self._files.items():
            parts = [*self._parts[kind], file.finish(counted=not end.stopped)]
            tables[kind] = {key: np.concatenate([p[key] for p in parts]) for key in parts[0]}
        host = json.loads((self._folder / "host.json").read_text())
        return Done(tables, host, end.stopped)

    def stop(self) -> None:
        """End the simulation if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
