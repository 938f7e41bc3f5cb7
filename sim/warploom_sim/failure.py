"""What is raised when a program that the tool runs fails: neither bad input nor a mismatch."""

import errno
import os
import signal
from pathlib import Path
from typing import Final

#: Ctrl-C, `kill`, and the end of the terminal: a run is interrupted and its files are removed.
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: What the system says when a disk, or the user's share of it, is full.
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
#: Lines of a failed build's output that are shown.
_LAST_LINES: Final = 20
#: Bytes that a disk must still take: more than a file system keeps for a small file.
_PROBE: Final = 1 << 20


class ProgramError(RuntimeError):
    """A simulator, a compiler, a prover failed, or gave what cannot be right.

    The text says which, and ends with what it said or names the file that holds it.
    """


class MismatchError(RuntimeError):
    """RTL and model differ.

    Parameters
    ----------
    *problems : str
        Where, in words.
    """

    @property
    def problems(self) -> tuple[str, ...]:
        """Where RTL and model differ, in words."""
        return self.args

    def __str__(self) -> str:
        return "\n".join(self.problems)


def how_it_ended(returncode: int) -> str:
    """Return in words how a process ended that failed: by which signal, or with which status."""
    if returncode >= 0:
        return f"ended with status {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:  # a real-time signal
        return f"was killed by signal {-returncode}"


def build_failure(what: str, returncode: int, said: str, folder: Path) -> ProgramError:
    """Return the error of a failed build: in one line if the disk is full, else with what it said.

    Parameters
    ----------
    what : str
        The program.
    returncode : int
        As Python's library has it; not 0.
    said : str
        Its output.
    folder : Path
        Where it built.
    """
    how = f"{what} {how_it_ended(returncode)}"
    # A compiler removes what it could not write whole: there may be room again.
    if any(os.strerror(number) in said for number in _FULL) or is_full(folder):
        return ProgramError(f"{how}: no space left on the disk of {folder}")
    return ProgramError("\n".join([how, *said.splitlines()[-_LAST_LINES:]]))


def is_full(folder: Path) -> bool:
    """Tell whether a folder's disk takes no more: one megabyte is written and removed again."""
    probe = folder / "probe"
    try:
        with probe.open("wb") as file:
            file.write(bytes(_PROBE))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno in _FULL
    finally:
        probe.unlink(missing_ok=True)
    return False
