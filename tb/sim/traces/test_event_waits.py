"""Event waits of a trace: which record each waited for, and which launches wait for which."""

import itertools
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import CliRunner

from tb.support.trace_files import DEVICE, call, kernel, record, wait, write
from warploom_sim import cli
from warploom_sim.replay import wait_check
from warploom_sim.traces import trace_reader
from warploom_sim.traces.event_waits import RULES, Calls, EventWaits, event_waits
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_spec import WarploomError

TRACES = Path(__file__).parents[3] / "traces"
#: What is read of the profiler's event of a wait.
IDS = (
    "correlation",
    "stream",
    "device",
    "wait_on_stream",
    "wait_on_cuda_event_record_corr_id",
    "wait_on_cuda_event_id",
)


def launched(correlation: int, called: float, ran: float, stream: int) -> list[dict[str, Any]]:
    """Return a launch's call and its kernel, which runs for 5 us."""
    return [call(correlation, called), kernel(correlation, ran, stream=stream)]


def read(folder: Path, *events: list[dict[str, Any]]) -> EventWaits:
    content = {"deviceProperties": [DEVICE], "traceEvents": list(itertools.chain(*events))}
    return trace_reader.load(write(folder, content)).waits


def rules(**count: int) -> dict[str, int]:
    return dict.fromkeys(RULES, 0) | count


@pytest.mark.parametrize(
    ("name", "waits", "pairs", "most"),
    [("googlenet_branches", 72, 72, 4), ("overlapped_training", 25, 13, 1)],
)
def test_the_recorded_waits_are_matched_by_event(
    name: str, waits: int, pairs: int, most: int, tmp_path: Path
) -> None:
    out = tmp_path / "f.json"
    trace = TRACES / f"{name}.json.gz"
    done = CliRunner().invoke(cli.main, ["trace", "info", str(trace), "--json", str(out)])
    assert done.exit_code == 0
    figures = json.loads(out.read_text())
    assert figures["event_waits"] == waits
    assert figures["event_waits_by_rule"] == {"named": 0, "matched": waits, "guessed": 0}
    assert figures["event_wait_pairs"] == pairs
    read = trace_reader.load(trace)
    each = Counter(launch for launch, _ in read.waits.pairs)
    assert max(each.values()) == most
    # What the recording contradicts is not asked for.
    for launch, awaited in read.waits.pairs:
        before, after = read.launches[awaited], read.launches[launch]
        assert before.start + before.duration <= after.start
        assert before.stream != after.stream


def test_a_named_record_counts_and_what_came_after_it_does_not(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        launched(1, 10, 100, 7),
        [record(2, 20)],
        launched(3, 30, 110, 7),
        wait(4, 40, 8, wait_on_cuda_event_record_corr_id=2, wait_on_stream=7),
        launched(5, 50, 200, 8),
    )
    assert (found.by_rule, found.pairs) == (rules(named=1), ((2, 0),))


def test_a_named_stream_alone_is_waited_for(tmp_path: Path) -> None:
    events = [launched(1, 10, 100, 7), launched(2, 11, 100, 9), [record(3, 20)]]
    of = {"wait_on_cuda_event_record_corr_id": 3}
    after = launched(5, 50, 200, 8)
    named = read(tmp_path, *events, wait(4, 40, 8, wait_on_stream=9, **of), after)
    assert named.pairs == ((2, 1),)
    assert set(read(tmp_path, *events, wait(4, 40, 8, **of), after).pairs) == {(2, 0), (2, 1)}


@pytest.mark.parametrize("name", ["cudaEventRecordWithFlags", "cudaEventRecord"])
def test_events_that_are_as_many_as_records_are_matched_in_order(tmp_path: Path, name: str) -> None:
    found = read(
        tmp_path,
        launched(1, 10, 100, 7),
        # Calls count by their time, not by their place in the file.
        [record(4, 35, name), record(2, 20, name)],
        launched(3, 30, 110, 7),
        wait(5, 40, 8, wait_on_cuda_event_id=50),
        launched(6, 41, 200, 8),
        wait(7, 42, 9, wait_on_cuda_event_id=51),
        launched(8, 43, 200, 9),
    )
    assert (found.by_rule, found.pairs) == (rules(matched=2), ((2, 0), (3, 1)))


