"""Which folders of ``build`` stay: the newest of a kind, and those that a process still uses.

A process marks a folder that it uses with a lock file in ``.in_use``, which the system unlocks when
the process ends, however it ends.
"""

import atexit
import os
import shutil
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from warploom_spec import WarploomError

#: Environment variable: how many folders of each kind stay.
KEEP: Final = "WARPLOOM_KEEP_BUILDS"
#: How many stay unless `KEEP` or their kind says otherwise.
KEPT: Final = 32
_MARKS: Final = ".in_use"
_REMOVED: Final = ".removed"

#: Marks of this process, by folder.
_in_use: dict[Path, FileLock] = {}
_in_use_lock: Final = threading.Lock()


def hold(folder: Path) -> None:
    """Mark a folder, which need not exist yet, as in use until this process ends or lets it go."""
    with _in_use_lock, _kind_lock(folder.parent):
        if folder not in _in_use:
            mark = FileLock(_marks(folder.parent) / f"{folder.name}.{uuid.uuid4().hex}")
            mark.acquire()
            _in_use[folder] = mark


def release_folder(folder: Path) -> None:
    """Take this process's mark away; a folder without one is left alone."""
    with _in_use_lock:
        mark = _in_use.pop(folder, None)
    if mark:
        Path(mark.lock_file).unlink(missing_ok=True)
        mark.release()


@atexit.register
def _release_all() -> None:
    for folder in list(_in_use):
        release_folder(folder)


def remove_old(
    kind: Path, default: int = KEPT, is_kept: Callable[[Path], bool] = lambda _: False
) -> None:
    """Remove all folders of a kind but the newest and those in use; say so in one line.

    Safe beside other processes that hold, make and remove folders of the kind.

    Parameters
    ----------
    kind : Path
        The folder that holds them.
    default : int
        How many stay where the environment's `KEEP` does not say so. Those in use count.
    is_kept : callable
        Tells a folder that stays in any case, and does not count.

    Raises
    ------
    WarploomError
        If `KEEP` is not a whole number from 1.
    """
    keep = kept(default)
    with _kind_lock(kind):
        used = set(_names_in_use(kind))
        there = [path for path in kind.iterdir() if path.is_dir() and not is_kept(path)]
        # What a removal that was broken off left behind goes in any case.
        to_remove = [path for path in there if path.suffix == _REMOVED]
        folders = sorted(set(there) - set(to_remove), key=_changed, reverse=True)
        # Nobody finds a renamed folder: its files go without the lock.
        to_remove += [
            path.rename(kind / f"{uuid.uuid4().hex}{_REMOVED}")
            for path in folders[keep:]
            if path.name.partition(".")[0] not in used
        ]
    size = sum(_size(folder) for folder in to_remove)
    for folder in to_remove:
        shutil.rmtree(folder, ignore_errors=True)
    if to_remove:
        many = f"{len(to_remove)} old folder{'s' * (len(to_remove) > 1)}"
        print(
            f"removed {many} ({size / 1e6:.1f} MB) of {os.path.relpath(kind)}:"
            f" the newest {keep} stay ({KEEP})",
            file=sys.stderr,
            flush=True,
        )


def kept(default: int = KEPT) -> int:
    """Return how many folders of a kind stay.

    Raises
    ------
    WarploomError
        If `KEEP` is not a whole number from 1.
    """
    text = os.environ.get(KEEP) or str(default)
    if not text.isdecimal() or not int(text):
        raise WarploomError(f"{KEEP} is {text!r}; legal: a whole number from 1")
    return int(text)


def _marks(kind: Path) -> Path:
    """Return the folder with the marks of a kind."""
    return kind.parent / _MARKS / kind.name


def _kind_lock(kind: Path) -> FileLock:
    """Return the lock under which folders of a kind are marked and chosen for removal."""
    marks = _marks(kind)
    marks.mkdir(parents=True, exist_ok=True)
    return FileLock(marks.with_suffix(".lock"))


def _names_in_use(kind: Path) -> Iterator[str]:
    """Give the names of the folders in use, up to a dot; remove the marks of dead processes."""
    for path in _marks(kind).iterdir():
        try:
            with FileLock(path, timeout=0):
                path.unlink(missing_ok=True)
        except Timeout:
            yield path.name.partition(".")[0]


def _changed(folder: Path) -> float:
    """Return when a folder was used last; 0 if another run has just removed it."""
    with suppress(FileNotFoundError):
        return folder.stat().st_mtime
    return 0.0


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
