"""``warploom compare`` as it is typed: table, JSON, plot, results that are kept, refusals."""

import json
import random
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from tb.support.trace_files import document, random_document, waiting_document, write
from warploom_sim import cli, replay, screen
from warploom_sim.failure import MismatchError, ProgramError
from warploom_sim.sweep import cluster, comparison
from warploom_sim.sweep.execute import Finished, execute
from warploom_sim.sweep.run_figures import run_figures
from warploom_spec import RESOURCES, STALL_CAUSES, WarploomError

POLICIES = ("first_fit", "least_loaded")
RECLAIMS = ("in_order", "out_of_order")
ONE = ("--config", "tiny", "--seed", 1)


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    return write(tmp_path, random_document(random.Random(seed), 10))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run in this process instead of a cluster; list the policies of what runs."""
    ran: list[str] = []

    @contextmanager
    def connected(*_: object) -> Iterator[None]:
        yield None

    def finished(_: object, runs: Any, sources: str) -> Iterator[Any]:
        for run in reversed(runs):  # in another order than was asked for
            ran.append(run.config.policy)
            yield run, execute(run, run.trace.read_bytes())

    # A worker shows no progress; here it is this process, which does.
    monkeypatch.setattr(screen, "be_quiet", lambda: None)
    monkeypatch.setattr(comparison, "connect", connected)
    monkeypatch.setattr(comparison, "finished_runs", finished)
    return ran


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(cli.main, ["compare", *map(str, arguments)], catch_exceptions=False)


def rows_of(figures: Path) -> list[dict[str, Any]]:
    """Return a comparison's rows, each of one seed: cycles as one number."""
    rows: list[dict[str, Any]] = json.loads(figures.read_text())
    for row in rows:
        (row["cycles"],) = row["cycles"]
    return rows