@pytest.mark.parametrize("events", [(50, 52), (50, 50)])
def test_else_the_waits_own_call_is_the_record(tmp_path: Path, events: tuple[int, int]) -> None:
    found = read(
        tmp_path,
        launched(1, 10, 100, 7),
        [record(2, 20), record(3, 21)],
        launched(4, 30, 110, 7),
        wait(5, 40, 8, wait_on_cuda_event_id=events[0]),
        launched(6, 41, 200, 8),
        wait(7, 42, 9, wait_on_cuda_event_id=events[1]),
        launched(8, 43, 200, 9),
    )
    assert (found.by_rule, found.pairs) == (rules(guessed=2), ((2, 1), (3, 1)))


def test_a_launch_that_had_not_ended_is_not_waited_for(tmp_path: Path) -> None:
    """Kernel 3 runs from 196 to 201, the waiting one from 200: the one before it counts."""
    found = read(
        tmp_path,
        launched(1, 10, 100, 7),
        launched(3, 12, 196, 7),
        [record(2, 20)],
        wait(4, 40, 8, wait_on_cuda_event_record_corr_id=2),
        launched(5, 50, 200, 8),
    )
    assert found.pairs == ((2, 0),)


def test_a_record_that_is_called_later_asks_for_nothing_later(tmp_path: Path) -> None:
    """A launch never waits for one that is called after it, whatever a trace says."""
    found = read(
        tmp_path,
        launched(1, 10, 100, 7),
        wait(4, 40, 8, wait_on_cuda_event_record_corr_id=7),
        launched(5, 50, 200, 8),
        launched(6, 60, 120, 7),
        [record(7, 70)],
    )
    assert found.pairs == ((1, 0),)


def test_a_wait_whose_stream_is_not_said_is_unknown(tmp_path: Path) -> None:
    there, _ = wait(4, 40, 8)
    without_id = {**there, "args": {}}
    driver = wait(5, 45, 8, "cuStreamWaitEvent_ptsz")
    found = read(tmp_path, launched(1, 10, 100, 7), [there, without_id], driver)
    assert (found.count, found.unknown, found.by_rule) == (3, 2, rules(guessed=1))
    assert found.pairs == ()


@pytest.mark.parametrize("value", ["eight", 8.0, -5, True, [8], 2**64])
@pytest.mark.parametrize("field", IDS)
def test_an_id_that_is_none_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    events = wait(4, 40, 8)
    events[-1]["args"][field] = value
    with pytest.raises(WarploomError) as caught:
        read(tmp_path, launched(1, 10, 100, 7), events)
    said = f"event 3: '{field}' is {json.dumps(value)}; legal: "
    assert said in str(caught.value)


@pytest.mark.parametrize("field", IDS)
@pytest.mark.parametrize("value", [None, -1, "gone"])
def test_the_check_of_the_rtl_reads_the_same_waits(
    tmp_path: Path, field: str, value: int | str | None
) -> None:
    """What is null, unknown or not there is the same for both readers."""
    events = [*wait(4, 40, 8, wait_on_cuda_event_record_corr_id=3), *wait(5, 45, 8)]
    arguments = events[1]["args"] | {"wait_on_stream": 7, "wait_on_cuda_event_id": 2}
    if value == "gone":
        del arguments[field]
    else:
        arguments[field] = value
    events[1]["args"] = arguments
    # A second event of the wait, which knows nothing.
    events.append(events[1] | {"args": arguments | {"stream": -1}})
    others = [launched(1, 10, 50, 7), launched(2, 20, 60, 6), [record(3, 30)]]
    found = read(tmp_path, *others, events, launched(6, 60, 200, 8))
    asked = sorted(pair for pairs in found.asked for pair in pairs)
    assert asked
    assert sorted(wait_check.awaited(tmp_path / "trace.json")) == asked


