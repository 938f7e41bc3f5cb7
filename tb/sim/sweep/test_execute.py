"""A comparison's runs: each trace is read once, no block is kept, figures are the replay's."""

import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tb.support.trace_files import document, large_document, random_document, write
from warploom_sim import replay
from warploom_sim.replay import replay_job
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.sweep import execute as executing
from warploom_sim.sweep.execute import execute
from warploom_sim.sweep.plan import plan
from warploom_sim.sweep.run_figures import run_figures
from warploom_sim.traces.trace_reader import Trace

#: A mebibyte, in what `getrusage` counts.
MIB = 1024


def row_of(trace: Path, **given: Any) -> dict[str, Any]:
    (run,) = plan((trace,), {name: (value,) for name, value in given.items()})
    row = execute(run, trace.read_bytes()).row
    assert row is not None
    return row


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"contention": "none", "kill_every": 2, "reclaim": "in_order"},
        {"arrivals": "trace", "time_scale": Fraction(1, 64)},
        {"time_scale": Fraction(1, 4096), "contention": "none"},
    ],
    ids=["contention", "kills", "arrivals", "short"],
)
def test_figures_of_pieces_are_those_of_the_whole(
    tmp_path: Path, seed: int, given: dict[str, Any]
) -> None:
    trace = write(tmp_path, random_document(random.Random(seed), 24))
    whole = run_figures(replay(trace, "tiny", **given))
    row = row_of(trace, config="tiny", **given)
    assert {name: row[name] for name in whole} == whole
    assert whole["blocks"] > 0


def test_a_process_reads_each_trace_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    read_it = replay_job.read_trace

    def counted(request: ReplayRequest) -> Trace:
        read.append(request.trace.name)
        return read_it(request)

    monkeypatch.setattr(replay_job, "read_trace", counted)
    monkeypatch.setattr(executing, "_read", {})
    one, other = write(tmp_path, document()), tmp_path / "other.json"
    other.write_text(one.read_text() + "\n")
    runs = plan((one, other), {"config": ("tiny",), "seed": (1, 2, 3)})
    for run in runs:
        assert execute(run, run.trace.read_bytes()).row is not None
    assert read == [one.name, other.name]


@pytest.mark.deep
def test_2_24_blocks_and_more_take_less_than_a_gigabyte(tmp_path: Path) -> None:
    """In a process of its own, whose largest memory counts, with all that it imports."""
    trace = write(tmp_path, large_document())
    script = (
        "import resource, sys; from pathlib import Path;"
        " from warploom_sim.sweep.plan import plan;"
        " from warploom_sim.sweep.execute import execute;"
        " path = Path(sys.argv[1]); (run,) = plan((path,), {'config': ('large',)});"
        " row = execute(run, path.read_bytes()).row;"
        " print(row['blocks'], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, trace], capture_output=True, text=True, check=True
    )
    blocks, kib = map(int, done.stdout.split())
    assert blocks == 2 * 9 * 2**20 > 2**24
    assert kib < 1024 * MIB
