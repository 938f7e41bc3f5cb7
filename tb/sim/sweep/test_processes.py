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
LIMIT_S = 120
MAIN = ("-c", "from warploom_sim.cli import main; main()")
#: History entries and policies that differ make that many runs.
ENTRIES, POLICIES = range(1, 7), ("first_fit", "round_robin", "least_loaded", "freed_first")
RUNS = len(ENTRIES) * len(POLICIES)
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    """Return a trace whose replay takes some tenths of a second."""
    document = random_document(random.Random(seed), 120)
    for event in document["traceEvents"]:
        if event["cat"] == "kernel":
            event["args"]["grid"][0] *= 40
    return write(tmp_path, document)


@pytest.fixture
def started() -> Iterator[Start]:
    """Start processes, and end those that still run."""
    processes: list[subprocess.Popen[str]] = []

    def start(
        *words: object, folder: Path, log: str, first_path: Path | None = None
    ) -> "subprocess.Popen[str]":
        command = [sys.executable, *map(str, words)]
        places = [*([str(first_path)] if first_path else []), *filter(None, sys.path)]
        with (folder / log).open("w") as file:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
                stdout=file,
                stderr=file,
                text=True,
                start_new_session=True,
            )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, f"no {what} within {LIMIT_S} s"
        time.sleep(0.02)


def words(trace: Path) -> list[object]:
    fields = f"history_entries={','.join(map(str, ENTRIES))}"
    options = ["--config", "tiny", "--set", fields, "--policy", ",".join(POLICIES)]
    return [*MAIN, "compare", trace, *options, "--seed", 1, "--results", "runs", "--json", "f.json"]


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
        assert (row["cycles"], row["stalls"]) == ([run.cycles], run.stalls)


def scheduler_in(folder: Path, started: Start) -> tuple["subprocess.Popen[str]", str]:
    """Start a scheduler; return it with its address."""
    file = folder / "scheduler.json"
    command = ["-m", "distributed.cli.dask_scheduler", "--port", 0, "--host", "127.0.0.1"]
    command += ["--no-dashboard", "--scheduler-file", file]
    process = started(*command, folder=folder, log="scheduler.log")
    until(lambda: file.exists() and file.read_text().endswith("}"), "scheduler")
    return process, json.loads(file.read_text())["address"]


def worker_of(where: str) -> list[object]:
    """Return the words that start a worker which nobody starts again."""
    command = ["-m", "distributed.cli.dask_worker", where, "--no-nanny", "--nthreads", 1]
    return [*command, "--no-dashboard"]


