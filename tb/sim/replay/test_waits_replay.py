"""Replays whose launches wait for those of other streams, and whose streams have priorities."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from tb.sim.replay.test_replay import assert_described, assert_equal, sim
from tb.support.planted_replays import choose
from tb.support.trace_files import call, document, kernel, record, wait, waiting_document, write
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_model import joined
from warploom_sim import replay
from warploom_sim.replay import recount, rtl_replay, wait_check
from warploom_sim.replay.analysis.block_walk import find_waits
from warploom_sim.replay.replay_job import model_pieces, prepare
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.traces import trace_reader

ICARUS = ("--sim", "icarus", "--config", "tiny")


@pytest.fixture
def waiting(tmp_path: Path, seed: int) -> Path:
    """Return a trace of eight streams with waits, some launches with more than two pairs."""
    return write(tmp_path, waiting_document(random.Random(seed), 40, 8))


@pytest.mark.thorough
def test_eight_streams_wait_for_each_other(tmp_path: Path, waiting: Path) -> None:
    """Pairs, and what the source holds, with priorities and kills: RTL and model agree."""
    job = prepare(ReplayRequest(traces=(waiting,), config="tiny"))
    assert job.waits is not None
    assert any(job.waits.held) and any(len(own) == 2 for own in job.waits.pairs)
    result, figures = sim(tmp_path, waiting, *ICARUS)
    assert_equal(result, figures)
    assert figures["event_waits_kept"] == job.trace.waits.count > 10
    assert "event_waits_ignored" not in figures
    assert f"{job.trace.waits.count} event waits kept" in result.stderr
    assert sum(figures["head_blocked"].values()) == pytest.approx(1, abs=0.001)
    more = ("--priority", "0=3", "--priority", "4=1", "--kill-every", 3)
    result, urgent = sim(tmp_path, waiting, *ICARUS, *more)
    assert_equal(result, urgent)
    assert urgent["priority"] == "0=3 4=1"
    assert set(urgent["fates"]) == {"finished", "aborted"}
    result, free = sim(tmp_path, waiting, *ICARUS, "--events", "ignore")
    assert_equal(result, free)
    assert free["event_waits_ignored"] == figures["event_waits_kept"]
    assert "event_waits_kept" not in free
    assert free["cycles"] != figures["cycles"]


def two_launches(folder: Path) -> Path:
    """Write a trace of two launches, the second of which waits for the first, on another stream."""
    events = [call(1, 10.0), kernel(1, stream=7), record(3, 11.0), *wait(4, 12.0, 8)]
    events[-1]["args"] |= {"wait_on_cuda_event_record_corr_id": 3}
    events += [call(2, 20.0), kernel(2, ts=2000.0, stream=8)]
    return write(folder, document() | {"traceEvents": events})


@pytest.mark.thorough
def test_starts_are_held_against_the_traces_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the RTL began too early is said, also where RTL and model agree on it."""
    request = ReplayRequest(
        traces=(two_launches(tmp_path),),
        config="tiny",
        simulator="icarus",
        rtl=True,
        events="ignore",
    )
    job = prepare(request)
    # Neither side waits, and nobody but the check knows of the waits.
    monkeypatch.setattr(type(job), "event_waits_kept", 1)
    outcome = rtl_replay.run_one(job)
    assert outcome.figures["mismatches"] == 0
    assert outcome.problems
    assert all(" for which it waits, " in one for one in outcome.problems)
    shutil.rmtree(outcome.figures["event_files"])