@pytest.mark.thorough
def test_every_combination_on_a_cluster_of_this_machine(tmp_path: Path, trace: Path) -> None:
    """The real thing, in a process of its own: two workers, eight runs, all outputs."""
    command = [sys.executable, "-c", "from warploom_sim.cli import main; main()", "compare", trace]
    options = "--config tiny --policy first_fit,least_loaded --reclaim in_order,out_of_order"
    options += (
        " --seeds 1 --set sms=2,3 --workers 2 --results runs --json runs.json --plot runs.svg"
    )
    done = subprocess.run(
        [*command, *options.split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    first, *lines = done.stderr.splitlines()
    assert (done.returncode, first) == (0, "8 runs to do, 0 kept in runs")
    # However long it takes: the client alone says how far it is.
    told = re.compile(r"runs: [0-8] of 8, \d+%, \d+ s(, about \d+ s left)?")
    assert all(told.fullmatch(line) for line in lines)
    rows = rows_of(tmp_path / "runs.json")
    keys = [(row["set"]["sms"], row["policy"], row["reclaim"]) for row in rows]
    assert keys == [(s, p, r) for s in "23" for p in POLICIES for r in RECLAIMS]
    for row in rows:
        fields = {"policy": row["policy"], "reclaim": row["reclaim"]}
        figures = run_figures(replay(trace, "tiny", sms=int(row["set"]["sms"]), **fields))
        assert {name: row[name] for name in figures} == figures
        assert row["trace"] == trace.name
        assert (row["config"], row["contention"], row["time_scale"]) == ("tiny", "sharing", 1)
        assert [*row["occupancy"]] == [*RESOURCES]
        assert [*row["stalls"]] == [*STALL_CAUSES]
        assert row["wall_s"] > 0
        assert f"{row['cycles']:,}" in done.stdout
    kept = pyarrow.parquet.read_table(tmp_path / "runs").to_pylist()
    found = sorted((row["set"], row["policy"], row["reclaim"], row["cycles"]) for row in kept)
    assert found == sorted(
        ([f"sms={row['set']['sms']}"], row["policy"], row["reclaim"], row["cycles"]) for row in rows
    )
    # Into a pipe the table is plain.
    assert done.stdout.isascii()
    drawn = (tmp_path / "runs.svg").read_text()
    assert all(f">{name}<" in drawn or name in drawn for name in ("trace", "p95"))


def test_kept_runs_do_not_run_again(tmp_path: Path, trace: Path, here: list[str]) -> None:
    results, figures = tmp_path / "runs", tmp_path / "f.json"
    options = (trace, *ONE, "--results", results, "--json", figures)
    assert compare(*options, "--policy", "first_fit,round_robin").exit_code == 0
    assert here == ["round_robin", "first_fit"]
    first = rows_of(figures)
    more = compare(*options, "--policy", "least_loaded,first_fit,round_robin")
    assert here[2:] == ["least_loaded"]
    assert "1 runs to do, 2 kept in" in more.stderr
    again = rows_of(figures)
    assert [row["policy"] for row in again] == ["least_loaded", "first_fit", "round_robin"]
    for row in (*first, *again):
        assert row.pop("told_apart_from_first") is False
        assert row.pop("runs_per_minute") > 0
        del row["change_percent"]
    assert again[1:] == first
    # Other seeds, launches or time scales are other runs.
    for other in (("--seed", 9), ("--launches", 3), ("--time-scale", "1/64")):
        assert compare(*options, "--policy", "first_fit", *other).exit_code == 0
    assert here[3:] == ["first_fit"] * 3
    assert len(pyarrow.parquet.read_table(results)) == 6


def test_one_device_and_kernels_without_a_call(tmp_path: Path, here: list[str]) -> None:
    content = random_document(random.Random(1), 30)
    content["deviceProperties"].append(content["deviceProperties"][0] | {"id": 1})
    kernels = [event for event in content["traceEvents"] if event["cat"] == "kernel"]
    for event in kernels[::2]:
        event["args"]["device"] = 1
    kernels[1]["args"]["correlation"] = 10_000
    trace, figures = write(tmp_path, content), tmp_path / "f.json"
    options = (trace, *ONE, "--results", tmp_path / "runs", "--json", figures)
    result = compare(*options, "--device", 0)
    assert result.exit_code == 0
    (row,) = rows_of(figures)
    assert (row["device"], row["launches"]) == (0, 14)
    assert row["cycles"] == replay(trace, "tiny", device=0).cycles
    assert '("kernel1")' in result.stderr.splitlines()[0]
    figures.unlink()
    for refused in (("--strict",), ("--device", 7)):
        result = compare(*options, *refused)
        assert (result.exit_code, figures.exists(), len(here)) == (2, False, 1)


def test_contention_with_each_knee(tmp_path: Path, trace: Path, here: list[str]) -> None:
    figures = tmp_path / "f.json"
    options = (trace, *ONE, "--results", tmp_path / "runs", "--json", figures)
    result = compare(*options, "--contention", "none,sharing", "--knee", "1,2,65535")
    rows = rows_of(figures)
    assert [(row["contention"], row["knee"]) for row in rows] == [
        ("none", None),
        *(("sharing", knee) for knee in (1, 2, 65535)),
    ]
    for row in rows[1:]:
        run = replay(trace, "tiny", contention="sharing", knee=row["knee"])
        assert (row["cycles"], row["stalls"]) == (run.cycles, run.stalls)
    # A knee above all warps is no contention.
    assert rows[3]["cycles"] == rows[0]["cycles"] != rows[1]["cycles"]
    assert "65535" in result.stdout
    assert len(here) == 4


def test_events_and_priorities(tmp_path: Path, here: list[str]) -> None:
    trace = write(tmp_path, waiting_document(random.Random(3), 30, 5))
    figures, results = tmp_path / "f.json", tmp_path / "runs"
    options = (trace, *ONE, "--results", results, "--json", figures)
    more = ("--events", "keep,ignore", "--priority", "1=3", "--priority", "0=2")
    result = compare(*options, *more)
    assert result.exit_code == 0, result.output
    assert "event waits kept" in result.stderr and "event waits ignored" in result.stderr
    rows = rows_of(figures)
    assert [(row["events"], row["priority"]) for row in rows] == [
        ("keep", "0=2 1=3"),
        ("ignore", "0=2 1=3"),
    ]
    for row in rows:
        run = replay(trace, "tiny", events=row["events"], priorities=("0=2", "1=3"))
        assert (row["cycles"], row["stalls"]) == (run.cycles, run.stalls)
        assert row["event_waits_kept"] == run.event_waits_kept
        assert row["event_waits_ignored"] == run.event_waits_ignored
    assert rows[0]["cycles"] != rows[1]["cycles"]
    assert rows[0]["event_waits_kept"] == rows[1]["event_waits_ignored"] > 0
    kept = pyarrow.parquet.read_table(results).to_pylist()
    assert {row["priority"] for row in kept} == {"0=2 1=3"}
    waits = {(row["event_waits_kept"], row["event_waits_ignored"]) for row in kept}
    assert waits == {(row["event_waits_kept"], row["event_waits_ignored"]) for row in rows}
    assert len(here) == 2


def test_arrivals_and_kills(tmp_path: Path, trace: Path, here: list[str]) -> None:
    content = json.loads(trace.read_text())
    for number, call in enumerate(content["traceEvents"][::2]):
        call["ts"] = 20.0 * number
    trace.write_text(json.dumps(content))
    figures = tmp_path / "f.json"
    options = (trace, *ONE, "--results", tmp_path / "runs", "--json", figures)
    result = compare(*options, "--arrivals", "none,trace", "--kill-every", 2)
    rows = rows_of(figures)
    assert [(row["arrivals"], row["kill_every"]) for row in rows] == [("none", 2), ("trace", 2)]
    for row in rows:
        run = replay(trace, "tiny", arrivals=row["arrivals"], kill_every=2)
        assert (row["cycles"], row["latency"]) == (run.cycles, run_figures(run)["latency"])
    assert rows[0]["cycles"] < 9 * 20 * 1980 < rows[1]["cycles"]
    # The title is broken where the table below it is narrow.
    assert "kill every 2" in " ".join(result.stdout.split())
    assert "arrivals" in result.stdout and "trace" in result.stdout
    # What is kept has them, too.
    assert compare(*options, "--arrivals", "trace", "--kill-every", 2).exit_code == 0
    (kept,) = rows_of(figures)
    assert kept.pop("runs_per_minute") is None
    assert rows[1].pop("runs_per_minute") > 0
    assert (kept, len(here)) == (rows[1], 2)
    assert compare(*options).exit_code == 0
    (other,) = rows_of(figures)
    assert (other["kill_every"], other["arrivals"], len(here)) == (None, "none", 3)


def test_kills_that_kill_nobody_are_said(tmp_path: Path, trace: Path, here: list[str]) -> None:
    """Of one number nobody is killed, of the other one somebody: by command and from Python."""
    figures, table, many = tmp_path / "f.json", tmp_path / "t.csv", 10_000
    options = (trace, *ONE, "--results", tmp_path / "runs", "--json", figures)
    result = compare(*options, "--kill-every", f"1,{many}", "--csv", table)
    assert table.read_text().count("killed nobody") == 1
    some, none = rows_of(figures)
    said = f"kill_every {many} killed nobody: launches are numbered from 0 to"
    assert none["killed"] == 0 and none["killed_nobody"].startswith(said)
    assert some["killed"] > 0 and some["killed_nobody"] is None
    assert result.stderr.count("killed nobody") == result.stderr.count(f"{trace.name}: {said}") == 1
    found = {every: replay(trace, "tiny", kill_every=every) for every in (None, 1, many)}
    assert found[many].killed_nobody == none["killed_nobody"]
    assert found[None].killed_nobody == found[1].killed_nobody == ""


@pytest.mark.thorough
def test_allocators_and_what_they_hit(tmp_path: Path, trace: Path, here: list[str]) -> None:
    content = json.loads(trace.read_text())
    # Two shapes by turns, in one stream: a shared address misses at every launch.
    kernels = [event for event in content["traceEvents"] if event["cat"] == "kernel"]
    for number, kernel in enumerate(kernels):
        kernel["args"] |= {"block": [32 + 32 * (number % 2), 1, 1], "grid": [2, 1, 1], "stream": 7}
        kernel["args"] |= {"registers per thread": 16, "shared memory": 0}
    trace.write_text(json.dumps(content))
    figures = tmp_path / "f.json"
    options = (trace, *ONE, "--results", tmp_path / "runs", "--json", figures)
    result = compare(*options, "--allocator", "shared,frequent,own")
    rows = rows_of(figures)
    assert [row["allocator"] for row in rows] == ["shared", "frequent", "own"]
    launches = len(kernels)
    assert [row["history_hits"] for row in rows] == [0, launches - 4, launches - 2]
    share = f"{100 * (launches - 2) / launches:.1f}"
    assert share in result.stdout and "hits, %" in result.stdout
    for row in rows:
        run = replay(trace, "tiny", allocator=row["allocator"])
        assert row["history_hits"] == run_figures(run)["history_hits"]
    # What is kept has it, too; where nothing of it differs, the table has no hits.
    again = compare(*options, "--allocator", "own")
    assert rows_of(figures)[0]["cycles"] == rows[2]["cycles"] and len(here) == 3
    assert "hits, %" not in again.stdout
    rtl = compare(*options, "--allocator", "own", "--rtl", "--sim", "icarus")
    assert rtl.exit_code == 0, rtl.output
    assert rows_of(figures)[0]["history_hits"] == launches - 2


def test_a_table_for_several_traces(tmp_path: Path, trace: Path, here: list[str]) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(document()))
    figures = tmp_path / "f.json"
    options = (*ONE, "--results", tmp_path / "runs", "--json", figures)
    result = compare(trace, other, *options, "--policy", "first_fit,freed_first")
    rows = rows_of(figures)
    assert [row["trace"] for row in rows] == [trace.name] * 2 + ["other.json"] * 2
    lines = [line.split("|") for line in result.stdout.splitlines() if "_fi" in line]
    cells = [[cell.strip() for cell in line[1:]] for line in lines]
    for row, line in zip(rows, cells, strict=True):
        first = next(other for other in rows if other["trace"] == row["trace"])
        assert line[:4] == [
            row["trace"].removesuffix(".json"),
            row["policy"],
            f"{row['cycles']:,}",
            f"{100 * (row['cycles'] / first['cycles'] - 1):+.2f}",
        ]
        assert line[4:7] == ["one seed: unknown", "-", f"{row['blocks_per_cycle']:.3f}"]
        assert line[7] == f"{row['error_percent']:+.1f}"
        assert line[8] == " / ".join(f"{n:,}" for n in row["latency"].values())
        assert line[9] == " / ".join(f"{100 * n:.1f}" for n in row["sm_time_lost"].values())
    assert len(cells) == 4


@pytest.mark.thorough
def test_the_rtl_compared(tmp_path: Path, trace: Path, here: list[str]) -> None:
    figures = tmp_path / "f.json"
    options = (trace, *ONE, "--results", tmp_path / "runs", "--json", figures)
    assert compare(*options, "--rtl", "--sim", "icarus").exit_code == 0
    (rtl,) = rows_of(figures)
    assert compare(*options).exit_code == 0
    (model,) = rows_of(figures)
    assert (rtl.pop("engine"), model.pop("engine")) == ("icarus", "model")
    for name in ("wall_s", "runs_per_minute"):
        del rtl[name], model[name]
    assert rtl == model
    assert len(here) == 2


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MismatchError("first mismatch: offers 3"), 1, "first mismatch: offers 3\n"),
        (ProgramError("the simulator ended"), 3, "Error: the simulator ended; 1 of 2 runs are"),
        (WarploomError("trace.json: no"), 2, "Error: trace.json: no\n"),
    ],
)
def test_a_run_that_fails_leaves_the_others(
    tmp_path: Path,
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    here: list[str],
    error: Exception,
    code: int,
    said: str,
) -> None:
    run_it = execute

    def fail(run: Any, content: bytes) -> Finished:
        if run.config.policy == "first_fit":
            return Finished(None, "", str(error), type(error))
        return run_it(run, content)

    monkeypatch.setattr(sys.modules[__name__], "execute", fail)
    figures = tmp_path / "f.json"
    options = (trace, *ONE, "--results", tmp_path / "runs", "--json", figures)
    result = compare(*options, "--policy", "first_fit,round_robin")
    assert (result.exit_code, result.stdout, figures.exists()) == (code, "", False)
    assert said in result.stderr
    (kept,) = pyarrow.parquet.read_table(tmp_path / "runs").to_pylist()
    assert kept["policy"] == "round_robin"


