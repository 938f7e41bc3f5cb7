"""Yosys: how its scripts are run."""

import os
import subprocess
import sys
from pathlib import Path

from warploom_sim.failure import ProgramError


def run_yosys(name: str, script: str, folder: Path) -> None:
    """Run a script in a folder; its log is ``<name>.log``.

    Raises
    ------
    ProgramError
        If it fails; with the log's end.
    """
    (folder / f"{name}.ys").write_text(script)
    code = f"from pyosys import libyosys as y; y.run_pass('script {name}.ys', y.Design())"
    with (folder / f"{name}.log").open("w") as log:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
    if done.returncode:
        tail = (folder / f"{name}.log").read_text()[-1500:]
        raise ProgramError(f"Yosys failed in {folder}:\n{tail}")
