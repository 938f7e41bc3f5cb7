"""LiteX's bridge from a serial port to the bus, through LiteX's own class, with a time-out."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from litex.tools.remote.comm_uart import CommUART
from numpy.typing import NDArray
from serial import SerialException

from warploom_spec import WarploomError

#: Seconds without an answer after which a port is given up.
PATIENCE: Final = 10.0
#: Words of one command that reads: the bridge gives up a command of more than 100 ms.
_WORDS: Final = 64


class Bus(CommUART):
    """The bus of a system, over a serial port.

    LiteX's class waits for an answer for ever and sends a command in pieces. Here a command goes
    out whole, and one that is not answered ends with an error.

    Parameters
    ----------
    port : str
        The port's name.
    baud : int
        Bits a second.

    Raises
    ------
    WarploomError
        If the port cannot be opened, or fails; from `read`, if no answer comes in `PATIENCE`.
    """

    def __init__(self, port: str, baud: int) -> None:
        self._pieces = b""
        try:
            super().__init__(port, baud)
        except (SerialException, OSError, ValueError) as error:
            number = getattr(error, "errno", None)
            reason = os.strerror(number) if number else error
            raise WarploomError(f"{reason}; legal: sim, or a serial port and its rate") from error
        self.port.timeout = self.port.write_timeout = PATIENCE

    def __enter__(self) -> "Bus":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, addr: int, data: list[int], burst: str = "incr") -> None:
        """Write words; LiteX's bridge does not say whether they were taken."""
        super().write(addr, data, burst)
        self._send()

    def words(self, address: int, count: int) -> NDArray[np.uint32]:
        """Return words from an address on."""
        starts = range(0, count, _WORDS)
        read = [self.read(address + 4 * n, min(_WORDS, count - n)) for n in starts]
        return np.array([word for some in read for word in some], np.uint32)

    def load(self, address: int, words: NDArray[np.uint32]) -> None:
        """Write words and read them back.

        Raises
        ------
        WarploomError
            If one reads otherwise.
        """
        # One piece after the other: the port takes all at once, and would be long in answering.
        for start in range(0, len(words), _WORDS):
            piece, at = words[start : start + _WORDS], address + 4 * start
            self.write(at, piece.tolist())
            found = self.words(at, len(piece))
            for n in np.flatnonzero(found != piece)[:1].tolist():
                read = f"{at + 4 * n:#010x} reads {found[n]:#010x}"
                raise WarploomError(f"{read}; {piece[n]:#010x} was written")

    def _write(self, data: Any) -> None:
        self._pieces += bytes(data)

    def _send(self) -> None:
        command, self._pieces = self._pieces, b""
        with _failures():
            super()._write(command)

    def _read(self, length: int) -> bytes:
        if self._pieces:
            self._send()
        with _failures():
            answer = bytes(self.port.read(length))
        if len(answer) < length:
            raise WarploomError(f"no answer in {PATIENCE:g} s; is LiteX's bridge there?")
        return answer

    def _flush(self) -> None:
        with _failures():
            super()._flush()


@contextmanager
def _failures() -> Iterator[None]:
    """Let a port that fails, such as one that is pulled out, be refused as any other."""
    try:
        yield
    except (SerialException, OSError) as error:
        raise WarploomError(f"the port failed: {error}") from error
