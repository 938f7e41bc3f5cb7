"""Standard output and standard error that may be closed, or whose reader may leave early."""

import os
import sys
from typing import Any, Final, TextIO

_DESCRIPTORS: Final = {"stdin": 0, "stdout": 1, "stderr": 2}


class UnreadStream:
    """A text stream whose reader may leave: what is written from then on goes nowhere.

    A command goes on to its end: its files are written, and its exit code says what it found.

    Parameters
    ----------
    stream : TextIO
        The stream.
    unread : type of OSError
        Failures after which nobody reads it; others are raised.

    Attributes
    ----------
    failed : bool
        A failure was raised.
    """

    def __init__(self, stream: TextIO, unread: type[OSError] = BrokenPipeError):
        self._stream, self._unread = stream, unread
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text; return how many characters."""
        try:
            return self._stream.write(text)
        except self._unread:
            self.drop()
            return len(text)
        except OSError:
            self.failed = True
            raise

    def flush(self) -> None:
        """Hand on what was written."""
        try:
            self._stream.flush()
        except self._unread:
            self.drop()
        except OSError:
            self.failed = True
            raise

    def drop(self) -> None:
        """Let what was not written yet go nowhere, and what comes."""
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
            # A message that cannot be written has no other place.
            unread = OSError if name == "stderr" else BrokenPipeError
            setattr(sys, name, UnreadStream(stream, unread))


def finish_output() -> None:
    """Write what standard output holds back, while a failure has words and an exit code.

    What it could not take before is given up: Python would try once more at its end.

    Raises
    ------
    OSError
        If it cannot be written, and this was not raised before.
    """
    output = sys.stdout
    if isinstance(output, UnreadStream):
        try:
            if not output.failed:
                output.flush()
        finally:
            if output.failed:
                output.drop()


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
