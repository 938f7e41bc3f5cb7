"""Small replays in a folder of their own."""

import os
import sys
from pathlib import Path

import pytest

from tb.support.trace_files import call, document, kernel, write

ROOT = Path(__file__).parents[3]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a trace of twenty small launches."""
    events = [event for n in range(20) for event in (call(n, float(n)), kernel(n, 1000.0 + 5 * n))]
    return write(tmp_path, document() | {"traceEvents": events})


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder of the test's own, with what others have built before."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    (tmp_path / "build").mkdir()
    for name in ("replay-verilog", "replay-icarus"):
        common = ROOT / "build" / name
        common.mkdir(parents=True, exist_ok=True)
        (tmp_path / "build" / name).symlink_to(common)


@pytest.fixture
def own_build(own_folder: None, tmp_path: Path) -> None:
    """Build anew: what a test plants must stay its own."""
    for name in ("replay-verilog", "replay-icarus"):
        (tmp_path / "build" / name).unlink()
