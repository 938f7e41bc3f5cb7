"""A run's figures, and the Parquet files in which they are kept."""

import dataclasses
import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from tb.support.trace_files import random_document, write
from warploom_sim import replay
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import REFUSED
from warploom_sim.sweep.plan import Run, plan
from warploom_sim.sweep.result_folder import ResultFolder
from warploom_sim.sweep.run_figures import (
    EVENT_WAITS,
    GROUPS,
    PERCENTILES,
    percentiles,
    run_figures,
)
from warploom_sim.sweep.table import time_scale_warning
from warploom_spec import WarploomError

#: So many that `tiny` refuses some and runs some, whatever the seed.
LAUNCHES = 24


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    return write(tmp_path, random_document(random.Random(seed), LAUNCHES))


@pytest.fixture
def run(trace: Path) -> Run:
    return plan((trace,), {"config": ("tiny",), "settings": ("sms=3",)})[0]


@pytest.fixture
def result(trace: Path) -> Replay:
    return replay(trace, "tiny", sms=3)


def row_of(run: Run, result: Replay) -> dict[str, Any]:
    return run.identity() | run_figures(result) | dict.fromkeys(EVENT_WAITS, 2) | {"wall_s": 1.5}


def test_percentiles_are_values_that_so_many_do_not_exceed() -> None:
    rng = random.Random(3)
    for count in (1, 2, 3, 19, 20, 21, 100, 101, 1000):
        values = np.array([rng.randrange(50) for _ in range(count)], np.int64)
        found = percentiles(values, np.ones(count, bool))
        for name, share in PERCENTILES.items():
            least = min(
                v for v in values.tolist() if 100 * int((values <= v).sum()) >= share * count
            )
            assert found[name] == least, (count, name)
    some = percentiles(np.array([1, 2, 900]), np.array([True, True, False]))
    assert some == {"p50": 1, "p95": 2, "p99": 2}
    assert percentiles(np.zeros(2, np.int64), np.zeros(2, bool)) == dict.fromkeys(PERCENTILES)


def test_figures_are_the_replays(result: Replay) -> None:
    figures = run_figures(result)
    done = [n for n, fate in enumerate(result.launches.fate) if fate != REFUSED]
    latency = sorted(int(result.launches.end[n] - result.launches.arrival[n]) for n in done)
    assert figures["latency"]["p50"] == latency[math.ceil(0.5 * len(latency)) - 1]
    assert figures["latency"]["p99"] == latency[-1]
    assert figures["refused"] == LAUNCHES - len(done) > 0
    assert figures["blocks"] == len(result.blocks) > 0
    assert figures["cycles"] == result.cycles
    assert figures["stalls"] == dict(result.stalls)
    assert figures["occupancy"]["warps"] == round(result.occupancy["warps"], 4) > 0
    assert {name: tuple(figures[name]) for name in GROUPS} == GROUPS


def test_a_time_scale_below_1_is_warned_of_where_it_limits(trace: Path) -> None:
    """Blocks of one cycle leave the SMs empty; at the recorded lengths nothing is warned of."""
    document = json.loads(trace.read_text())
    for event in document["traceEvents"]:
        if event["cat"] == "kernel":
            event["args"] |= {"grid": [400, 1, 1], "block": [32, 1, 1], "registers per thread": 16}
            event["args"] |= {"shared memory": 0}
            event["dur"] = 20.0
    trace.write_text(json.dumps(document))
    rows = []
    for scale in ("1", "1/4096"):
        (run,) = plan((trace,), {"time_scale": (Fraction(scale),)})
        rows.append(row_of(run, replay(trace, time_scale=scale)))
    assert rows[0]["rate_by_time_scale"] == 0
    assert time_scale_warning(rows[:1]) == ""
    share = rows[1]["rate_by_time_scale"]
    assert share > 0.1
    warning = time_scale_warning(rows)
    assert warning.startswith(
        f"time scale 1/4096: for up to {share:.1%} of a run the dispatch rate"
    )
    assert "\n" not in warning


def test_a_row_comes_back_as_it_was(tmp_path: Path, run: Run, result: Replay) -> None:
    results = ResultFolder(tmp_path / "runs", "a")
    assert results.read(run) is None
    row = row_of(run, result)
    results.write(run, row)
    results.write(run, row)
    # Another process has another object of the same run.
    again = ResultFolder(tmp_path / "runs", "a").read(dataclasses.replace(run))
    assert again == row
    assert [*again] == [*row]
    table = pyarrow.parquet.read_table(tmp_path / "runs")
    (flat,) = table.to_pylist()
    assert flat["set"] == ["sms=3"]
    assert (flat["cycles"], flat["stalls_order"]) == (row["cycles"], row["stalls"]["order"])
    assert flat["latency_p99"] == row["latency"]["p99"]


def test_rows_without_any_finished_launch_are_kept(
    tmp_path: Path, run: Run, result: Replay
) -> None:
    results = ResultFolder(tmp_path, "a")
    row = row_of(run, result) | {"latency": dict.fromkeys(PERCENTILES)}
    results.write(run, row)
    assert results.read(run) == row


def test_rows_of_other_sources_are_made_anew(tmp_path: Path, run: Run, result: Replay) -> None:
    folder = tmp_path / "runs"
    ResultFolder(folder, "old").write(run, row_of(run, result))
    new = ResultFolder(folder, "new")
    assert new.read(run) is None
    new.write(run, row_of(run, result))
    assert new.read(run) is not None
    (row,) = pyarrow.parquet.read_table(folder).to_pylist()
    assert row["sources"] == "new"


def test_a_broken_file_is_refused_by_its_name(tmp_path: Path, run: Run, result: Replay) -> None:
    results = ResultFolder(tmp_path / "runs", "a")
    results.write(run, row_of(run, result))
    (file,) = (tmp_path / "runs").iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(WarploomError, match=f"{file.name} is no row of a comparison"):
        results.read(run)


def test_an_unfinished_file_is_no_row(
    tmp_path: Path, run: Run, result: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between writing and renaming: readers of the folder pass it over."""
    results = ResultFolder(tmp_path / "runs", "a")

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", killed)
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        with pytest.raises(SystemExit):
            results.write(run, row_of(run, result))
    (left,) = (tmp_path / "runs").iterdir()
    assert left.stat().st_size > 0
    assert results.read(run) is None
    results.write(run, row_of(run, result))
    assert len(pyarrow.parquet.read_table(tmp_path / "runs")) == 1
