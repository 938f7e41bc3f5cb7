"""A trace's event waits as pairs, and what the source holds; the event model keeps them."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from warploom_golden.replay.residents.path import ResidentPath
from warploom_golden.replay.residents.source import ReplaySource
from warploom_golden.replay.waits import Waits
from warploom_sim.traces import trace_reader
from warploom_sim.traces.event_waits import EventWaits
from warploom_sim.traces.kept_waits import check_streams, keep_waits
from warploom_sim.traces.trace_launches import make_launches
from warploom_spec import LaunchDescriptor, WarploomError, preset

TRACES = Path(__file__).parents[3] / "traces"
DEFAULT = preset("default")
SCALE = Fraction(1, 512)
WAITS = 2


def launches(*streams: int) -> list[LaunchDescriptor]:
    return [LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1), stream=each) for each in streams]


def waits(*pairs: tuple[int, int], unknown: int = 0) -> EventWaits:
    by_rule = {"named": 0, "matched": len(pairs), "guessed": 0}
    return EventWaits(by_rule, unknown, pairs)


def test_a_pair_names_stream_and_number_of_the_awaited_launch() -> None:
    kept = keep_waits(waits((3, 1), (4, 2), unknown=2), launches(0, 1, 1, 0, 0), WAITS)
    assert kept.kept == 2
    assert kept.pairs == ((), (), (), ((1, 1),), ((1, 2),))
    assert not any(kept.held)


def test_the_newest_are_pairs_and_the_source_holds_for_the_others() -> None:
    every = waits((4, 3), (4, 0), (4, 2), (4, 1))
    kept = keep_waits(every, launches(0, 1, 2, 3, 4), WAITS)
    assert kept.held[4] == (0, 1)
    assert kept.pairs[4] == ((2, 1), (3, 1))
    assert keep_waits(every, launches(0, 1, 2, 3, 4), 0).held[4] == (0, 1, 2, 3)
    assert keep_waits(every, launches(0, 1, 2, 3, 4), 4).held[4] == ()


def test_refused_launches_have_no_number() -> None:
    kept = keep_waits(waits((4, 2), (3, 0)), launches(0, 1, 1, 2, 2), WAITS, refused=[0, 1])
    assert kept.pairs[4] == ((1, 1),)
    # Nobody waits for a launch that was refused, with none of its stream before it.
    assert kept.pairs[3] == () and kept.held[3] == ()


def test_what_a_refused_launch_waits_for_is_passed_on() -> None:
    every = waits((1, 0), (3, 2), (4, 1))
    # Launch 1 is refused: 2, the next one of its stream, and 4 wait for launch 0 instead.
    kept = keep_waits(every, launches(0, 1, 1, 2, 3), WAITS, refused=[1])
    assert kept.pairs == ((), ((0, 1),), ((0, 1),), ((1, 1),), ((0, 1),))
    assert kept.awaited == ((), (0,), (0,), (2,), (0,))
    # What stands for a refused launch is held for, too.
    kept = keep_waits(waits((2, 1)), launches(0, 0, 1), 0, refused=[1])
    assert kept.held == ((), (), (0,))
    # Nobody waits for its own stream, nor twice for another one.
    kept = keep_waits(waits((1, 0), (3, 1), (3, 2)), launches(0, 1, 0, 0), WAITS, refused=[1])
    assert kept.pairs == ((), ((0, 1),), (), ())


def test_the_first_launches_alone_wait_for_each_other() -> None:
    assert keep_waits(waits((2, 0)), launches(0, 1), WAITS).pairs == ((), ())


def test_a_launch_that_is_2_to_the_15_behind_is_not_waited_for() -> None:
    made = launches(*(1,) * ((1 << 15) + 1), 2)
    last = len(made) - 1
    near, far = (keep_waits(waits((last, other)), made, WAITS) for other in (1, 0))
    assert (near.pairs[last], far.pairs[last]) == (((1, 2),), ())
    near, far = (keep_waits(waits((last, other)), made, 0) for other in (1, 0))
    assert (near.held[last], far.held[last]) == ((1,), ())


@pytest.mark.parametrize(
    ("name", "kept", "pairs"), [("googlenet_branches", 72, 72), ("overlapped_training", 25, 13)]
)
def test_the_recorded_waits_are_kept(name: str, kept: int, pairs: int) -> None:
    trace = trace_reader.load(TRACES / f"{name}.json.gz", strict=False)
    made = make_launches(trace, DEFAULT, SCALE)
    for most in (0, 1, WAITS, 4):
        found = keep_waits(trace.waits, made, most)
        assert found.kept == kept
        assert sum(map(len, found.pairs)) + sum(map(len, found.held)) == pairs
        assert all(len(each) <= most for each in found.pairs)


def run(made: list[LaunchDescriptor], **given: Any) -> tuple[ResidentPath, ReplaySource]:
    none: list[tuple[()]] = [()] * len(made)
    path = ResidentPath(DEFAULT, log=1 << 17)
    source = ReplaySource(made, path, Waits(given.get("pairs", none), given.get("held", none)))
    path.run(source)
    return path, source


def overlaps(path: ResidentPath, source: ReplaySource, pairs: tuple[tuple[int, int], ...]) -> int:
    """Count the pairs of launches of which the later one began before the earlier had ended."""
    ends = {each["ticket"]: each["made"] for each in path.log.records}
    begins: dict[int, int] = {}
    for cycle, _, _, ticket, _ in path.dispatcher.offers.T.tolist():
        begins.setdefault(ticket, cycle)
    tickets = source.tickets
    return sum(begins[tickets[later]] <= ends[tickets[earlier]] for later, earlier in pairs)


@pytest.mark.parametrize("most", [0, WAITS])
def test_the_event_model_keeps_the_recorded_order(most: int) -> None:
    trace = trace_reader.load(TRACES / "googlenet_branches.json.gz", strict=False)
    made = make_launches(trace, DEFAULT, SCALE)
    kept = keep_waits(trace.waits, made, most)
    path, source = run(made, pairs=kept.pairs, held=kept.held)
    assert all(source.tickets) and len(path.log.records) == len(made)
    assert overlaps(path, source, trace.waits.pairs) == 0


def test_without_its_waits_the_recorded_order_is_lost() -> None:
    trace = trace_reader.load(TRACES / "googlenet_branches.json.gz", strict=False)
    path, source = run(make_launches(trace, DEFAULT, SCALE))
    assert overlaps(path, source, trace.waits.pairs) > 0


def test_more_streams_than_there_are_are_refused_with_the_number() -> None:
    trace = trace_reader.load(TRACES / "googlenet_branches.json.gz", strict=False)
    check_streams("t.json", trace.launches, DEFAULT)
    streams = len({each.stream for each in trace.launches})
    assert streams > 2
    with pytest.raises(WarploomError, match=rf"^t.json: {streams} streams; legal: up to 2 \(") as e:
        check_streams("t.json", trace.launches, replace(DEFAULT, stream_bits=1))
    assert f"--set stream_bits={(streams - 1).bit_length()}" in str(e.value)