def test_a_runs_own_failure_is_told_with_the_traces_name(tmp_path: Path, trace: Path) -> None:
    """A worker has the trace elsewhere: its messages name the file that the user named."""
    content = document()
    content["traceEvents"][2]["args"]["shared memory"] = 2**20
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(content))
    (run,) = comparison.plan((bad,), {})
    finished = execute(run, bad.read_bytes())
    assert (finished.row, finished.kind) == (None, WarploomError)
    assert finished.error.startswith(f"{bad}: ")


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--policy", "first_fit,x"), "'--policy': 'x'; legal: first_fit, "),
        (("--policy", ""), "'--policy': ''; legal: first_fit, "),
        (("--reclaim", "x"), "'--reclaim': 'x'; legal: in_order, "),
        (("--config", "tiny,huge"), "'--config': 'huge'; legal: tiny, "),
        (("--arrivals", "x"), "'--arrivals': 'x'; legal: none, trace"),
        (("--kill-every", "0"), "'--kill-every': '0'; legal: 1 or more"),
        (("--contention", "x"), "'--contention': 'x'; legal: none, sharing"),
        (
            ("--contention", "none", "--knee", "8"),
            "--knee 8 counts only with --contention sharing; give that, too",
        ),
        (("--contention", "sharing", "--knee", "8,0"), "'--knee': '0'; legal: 1 to 65535"),
        (("--contention", "sharing", "--knee", "x"), "'--knee': 'x'; legal: 1 to 65535"),
        (("--time-scale", "1,0"), "'--time-scale': '0'; legal: a fraction above 0"),
        (("--set", "sms=0"), "sms is 0; legal: 1 to 1024"),
        (("--set", "nothing=1,2"), "field is 'nothing'; legal: sms, "),
        (("--results", "/proc/runs"), "'--results': '/proc/runs' cannot be written"),
        (("--json", "/proc/runs.json"), "'--json': '/proc/runs.json' cannot be written"),
        (("--plot", "runs.txt"), "plot is 'runs.txt'; legal: a name that ends in .png"),
        (("--json", "a.svg", "--plot", "a.svg"), "'--plot': 'a.svg' is what --json writes."),
        (("--scheduler", "nowhere"), "scheduler is 'nowhere', which does not answer within"),
        (("--scheduler", "tcp://127.0.0.1:{port}"), "which does not answer within"),
        (("--scheduler", "udp://127.0.0.1:1"), "scheduler is 'udp://127.0.0.1:1', which does"),
        (("--seeds", "0"), "Invalid value for '--seeds': 0 is not in the range 1<=x<=1000"),
        (("--seeds", "2", "--seed", "1"), "--seeds stands for seeds 1 to N, --seed names them"),
        (("--csv", "/proc/runs.csv"), "'--csv': '/proc/runs.csv' cannot be written"),
        (("--csv", "a.svg", "--plot", "a.svg"), "is what --"),
        (("--top", "x"), "'--top': 'x' is not a valid whole number"),
    ],
)
def test_what_is_refused_is_one_line_and_leaves_nothing(
    tmp_path: Path,
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "ANSWER_S", 1)
    port = closed_port()
    result = compare(trace, *(word.format(port=port) for word in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert [*tmp_path.iterdir()] == [trace]


def test_a_bad_second_trace_is_refused_before_the_first_runs(
    tmp_path: Path, trace: Path, here: list[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    result = compare(trace, bad, *ONE, "--results", tmp_path / "runs")
    assert (result.exit_code, result.stdout, here) == (2, "", [])
    assert result.stderr.startswith(f"Error: {bad}: cut off")
    assert not (tmp_path / "runs").exists()


def test_a_missing_package_is_named(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = compare(trace, *ONE, "--results", tmp_path / "runs")
    assert result.exit_code == 2
    assert "comparing runs needs the Python package distributed; run: pip install" in result.stderr


def test_a_page_of_two_policies(tmp_path: Path, trace: Path, here: list[str]) -> None:
    file = tmp_path / "ab.html"
    options = (*ONE, "--policy", "first_fit,round_robin", "--results", tmp_path / "r")
    done = compare(trace, *options, "--report", file)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == f"report: {file}"
    text = file.read_text()
    cycles = [
        replay(trace, "tiny", policy=policy).cycles for policy in ("first_fit", "round_robin")
    ]
    change = cycles[1] - cycles[0]
    assert f'"cycles": {{"a": {cycles[0]}, "b": {cycles[1]}, "change": {change}}}' in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "first_fit"), "--report shows combinations of the same work beside each"),
        (("--json", "ab.html"), "is what --json writes"),
        (("--report", "/no/such/place/ab.html"), "is in a folder that does not exist"),
    ],
)
def test_a_page_that_cannot_be_is_refused_before_the_runs(
    tmp_path: Path,
    trace: Path,
    here: list[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = compare(trace, *ONE, "--report", "ab.html", *options)
    assert (done.exit_code, here) == (2, [])
    assert said in done.stderr.splitlines()[-1] and not Path("ab.html").exists()


def test_a_page_is_of_runs(trace: Path) -> None:
    done = compare("--from", trace, trace, "--report", "ab.html")
    assert done.exit_code == 2 and "--report is of runs; with --from there is none" in done.stderr