def test_waiting_is_a_cause_that_blocks_the_head(tmp_path: Path) -> None:
    trace = two_launches(tmp_path)
    run = replay(trace, "tiny", time_scale=1)
    waits = find_waits(run).by_limit()["waits"]
    first, second = run.launches.end.tolist()
    # All blocks of the first launch fit, and are picked one after the other, three cycles before
    # their offers.
    assert waits == first - (int(run.launches.last_offer[0]) - 3) - 1
    # Launch path's page: 24 cycles from the record's first word, which comes six before its last.
    assert run.launches.first_offer[1] == first - 6 + 24
    assert run.launches.awaits.tolist() == [(), (0,)]
    assert run.event_waits_kept == 1
    assert second > first
    free = replay(trace, "tiny", time_scale=1, events="ignore")
    assert free.launches.first_offer[1] < first
    assert (free.event_waits_kept, free.event_waits_ignored) == (0, 1)


def test_the_check_reads_the_waits_that_the_reader_reads(waiting: Path) -> None:
    """It leaves nothing out, the reader what follows from other pairs."""
    traces = Path(__file__).parents[3] / "traces"
    for path in (waiting, *(traces / f"{n}.json.gz" for n in ("googlenet_branches",))):
        pairs = set(trace_reader.load(path).waits.pairs)
        assert pairs <= set(wait_check.awaited(path))
        assert len(pairs) > 10


@pytest.mark.thorough
def test_a_wait_that_the_rtl_does_not_keep_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "one_pair")
    trace = write(tmp_path, waiting_document(random.Random(1), 40, 8))
    result, figures = sim(tmp_path, trace, *ICARUS)
    assert result.exit_code == 1
    assert figures["verdict"] == "different"
    assert figures["mismatches"] > 0
    assert_described(result.stdout, "decisions")
    assert " for which it waits, had its record in cycle " in result.stdout
    shutil.rmtree(figures["event_files"])


def test_more_streams_than_there_are_are_refused(tmp_path: Path) -> None:
    trace = write(tmp_path, waiting_document(random.Random(1), 40, 17))
    result, _ = sim(tmp_path, trace, *ICARUS)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "17 streams; legal: up to 8 (choose --set stream_bits=5)" in result.stderr


def test_more_streams_than_any_configuration_has_are_refused(tmp_path: Path) -> None:
    trace = write(tmp_path, waiting_document(random.Random(1), 40, 33))
    result, _ = sim(tmp_path, trace, *ICARUS)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "33 streams; legal: up to 8 (no configuration has more than 32)" in result.stderr


def test_the_model_keeps_all_waits_of_traces_with_refused_launches(
    tmp_path: Path, seed: int
) -> None:
    """Those of refused launches, which the file's own reader passes on in no way, among them."""
    refused = 0
    for number in range(4):
        trace = write(tmp_path, waiting_document(random.Random(f"{seed}-{number}"), 60, 3 + number))
        job = prepare(ReplayRequest(traces=(trace,), config="tiny"))
        tables = joined([piece.events for piece in model_pieces(job)]).tables
        tickets, cycles = (tables["offers"][name].astype(np.int64) for name in ("ticket", "cycle"))
        first = np.full(int(tickets.max()) + 1, NEVER, np.int64)
        np.minimum.at(first, tickets, cycles)
        queues = [kernel.queue for kernel in recount.read(trace)]
        given = wait_check.awaited(trace), queues, tables["answers"], tables["ended"], first
        assert wait_check.early_starts(*given) == [], number
        refused += sum(job.demanded.refused.values())
    assert refused > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("3=1",), "priority is 3=1, but the launches that are replayed of"),
        (("0=4",), "priority is 0=4; legal: N from 0 to 3"),
        (("0=1", "0=2"), "legal: STREAM=N"),
        (("high",), "'--priority': 'high'; legal: STREAM=N"),
        (("1=-1",), "'--priority': '1=-1'; legal: STREAM=N"),
    ],
)
def test_illegal_priorities_are_refused(tmp_path: Path, given: tuple[str, ...], said: str) -> None:
    trace = write(tmp_path, document())
    words = [word for one in given for word in ("--priority", one)]
    result, _ = sim(tmp_path, trace, *ICARUS, *words)
    assert result.exit_code == 2
    assert said in result.stderr
