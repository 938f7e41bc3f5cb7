"""Event waits of a trace of two GPUs, and calls of one instant, with literal numbers."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tb.support.planted import plant
from tb.support.trace_files import DEVICE, call, kernel, record, wait, write
from warploom_dev.planted import Change
from warploom_sim.replay import wait_check
from warploom_sim.traces import event_waits, trace_reader
from warploom_sim.traces.kept_waits import keep_waits
from warploom_sim.traces.trace_launches import make_launches
from warploom_spec import preset

Events = list[dict[str, Any]]
Pairs = set[tuple[int, int]]


def launched(correlation: int, called: float, ran: float, stream: int, device: int = 0) -> Events:
    """Return a launch's call and its kernel, which runs for 5 us."""
    return [call(correlation, called), kernel(correlation, ran, stream=stream, device=device)]


def pairs_of(folder: Path, *events: Events, device: int | None = None) -> Pairs:
    """Return who waits for whom; the reader of the RTL's check finds the same."""
    content = {
        "deviceProperties": [DEVICE, DEVICE | {"id": 1}],
        "traceEvents": list(itertools.chain(*events)),
    }
    path = write(folder, content)
    found = set(trace_reader.load(path, device=device).waits.pairs)
    assert set(wait_check.awaited(path, device)) == found
    return found


def two_gpus(**said: int) -> list[Events]:
    """Return a trace: 0 to 2 run before the wait in stream 8, 3 and 4 are called behind it."""
    return [
        launched(1, 10, 100, 7),
        launched(2, 11, 100, 7, device=1),
        launched(3, 12, 100, 9, device=1),
        wait(4, 20, 8, **said),
        launched(5, 21, 200, 8),
        launched(6, 22, 200, 8, device=1),
    ]


def demand_own_gpu(folder: Path) -> None:
    """Hold that a wait is of one GPU, and reaches the launches of that GPU."""
    assert pairs_of(folder, *two_gpus(device=1)) == {(4, 1), (4, 2)}
    assert pairs_of(folder, *two_gpus(device=0)) == {(3, 0)}
    assert pairs_of(folder, *two_gpus(device=1, wait_on_stream=7)) == {(4, 1)}
    # Of an unknown GPU: of each GPU that has the stream.
    assert pairs_of(folder, *two_gpus(device=-1)) == {(3, 0), (4, 1), (4, 2)}


def demand_one_instant(folder: Path) -> None:
    """Hold that what is called with the record is not awaited; with the wait, does not wait."""
    of = {"wait_on_cuda_event_record_corr_id": 2, "wait_on_stream": 7}
    found = pairs_of(
        folder,
        launched(1, 10, 100, 7),
        [record(2, 20)],
        launched(3, 20, 110, 7),
        wait(4, 40, 8, **of),
        launched(5, 40, 195, 8),
        launched(6, 50, 200, 8),
    )
    assert found == {(3, 0)}
    # Without a record the wait itself is it.
    guessed = [wait(4, 40, 8), launched(5, 50, 200, 8)]
    assert pairs_of(folder, launched(1, 10, 100, 7), launched(2, 40, 110, 7), *guessed) == {(2, 0)}


def test_a_wait_reaches_launches_of_its_own_gpu_alone(tmp_path: Path) -> None:
    demand_own_gpu(tmp_path)


def test_the_calls_of_one_instant(tmp_path: Path) -> None:
    demand_one_instant(tmp_path)


def test_one_gpu_of_two_has_the_waits_among_its_launches(tmp_path: Path) -> None:
    assert pairs_of(tmp_path, *two_gpus(device=1), device=1) == {(2, 0), (2, 1)}
    assert pairs_of(tmp_path, *two_gpus(device=1), device=0) == set()


def test_streams_of_two_gpus_with_one_number_are_two_streams_of_the_hardware(
    tmp_path: Path,
) -> None:
    pairs_of(tmp_path, *two_gpus(device=-1))
    trace, config = trace_reader.load(tmp_path / "trace.json"), preset("default")
    made = make_launches(trace, config, Fraction(1, 512))
    assert [each.stream for each in made] == [0, 1, 2, 3, 4]
    kept = keep_waits(trace.waits, made, 2)
    assert kept.pairs == ((), (), (), ((0, 1),), ((1, 1), (2, 1)))


#: Rule -> what finds it; its change.
WRONG: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a wait is of every GPU": (demand_own_gpu, "wait.device not in (None, device)", "False"),
    "a wait reaches launches of other GPUs": (demand_own_gpu, "other[0] != device", "False"),
    "a launch of the wait's instant waits": (
        demand_one_instant,
        "began[number] > wait.called",
        "began[number] >= wait.called",
    ),
    "a launch of the record's instant is awaited": (
        demand_one_instant,
        "began[number] >= wait.recorded",
        "began[number] > wait.recorded",
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_is_found(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demand, old, new = WRONG[rule]
    plant(monkeypatch, [Change(event_waits, "_awaited", old, new)])
    with pytest.raises(AssertionError):
        demand(tmp_path)
