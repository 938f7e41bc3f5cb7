"""ABC, the program that proves and searches: where it is, and how it is run."""

import subprocess
from importlib import metadata
from pathlib import Path

from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError


def abc_program() -> Path:
    """Return ABC, which comes with pyosys.

    Raises
    ------
    WarploomError
        If it is not installed; says how.
    """
    try:
        found = Path(str(metadata.distribution("pyosys").locate_file("pyosys/yosys-abc")))
    except metadata.PackageNotFoundError as error:
        raise WarploomError(
            "pyosys is not installed; run: make formal, or pip install 'warploom[formal]'"
        ) from error
    return found.resolve()


def run_abc(script: str, folder: Path) -> str:
    """Run ABC's commands in a folder and return what it printed.

    Raises
    ------
    ProgramError
        If it fails; with the log's end.
    """
    done = subprocess.run([abc_program(), "-c", script], cwd=folder, text=True, capture_output=True)
    if done.returncode:
        raise ProgramError(f"abc failed in {folder} with {script!r}:\n{done.stdout[-1500:]}")
    return done.stdout + done.stderr
