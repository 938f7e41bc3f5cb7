"""Files that Windows tools wrote, with a byte order mark before the text, are read as any other."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb.merging.test_merge_command import PAGE as MERGE_PAGE
from warploom_sim.methods.merge.task_file import load_tasks
from warploom_sim.methods.silicon import recording
from warploom_sim.sweep.launch_difference import read_pairs
from warploom_sim.traces.gpus import named
from warploom_spec import preset

GPU = {"name": "g", "sms": 8, "block_slots": 32, "warp_slots": 64}
GPU |= {"registers": 65536, "shared_bytes": 98304}
RUN = {"trace": "t.json", "cycles": 9, "per_launch": [], "more": []}
TASKS = MERGE_PAGE.read_text().split("```toml\n")[1].split("```")[0]
(RECORDING,) = Path(__file__).parents[2].glob("silicon/program_1/uniform_1d_2persm.csv.gz")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (json.dumps(GPU), lambda path: named(str(path)).device),
        (json.dumps(RUN), lambda path: read_pairs(path, path)),
        (TASKS, lambda path: load_tasks(path, preset("default"))),
        (gzip.decompress(RECORDING.read_bytes()).decode(), recording.load),
    ],
    ids=["gpu", "run", "tasks", "recording"],
)
def test_a_mark_changes_nothing(tmp_path: Path, text: str, read: Callable[[Path], Any]) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    plain = repr(read(path))
    path.write_text(text, "utf-8-sig")
    assert repr(read(path)) == plain