@pytest.mark.thorough
def test_a_worker_that_is_killed_half_way(tmp_path: Path, trace: Path, started: Start) -> None:
    """A scheduler and two workers, each a process; one worker dies while it has a run."""
    _, where = scheduler_in(tmp_path, started)
    workers = [started(*worker_of(where), folder=tmp_path, log=f"w{n}.log") for n in range(2)]
    client = started(*words(trace), "--scheduler", where, folder=tmp_path, log="client.log")
    until(lambda: kept(tmp_path) >= RUNS // 3, "rows")
    workers[0].kill()
    assert kept(tmp_path) < RUNS
    assert client.wait(LIMIT_S) == 0, (tmp_path / "client.log").read_text()
    assert workers[0].wait() == -signal.SIGKILL
    assert workers[1].poll() is None
    assert_each_run_once(tmp_path, trace)


@pytest.mark.deep
def test_a_comparison_that_is_killed_goes_on(tmp_path: Path, trace: Path, started: Start) -> None:
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
    gone, alive = psutil.wait_procs(children, LIMIT_S)
    assert (len(gone), alive) == (len(children), [])
    again = started(*command, folder=tmp_path, log="again.log")
    assert again.wait(LIMIT_S) == 0
    said = (tmp_path / "again.log").read_text()
    assert f"{RUNS - before} runs to do, {before} kept in runs" in said
    assert_each_run_once(tmp_path, trace)


@pytest.mark.deep
def test_ctrl_c_ends_all_and_keeps_what_is_done(
    tmp_path: Path, trace: Path, started: Start
) -> None:
    """The screen sends the signal to the workers as well: they leave it to the command."""
    command = [*words(trace), "--workers", 2]
    # What a shell runs in the background ignores SIGINT, with all that it starts.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command[1] = heeding + str(command[1])
    client = started(*command, folder=tmp_path, log="client.log")
    until(lambda: kept(tmp_path) >= 2, "rows")
    children = psutil.Process(client.pid).children(recursive=True)
    os.killpg(client.pid, signal.SIGINT)
    assert client.wait(LIMIT_S) == 130
    said = (tmp_path / "client.log").read_text().splitlines()
    rows = len(pyarrow.parquet.read_table(tmp_path / "runs"))
    assert said[0] == f"{RUNS} runs to do, 0 kept in runs"
    # A row that is finished while the signal comes may be kept, and not yet be counted.
    assert said[-1] in [
        f"Interrupted; {n} of {RUNS} runs are kept in runs: the same command goes on from there"
        for n in (rows, rows - 1)
    ]
    gone, alive = psutil.wait_procs(children, LIMIT_S)
    assert (len(gone), alive) == (len(children), [])
    assert len(pyarrow.parquet.read_table(tmp_path / "runs")) == kept(tmp_path) < RUNS


@pytest.mark.deep
def test_a_scheduler_that_dies_is_one_line(tmp_path: Path, trace: Path, started: Start) -> None:
    scheduler, where = scheduler_in(tmp_path, started)
    started(*worker_of(where), folder=tmp_path, log="worker.log")
    client = started(*words(trace), "--scheduler", where, folder=tmp_path, log="client.log")
    until(lambda: kept(tmp_path) >= 2, "rows")
    scheduler.kill()
    assert client.wait(LIMIT_S) == 3
    said = (tmp_path / "client.log").read_text().splitlines()
    assert said[-1].startswith("Error: the scheduler went away; ")
    assert f"{kept(tmp_path)} of {RUNS} runs are kept in runs: the same command goes on" in said[-1]
    assert len(said) == 2


@pytest.mark.deep
def test_a_scheduler_without_workers_is_refused(
    tmp_path: Path, trace: Path, started: Start
) -> None:
    _, where = scheduler_in(tmp_path, started)
    client = started(*words(trace), "--scheduler", where, folder=tmp_path, log="client.log")
    assert client.wait(LIMIT_S) == 2
    said = (tmp_path / "client.log").read_text().splitlines()
    assert "which has no worker within 10 s; run: dask worker" in said[-1]
    assert not (tmp_path / "runs").exists()


@pytest.mark.deep
def test_a_worker_of_another_version_is_refused(
    tmp_path: Path, trace: Path, started: Start
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    patch = "import warploom_sim.sweep.plan as plan; plan.made_by = lambda rtl: 'other'"
    (other / "sitecustomize.py").write_text(patch)
    _, where = scheduler_in(tmp_path, started)
    started(*worker_of(where), folder=tmp_path, log="worker.log", first_path=other)
    client = started(*words(trace), "--scheduler", where, folder=tmp_path, log="client.log")
    assert client.wait(LIMIT_S) == 3
    said = (tmp_path / "client.log").read_text().splitlines()
    assert said[-1].startswith("Error: a worker has other sources of Warploom than this machine")
    assert not (tmp_path / "runs").exists()


@pytest.mark.deep
def test_a_model_that_is_wrong_is_found_by_the_rtl(
    tmp_path: Path, trace: Path, started: Start
) -> None:
    """In every process that runs the model a block is one cycle longer."""
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    patch = "import warploom_golden.replay.block_length as b; right = b.block_lengths;"
    patch += " b.block_lengths = lambda *words: right(*words) + 1"
    (wrong / "sitecustomize.py").write_text(patch)
    options = ["--config", "tiny", "--policy", "first_fit", "--rtl", "--sim", "icarus"]
    # At the recorded lengths Icarus would take minutes.
    options += ["--launches", 9, "--time-scale", "1/32", "--seed", 1]
    command = [*MAIN, "compare", trace, *options, "--results", "runs", "--json", "f.json"]
    client = started(*command, folder=tmp_path, log="client.log", first_path=wrong)
    assert client.wait(LIMIT_S) == 1
    said = (tmp_path / "client.log").read_text()
    assert "first mismatch: " in said
    assert f"again with: warploom sim {trace} " in said
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "f.json").exists()
