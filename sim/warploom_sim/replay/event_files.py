"""A replay's event files, read in pieces while the simulation writes them."""

import ctypes
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_tables import Table
from warploom_sim.failure import ProgramError
from warploom_sim.replay.bench.records import CLOSED, columns, in_order, record_words
from warploom_spec import Packet, WarploomError

Rows = NDArray[np.uint64]
#: Bytes that are read at once, at most.
_PIECE: Final = 1 << 23
_PAGE: Final = 1 << 16
#: Modes of the system's call ``fallocate``.
_KEEP_SIZE: Final = 1
_PUNCH_HOLE: Final = 2


def _give_back(path: Path, start: int, stop: int) -> None:
    """Give a part of a file back to the disk: it reads as zeros then. Linux alone can.

    Python's library has no call for it; that of the system is used as its manual page says.
    """
    system = ctypes.CDLL(None, use_errno=True)
    if stop > start and hasattr(system, "fallocate"):
        with path.open("r+b") as file:
            parts = ctypes.c_int64(start), ctypes.c_int64(stop - start)
            system.fallocate(file.fileno(), _PUNCH_HOLE | _KEEP_SIZE, *parts)


class EventFile:
    """An event file, of which what was read is forgotten.

    Parameters
    ----------
    path : Path
        The file; it need not be there yet.
    packet : Packet
        Layout of a record.

    Attributes
    ----------
    gives_back : bool
        What was read is given back to the disk, but for the last piece.
    count : int
        Records read, without the closing one.
    """

    def __init__(self, path: Path, packet: Packet):
        self._path, self._packet = path, packet
        self._size = 8 * record_words(packet)
        self._offset = 0
        # Where the last piece begins, and up to where the disk got the file back.
        self._last = self._given = 0
        self.gives_back = False
        self._counted: int | None = None
        self._trailing = 0
        # Records of the last cycle: more of that cycle may follow, of SMs with lower numbers.
        self._held = np.zeros((0, self._size // 8), np.uint64)
        # An event of which a bit is to be flipped: number, bit.
        self._flip: tuple[int, int] | None = None
        self.count = 0

    def flip(self, number: int, bit: int) -> None:
        """Flip one bit of one event when it is read."""
        self._flip = number, bit

    def read(self) -> Table | None:
        """Return what was written since the last time, in order; None if there is no more yet."""
        data = self._bytes()
        if not data:
            return None
        rows = np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, self._size // 8)
        rows = np.concatenate([self._held, self._before_closing(rows)])
        last = rows[-1:, 0]
        ready = int(np.searchsorted(rows[:, 0], last[0])) if len(last) else 0
        self._held = rows[ready:]
        return self._table(rows[:ready])

    def finish(self, *, counted: bool = True) -> Table:
        """Return what is left of a file that is written, once `read` has returned None.

        Parameters
        ----------
        counted : bool
            Whether there must be as many records as the closing record says.

        Raises
        ------
        ProgramError
            If the file is not there, has a part of a record, does not end with its closing record,
            or has another number of records than that says.
        WarploomError
            If the event of which a bit was to be flipped did not come.
        """
        name = f"event file {self._path.name}"
        size = self._path.stat().st_size if self._path.exists() else 0
        if size % self._size:
            raise ProgramError(
                f"{name} ends in the middle of a record: {size:,} bytes, {self._size} a record"
            )
        if self._counted is None:
            raise ProgramError(f"{name} has no closing record: it was not written whole")
        if self._trailing:
            raise ProgramError(f"{name}: {self._trailing} records after its closing record")
        rows, self._held = self._held, self._held[:0]
        table = self._table(rows)
        if counted and self._counted != self.count:
            raise ProgramError(
                f"{name} has {self.count:,} records; the test bench counted {self._counted:,}"
            )
        if self._flip:
            number, bit = self._flip
            raise WarploomError(
                f"event {self._packet.name}.{number}.{bit} does not exist; legal: numbers below"
                f" {self.count}, bits below {self._packet.bits}"
            )
        return table

    def _bytes(self) -> bytes:
        """Return whole records that were not read yet."""
        if not self._path.is_file():
            return b""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read(_PIECE - _PIECE % self._size)
        data = data[: len(data) - len(data) % self._size]
        if data and self.gives_back:
            # Whole pages alone can be given back.
            stop = self._last - self._last % _PAGE
            _give_back(self._path, self._given, stop)
            self._given = stop
        if data:
            self._last = self._offset
        self._offset += len(data)
        return data

    def _before_closing(self, rows: Rows) -> Rows:
        """Return the records before the closing one, and note what that says."""
        if self._counted is not None:
            self._trailing += len(rows)
            return rows[:0]
        closing = np.flatnonzero(rows[:, 0] == CLOSED)
        if not len(closing):
            return rows
        self._counted = int(rows[closing[0], 1])
        self._trailing = len(rows) - 1 - int(closing[0])
        return rows[: closing[0]]

    def _table(self, rows: Rows) -> Table:
        """Return records as columns, in order, with a bit flipped if a test asks for it."""
        rows = in_order(rows, self._packet)
        first, self.count = self.count, self.count + len(rows)
        if self._flip and self._flip[0] < self.count and self._flip[1] < self._packet.bits:
            number, bit = self._flip
            rows[number - first, bit // 64] ^= np.uint64(1) << np.uint64(bit % 64)
            self._flip = None
        return columns(rows, self._packet)
