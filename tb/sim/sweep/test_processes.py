"""Comparisons over processes: a scheduler, workers, and what is left when one of them is killed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow.parquet
import pytest

from tb.support.trace_files import random_document, write
from warploom_sim import replay

#: Seconds after which a test gives up.
PATIENCE = 120
MAIN = ("-c", "from warploom_sim.cli import main; main()")
#: History entries and policies that differ make that many runs.
ENTRIES, POLICIES = range(1, 7), ("first_fit", "round_robin", "least_loaded", "freed_first")
RUNS = len(ENTRIES) * len(POLICIES)


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    """Return a trace whose replay takes some tenths of a second."""
    document = random_document(random.Random(seed), 120)
    for event in document["traceEvents"]:
        if event["cat"] == "kernel":
            event["args"]["grid"][0] *= 40
    return write(tmp_path, document)


@pytest.fixture
def started() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start processes, and end those that still run."""
    processes: list[subprocess.Popen[str]] = []

    def start(*words: object, folder: Path, log: str) -> "subprocess.Popen[str]":
        command = [sys.executable, *map(str, words)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with (folder / log).open("w") as file:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=file, stderr=file, text=True
            )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"no {what} within {PATIENCE} s"
        time.sleep(0.02)


def words(trace: Path) -> list[object]:
    fields = f"history_entries={','.join(map(str, ENTRIES))}"
    options = ["--config", "tiny", "--set", fields, "--policy", ",".join(POLICIES)]
    return [*MAIN, "compare", trace, *options, "--results", "runs", "--json", "f.json"]


def kept(folder: Path) -> int:
    return len([*(folder / "runs").glob("*.parquet")])


def assert_each_run_once(folder: Path, trace: Path) -> None:
    """Demand a row for each run, none double, and the figures of a few."""
    expected = {(policy, f"history_entries={n}") for policy in POLICIES for n in ENTRIES}
    rows = pyarrow.parquet.read_table(folder / "runs").to_pylist()
    counts = Counter((row["policy"], *row["set"]) for row in rows)
    assert counts == Counter(expected)
    written = json.loads((folder / "f.json").read_text())
    assert len(written) == RUNS
    for row in written[:: RUNS // 3]:
        run = replay(trace, "tiny", policy=row["policy"], history_entries=int(*row["set"].values()))
        assert (row["cycles"], row["stalls"]) == (run.cycles, run.stalls)


def test_a_worker_that_is_killed_half_way(
    tmp_path: Path, trace: Path, started: Callable[..., "subprocess.Popen[str]"]
) -> None:
    """A scheduler and two workers, each a process; one worker dies while it has a run."""
    address = tmp_path / "scheduler.json"
    dask = ("-m", "distributed.cli")
    scheduler = [f"{dask[1]}.dask_scheduler", "--port", 0, "--host", "127.0.0.1", "--no-dashboard"]
    started("-m", *scheduler, "--scheduler-file", address, folder=tmp_path, log="scheduler.log")
    until(lambda: address.exists() and address.read_text().endswith("}"), "scheduler")
    where = json.loads(address.read_text())["address"]
    worker = (f"{dask[1]}.dask_worker", where, "--no-nanny", "--nthreads", 1, "--no-dashboard")
    workers = [started("-m", *worker, folder=tmp_path, log=f"worker{n}.log") for n in range(2)]
    both = ["--scheduler", where]
    client = started(*words(trace), *both, folder=tmp_path, log="client.log")
    until(lambda: kept(tmp_path) >= RUNS // 3, "rows")
    workers[0].kill()
    assert kept(tmp_path) < RUNS
    assert client.wait(PATIENCE) == 0, (tmp_path / "client.log").read_text()
    assert workers[0].wait() == -signal.SIGKILL
    assert workers[1].poll() is None
    assert_each_run_once(tmp_path, trace)


def test_a_comparison_that_is_killed_goes_on(
    tmp_path: Path, trace: Path, started: Callable[..., "subprocess.Popen[str]"]
) -> None:
    """Its workers end with it, and the same command runs what is missing."""
    command = [*words(trace), "--workers", 2]
    client = started(*command, folder=tmp_path, log="first.log")
    until(lambda: kept(tmp_path) >= RUNS // 3, "rows")
    children = psutil.Process(client.pid).children(recursive=True)
    assert len(children) >= 2
    client.kill()
    client.wait()
    before = kept(tmp_path)
    assert before < RUNS
    assert not (tmp_path / "f.json").exists()
    gone, alive = psutil.wait_procs(children, PATIENCE)
    assert (len(gone), alive) == (len(children), [])
    again = started(*command, folder=tmp_path, log="again.log")
    assert again.wait(PATIENCE) == 0
    said = (tmp_path / "again.log").read_text()
    assert f"{RUNS - before} runs to do, {before} kept in runs" in said
    assert_each_run_once(tmp_path, trace)


@pytest.mark.deep
def test_a_scheduler_that_dies_is_one_line(
    tmp_path: Path, trace: Path, started: Callable[..., "subprocess.Popen[str]"]
) -> None:
    address = tmp_path / "scheduler.json"
    scheduler = ["-m", "distributed.cli.dask_scheduler", "--port", 0, "--host", "127.0.0.1"]
    scheduler += ["--no-dashboard", "--scheduler-file", address]
    process = started(*scheduler, folder=tmp_path, log="scheduler.log")
    until(lambda: address.exists() and address.read_text().endswith("}"), "scheduler")
    where = json.loads(address.read_text())["address"]
    worker = ("-m", "distributed.cli.dask_worker", where, "--no-nanny", "--nthreads", 1)
    started(*worker, "--no-dashboard", folder=tmp_path, log="worker.log")
    command = [*words(trace), "--scheduler", where]
    client = started(*command, folder=tmp_path, log="client.log")
    until(lambda: kept(tmp_path) >= 2, "rows")
    process.kill()
    assert client.wait(PATIENCE) == 3
    said = (tmp_path / "client.log").read_text().splitlines()
    assert said[-1].startswith("Error: the scheduler went away; ")
    assert f"{kept(tmp_path)} of {RUNS} runs are kept in runs: the same command goes on" in said[-1]
    assert len(said) == 2


@pytest.mark.deep
def test_a_scheduler_without_workers_is_refused(
    tmp_path: Path, trace: Path, started: Callable[..., "subprocess.Popen[str]"]
) -> None:
    address = tmp_path / "scheduler.json"
    scheduler = ["-m", "distributed.cli.dask_scheduler", "--port", 0, "--host", "127.0.0.1"]
    scheduler += ["--no-dashboard", "--scheduler-file", address]
    started(*scheduler, folder=tmp_path, log="scheduler.log")
    until(lambda: address.exists() and address.read_text().endswith("}"), "scheduler")
    where = json.loads(address.read_text())["address"]
    client = started(*words(trace), "--scheduler", where, folder=tmp_path, log="client.log")
    assert client.wait(PATIENCE) == 2
    said = (tmp_path / "client.log").read_text().splitlines()
    assert "which has no worker within 10 s; run: dask worker" in said[-1]
    assert not (tmp_path / "runs").exists()
