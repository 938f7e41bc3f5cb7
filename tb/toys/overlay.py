"""A copy of the product with changes in its files, and Python that runs in it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("spec", "hdl", "golden", "sim", "host", "tools")
#: The driver tests call the C driver as the examples do.
_BESIDE = ("tb", "examples")
_PACKAGES = (".", "spec", "hdl", "golden", "sim", "host/python", "tools", "examples")


@dataclass(frozen=True)
class Edit:
    """One change of one file.

    Attributes
    ----------
    file : str
        Path of the file from the product's root.
    old : str
        Text that stands in the file once.
    new : str
        Text that stands there instead.
    """

    file: str
    old: str
    new: str


def copied(folder: Path, edits: Iterable[Edit]) -> Path:
    """Copy product and tests into a folder and make the changes there."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in (*PRODUCT, *_BESIDE):
        ignored = shutil.ignore_patterns("__pycache__", "binaries")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    (folder / "traces").symlink_to(ROOT / "traces")
    for edit in edits:
        path = folder / edit.file
        text = path.read_text()
        assert text.count(edit.old) == 1, f"{edit.file} has {edit.old!r} {text.count(edit.old)}x"
        path.write_text(text.replace(edit.old, edit.new))
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the copy."""
    paths = os.pathsep.join(str(folder / name) for name in _PACKAGES)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
