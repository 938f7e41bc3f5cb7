"""A run whose launches a host sends: when they transferred, and what came of each at last."""

from pathlib import Path
from typing import Final

import numpy as np

from warploom_golden.replay.event_model import Events, Piece
from warploom_sim.failure import ProgramError
from warploom_sim.replay.analysis.running import RunningFigures
from warploom_sim.replay.bench.axi_bench import AGAIN
from warploom_sim.replay.bench.records import sent_packet
from warploom_sim.replay.event_files import EventFile
from warploom_sim.replay.simulation_run import Process, failure

#: Recorded cycles of the transfers, and the same without anything else, for the model.
SENT: Final = "sent.bin"
TRANSFERS: Final = "transfers.u8"


def transfers(simulation: Process, folder: Path) -> list[int]:
    """Wait for the simulation; return the cycles of its transfers, and write them for the model.

    Raises
    ------
    ProgramError
        If the simulation fails, or its file of the transfers is not whole.
    """
    if simulation.wait():
        raise ProgramError(failure("the simulator", simulation.returncode, folder))
    file = EventFile(folder / SENT, sent_packet())
    parts = [*iter(file.read, None), file.finish()]
    cycles = np.concatenate([part["cycle"] for part in parts])
    cycles.astype("<u8").tofile(folder / TRANSFERS)
    return [int(cycle) for cycle in cycles]


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