def reduced(
    launches: list[KernelLaunch], pairs: set[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """Reduce by networkx: what another path from the awaited to the waiting launch implies goes."""
    graph = nx.DiGraph((before, after) for after, before in pairs)
    graph.add_nodes_from(range(len(launches)))
    order = set()
    for _, numbers in itertools.groupby(
        sorted(range(len(launches)), key=lambda n: (launches[n].stream, n)),
        key=lambda n: launches[n].stream,
    ):
        order |= set(itertools.pairwise(numbers))
    graph.add_edges_from(order)
    kept = set(nx.transitive_reduction(graph).edges) - order
    return tuple(sorted((after, before) for before, after in kept))


def test_pairs_are_the_transitive_reduction_of_all_waits(seed: int) -> None:
    rng = random.Random(seed)
    dropped = 0
    for _ in range(60):
        count = rng.randint(5, 40)
        launches = [
            KernelLaunch(n, "k", (1, 1, 1), (32, 1, 1), 16, 0, 10.0 * n, 5.0, rng.randrange(4), 0)
            for n in range(count)
        ]
        began = [float(n) for n in range(count)]
        calls, wanted = Calls(), set()
        latest: dict[tuple[int, int], int] = {}
        for k in range(rng.randint(1, 30)):
            stream, at = rng.randrange(4), rng.randrange(count)
            recorded = rng.randint(0, at)
            calls.waits[k], calls.records["cudaEventRecord"][1000 + k] = at + 0.5, recorded + 0.5
            calls.syncs[k] = {"stream": stream, "wait_on_cuda_event_record_corr_id": 1000 + k}
            after = next((n for n in range(at + 1, count) if launches[n].stream == stream), None)
            for n in range(recorded + 1):
                if after is not None and launches[n].stream != stream:
                    latest[after, launches[n].stream] = max(
                        n, latest.get((after, launches[n].stream), -1)
                    )
        wanted = {(after, before) for (after, _), before in latest.items()}
        found = event_waits(calls, launches, began).pairs
        assert tuple(sorted(found)) == reduced(launches, wanted)
        dropped += len(wanted) - len(found)
    assert dropped > 0


def test_what_is_ignored_is_said_and_strict_refuses(tmp_path: Path) -> None:
    content = [
        launched(1, 10, 100, 7),
        wait(4, 40, 8),
        launched(5, 50, 200, 8),
        [{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "ts": 1.0}],
        [call(9, 60) | {"name": "cudaStreamSynchronize"}],
    ]
    document = {"deviceProperties": [DEVICE], "traceEvents": list(itertools.chain(*content))}
    trace, out = write(tmp_path, document), tmp_path / "f.json"
    command = ["sim", str(trace), "--sim", "icarus", "--config", "tiny", "--json", str(out)]
    command += ["--events", "ignore"]
    done = CliRunner().invoke(cli.main, command)
    assert done.exit_code == 0
    assert json.loads(out.read_text())["event_waits_ignored"] == 1
    assert "1 event waits ignored (0 named, 0 matched, 1 guessed)" in done.stderr
    assert "1 memory copies are not replayed" in done.stderr
    assert trace_reader.load(trace).summary()["host_synchronisations"] == 1
    out.unlink()
    compare = ["compare", str(trace), "--events", "ignore", "--results", str(tmp_path / "r")]
    for also in (command, compare):
        refused = CliRunner().invoke(cli.main, [*also, "--strict"])
        assert refused.exit_code == 2 and refused.stderr.count("\n") == 1
        assert "event 2: makes a stream wait for an event, one of 1 such calls" in refused.stderr
    assert not out.exists()
