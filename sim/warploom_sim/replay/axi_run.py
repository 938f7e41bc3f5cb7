"""A run whose launches a host sends: when they transferred, and what came of each at last."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from warploom_golden.replay.event_model import Events, Piece
from warploom_golden.replay.host_source import AGAIN, HostCycles
from warploom_sim.failure import ProgramError
from warploom_sim.replay.analysis.running import RunningFigures
from warploom_sim.replay.bench.records import host_packets
from warploom_sim.replay.event_files import EventFile
from warploom_sim.replay.model_run import read_host_cycles
from warploom_sim.replay.simulation_run import Process, failure

#: When the host sent launches and popped records, for the model.
HOST_CYCLES: Final = "host_cycles.npz"


def host_cycles(simulation: Process, folder: Path) -> HostCycles:
    """Wait for the simulation; return when its host did what it did, and write it for the model.

    Raises
    ------
    ProgramError
        If the simulation fails, or its file of the transfers or of the pops is not whole.
    """
    if simulation.wait():
        raise ProgramError(failure("the simulator", simulation.returncode, folder))
    cycles: dict[str, Any] = {}
    for kind, packet in host_packets().items():
        file = EventFile(folder / f"{kind}.bin", packet)
        parts = [*iter(file.read, None), file.finish()]
        cycles[kind] = np.concatenate([part["cycle"] for part in parts])
    np.savez(folder / HOST_CYCLES, **cycles)
    return read_host_cycles(folder / HOST_CYCLES)


def settled(events: Events) -> Events:
    """Return events without the answers after which the host rang again."""
    answers = events.tables["answers"]
    kept = ~np.isin(answers["code"], np.array([int(code) for code in AGAIN], np.uint64))
    answers = {name: column[kept] for name, column in answers.items()}
    return Events({**events.tables, "answers": answers}, events.stalls)


def settled_piece(piece: Piece) -> Piece:
    """Return a piece without the answers after which the host rang again."""
    return Piece(settled(piece.events), piece.until)


class SettledFigures(RunningFigures):
    """Figures of a replay whose launches come again when a queue was full."""

    def add(self, piece: Piece) -> None:
        """Take the next events."""
        super().add(settled_piece(piece))
