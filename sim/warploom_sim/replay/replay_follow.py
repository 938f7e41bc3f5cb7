"""Follows a replay's simulation and model while they run: compares, sums up, and forgets."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_model import Events, Piece
from warploom_golden.replay.event_tables import Table
from warploom_sim.failure import ProgramError, is_full
from warploom_sim.replay.analysis.running import KEPT, RunningFigures
from warploom_sim.replay.bench.records import STALLS, index_read_packet, record_packets
from warploom_sim.replay.event_comparison import Comparing, Comparison, Parts
from warploom_sim.replay.event_files import EventFile
from warploom_sim.replay.index_reads import IndexReads
from warploom_sim.replay.model_run import read_piece
from warploom_sim.replay.simulation_run import End, Process, failure, read_end
from warploom_spec import Config

#: Seconds between two looks at what was written.
POLL: Final = 0.05
#: Kinds of events of which the RTL's are kept, besides those of each launch.
_MORE: Final = ("errors",)


@dataclass(frozen=True)
class Flip:
    """One bit of one recorded event, to be flipped: the comparison must find it."""

    kind: str
    number: int
    bit: int


class ModelPieces:
    """The pieces that a model's process writes, read by a thread, two ahead at most.

    Attributes
    ----------
    until : int
        All events before this cycle were given away.
    """

    def __init__(self, process: Process, folder: Path):
        assert process.stdout
        self._process, self._folder = process, folder
        self._read: queue.Queue[Piece | None] = queue.Queue(maxsize=2)
        self._over = threading.Event()
        self.until = 0
        threading.Thread(target=self._run, args=(process.stdout,), daemon=True).start()

    def _run(self, file: IO[bytes]) -> None:
        while not self._over.is_set():
            try:
                piece = read_piece(file)
            except ValueError:
                if file.closed:  # by whoever broke the run off
                    return
                raise
            self._give(piece)
            if piece is None:
                return

    def _give(self, piece: Piece | None) -> None:
        """Wait until somebody wants a piece, or nobody will."""
        while not self._over.is_set():
            with contextlib.suppress(queue.Full):
                return self._read.put(piece, timeout=POLL)

    def stop(self) -> None:
        """Read no more: what the process still writes is not wanted."""
        self._over.set()

    def next(self) -> Piece | None:
        """Return the next piece; None if it is not there yet.

        Raises
        ------
        ProgramError
            If the process ended before its last piece.
        """
        try:
            piece = self._read.get(timeout=POLL)
        except queue.Empty:
            return None
        if piece is None:
            self._process.wait()
            raise ProgramError(failure("the model", self._process.returncode, self._folder))
        self.until = piece.until
        return piece


class Recorded:
    """What is kept of the RTL's events.

    Attributes
    ----------
    counts : dict of str to int
        Events by kind.
    """

    def __init__(self, config: Config):
        kinds = record_packets(config)
        self._kinds = (*KEPT, *_MORE)
        self._parts: dict[str, list[Table]] = {kind: [] for kind in self._kinds}
        self._offered = np.zeros(1, np.int64)
        self._first_offers = np.full(1, NEVER, np.int64)
        self.counts = dict.fromkeys(kinds, 0)

    def add(self, kind: str, table: Table) -> None:
        """Take the next events of a kind."""
        self.counts[kind] += len(table["cycle"])
        if kind in self._kinds:
            self._parts[kind].append(table)
        if kind == "offers":
            found = np.bincount(table["ticket"].astype(int), minlength=len(self._offered))
            found[: len(self._offered)] += self._offered
            self._offered = found
            firsts = np.full(len(found), NEVER, np.int64)
            firsts[: len(self._first_offers)] = self._first_offers
            np.minimum.at(firsts, table["ticket"].astype(int), table["cycle"].astype(np.int64))
            self._first_offers = firsts

    @property
    def offered(self) -> NDArray[np.int64]:
        """Blocks that were offered, by ticket."""
        return self._offered

    @property
    def first_offers(self) -> NDArray[np.int64]:
        """The cycle of the first offer, by ticket; `NEVER` if there was none."""
        return self._first_offers

    def events(self, stalls: Mapping[str, int]) -> Events:
        """Return what was kept."""
        tables = {
            kind: {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            for kind, parts in self._parts.items()
        }
        return Events(tables, dict(stalls))


@dataclass(frozen=True)
class Followed:
    """What came of a run.

    Attributes
    ----------
    comparison : Comparison
        RTL against model.
    recorded : Recorded
        What is kept of the RTL's events.
    end : End
        The summary of the RTL's run.
    """

    comparison: Comparison
    recorded: Recorded
    end: End


def follow(
    simulation: Process,
    model: Process,
    folder: Path,
    model_folder: Path,
    config: Config,
    figures: RunningFigures,
    again: Callable[[], Parts],
    report: Callable[[int], object],
    *,
    reads: IndexReads | None = None,
    flip: Flip | None = None,
) -> Followed:
    """Compare what both write while they run.

    Parameters
    ----------
    simulation, model : Process
        The processes.
    folder, model_folder : Path
        Where they run.
    config : Config
        The configuration.
    figures : RunningFigures
        Gets the model's events, which the RTL's equal or the run fails.
    again : callable
        Returns the model's events once more: they say where a mismatch is.
    report : callable
        Told how many blocks were offered so far.
    reads : IndexReads or None
        Gets the SMs' index reads; None: they are not looked at.
    flip : Flip or None
        A bit of an event to flip.

    Raises
    ------
    ProgramError
        If a process fails, at once: by which signal or with which status, and the last line of what
        it said. If an event file is not whole, or there is no summary; says so if the disk is
        full.
    WarploomError
        If the event of which a bit is to be flipped does not come.
    """
    follower = _Follower(model, folder, model_folder, config, figures, reads, flip)
    try:
        follower.run(simulation, report)
        return follower.finish(again)
    finally:
        follower.pieces.stop()


class _Follower:
    """What `follow` knows while it goes on."""

    def __init__(
        self,
        model: Process,
        folder: Path,
        model_folder: Path,
        config: Config,
        figures: RunningFigures,
        reads: IndexReads | None,
        flip: Flip | None,
    ):
        self._model, self._folder, self._model_folder = model, folder, model_folder
        self._figures = figures
        packets = record_packets(config)
        # What is at no port, the model knows alone.
        self._fields = {
            kind: [field.name for field in packet.present] for kind, packet in packets.items()
        }
        self._files = {kind: EventFile(folder / f"{kind}.bin", packets[kind]) for kind in packets}
        self._reads = reads
        self._read_file = EventFile(folder / "reads.bin", index_read_packet(config))
        for file in (*self._files.values(), self._read_file):
            file.gives_back = True
        if flip:
            self._files[flip.kind].flip(flip.number, flip.bit)
        self._comparing, self._recorded = Comparing(), Recorded(config)
        self._stalls: dict[str, int] = {}
        self.pieces = ModelPieces(model, model_folder)

    def run(self, simulation: Process, report: Callable[[int], object]) -> None:
        """Take what the simulation writes until it has ended and all is read."""
        over = False
        while not over:
            self._check_model()
            # What is written after this look is read in the next round.
            over = simulation.poll() is not None
            if simulation.returncode:
                raise ProgramError(failure("the simulator", simulation.returncode, self._folder))
            for kind, file in self._files.items():
                for table in iter(file.read, None):
                    over = False
                    self._take(kind, table)
                    self._catch_up(0)
            over = self._take_reads() and over
            report(self._recorded.counts["offers"])
            if simulation.returncode is None:
                time.sleep(POLL)

    def finish(self, again: Callable[[], Parts]) -> Followed:
        """Take what is left on either side, and compare that, too."""
        try:
            end = read_end(self._folder / "end.bin")
            for kind, file in self._files.items():
                # A run that is given up may offer a block while its files are closed.
                self._take(kind, file.finish(counted=not end.stopped))
            if self._reads:
                self._reads.add(self._read_file.finish(counted=not end.stopped))
        except ProgramError as error:
            if is_full(self._folder):
                full = f"{error}; no space left on the disk of {self._folder}"
                raise ProgramError(full) from error
            raise
        self._catch_up(NEVER)
        compared = self._comparing.finish(
            end.stalls, {name: self._stalls[name] for name in STALLS}, again
        )
        return Followed(compared, self._recorded, end)

    def _take_reads(self) -> bool:
        """Take the index reads that came since the last time; tell whether there were none."""
        none = True
        while self._reads and (table := self._read_file.read()):
            none = False
            self._reads.add(table)
        return none

    def _check_model(self) -> None:
        if self._model.poll():
            raise ProgramError(failure("the model", self._model.returncode, self._model_folder))

    def _take(self, kind: str, table: Table) -> None:
        """Take what the RTL recorded next of a kind."""
        self._recorded.add(kind, table)
        self._comparing.add_rtl(kind, table)
        if self._comparing.mismatches:
            for file in self._files.values():
                file.gives_back = False

    def _catch_up(self, until: int) -> None:
        """Let the model come as far as the RTL is, or to a cycle."""
        while self.pieces.until < until or self._comparing.lacks(self.pieces.until):
            self._check_model()
            if piece := self.pieces.next():
                self._figures.add(piece)
                tables = piece.events.tables
                self._comparing.add_model(
                    {
                        kind: {name: tables[kind][name] for name in names}
                        for kind, names in self._fields.items()
                    }
                )
                self._stalls.update(piece.events.stalls)
