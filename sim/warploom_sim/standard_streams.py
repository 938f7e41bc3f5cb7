"""Standard output and standard error that may be closed, or whose reader may leave early."""

import os
import sys
from typing import Any, Final, TextIO

_DESCRIPTORS: Final = {"stdin": 0, "stdout": 1, "stderr": 2}


class UnreadStream:
    """A text stream whose reader may leave: what is written from then on goes nowhere.

    A command goes on to its end: its files are written, and its exit code says what it found.
    """

    def __init__(self, stream: TextIO):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text; return how many characters."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def prepare_streams() -> None:
    """Open the standard streams that are closed, and let the readers of the others leave.

    A stream that was replaced, as a test does, stays as it is.
    """
    for name, number in _DESCRIPTORS.items():
        _open_descriptor(number)
        stream = getattr(sys, name)
        if stream is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), "w" if number else "r")
            setattr(sys, name, stream)
        elif number and stream is getattr(sys, f"__{name}__"):
            # What a terminal's encoding has not got, of a file's name say, is a question mark.
            stream.reconfigure(errors="replace")
            setattr(sys, name, UnreadStream(stream))


def _open_descriptor(number: int) -> None:
    """Let no file that is opened later get the number of a standard stream.

    Programs that are started would write into such a file.
    """
    try:
        os.fstat(number)
    except OSError:
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
        os.set_inheritable(number, True)
