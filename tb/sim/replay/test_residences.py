"""A launch that is put back and gets its place again: from when on it stands there."""

import random
from dataclasses import replace

import pytest

from tb.sim.replay.test_limits import Reference, by_cycle, counters, in_order, random_replay
from tb.support.replays import model_replay
from tb.support.whole_replays import find_limits
from warploom_golden.replay import event_dispatcher, event_model
from warploom_sim.replay.analysis.block_walk import find_waits
from warploom_sim.replay.analysis.running import RunningFigures
from warploom_sim.replay.replay_columns import Residences
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER
from warploom_spec import LaunchDescriptor, preset

#: Replays in which a launch gets its place again, after others had cost it its turn.
CASES = (
    "5-tiny-least_loaded-in_order-14",
    "7-default-round_robin-out_of_order-1",
    "16-default-first_fit-out_of_order-16",
    "18-default-least_loaded-out_of_order-2",
    "20-default-freed_first-out_of_order-11",
    "29-tiny-round_robin-in_order-9",
    "33-default-round_robin-out_of_order-1",
    "37-default-round_robin-out_of_order-1",
    "46-default-least_loaded-out_of_order-2",
    "53-tiny-freed_first-out_of_order-19",
    "54-default-freed_first-out_of_order-3",
    "56-tiny-freed_first-out_of_order-7",
    # The walker is free of such a launch too late for the next one.
    "570833936-default-freed_first-out_of_order-3",
)


def put_back_once() -> Replay:
    """Return a replay in which the second launch of stream 0 makes way for stream 1's."""
    one = LaunchDescriptor(grid=(2, 1, 1), block=(8, 1, 1), arguments=20)
    launches = [one, replace(one, code=1), replace(one, stream=1, code=2)]
    return model_replay(launches, preset("tiny"), 1, arrivals=[0, 0, 33])


def test_a_launch_that_gets_its_place_again_stands_there_from_the_second_time_on() -> None:
    """Its place's words do not change, so they say the first time alone.

    Place 1 stays free. So the launch is handed over in the cycle after its second index decision,
    in 55, and is the head 4 cycles later (launch_path.md, 'Timing').
    """
    replay = put_back_once()
    events = replay.events.tables
    stood = [events["words"][name].tolist() for name in ("cycle", "place", "ticket")]
    assert stood == [[15, 30, 47], [0, 1, 0], [1, 2, 3]]
    assert events["put_back"]["cycle"].tolist() == [47]
    assert events["decisions"]["cycle"].tolist() == [13, 28, 45, 54]
    assert events["decisions"]["ticket"].tolist() == [1, 2, 3, 2]
    assert replay.launches.resident.tolist() == [15, 56, 47]
    # Until t + `fit_table` + 2 A + B = 55 + 9 + 8 + 4 it is not known what fits beside the other
    # launch. A block that returns in 74 leaves an SM empty.
    found = by_cycle(find_limits(replay))
    assert set(found[59:74]) == {("path", 1)}
    assert found[74] == ("rate", 1)


@pytest.mark.parametrize("case", CASES)
def test_limits_of_a_launch_that_gets_its_place_again_agree_with_the_stall_counters(
    case: str,
) -> None:
    _, name, policy, reclaim, number = case.split("-")
    replay = random_replay(name, policy, reclaim, random.Random(case), crowded=number == "0")
    found, stalls = counters(replay, find_limits(replay)), dict(replay.stalls)
    assert len(replay.events.tables["put_back"]["cycle"])
    assert found.pop("order") <= stalls.pop("order")
    assert found == stalls


def test_launches_are_walked_in_the_order_of_their_last_hand_over() -> None:
    """Here one gets its place again behind another stream's: by its first time it came before."""
    rng = random.Random("1206920955-least_loaded-out_of_order")
    replay = random_replay("tiny", "least_loaded", "out_of_order", rng, crowded=True, late=True)
    reference = Reference(replay)
    walked = sorted(reference.first, key=lambda row: reference.first[row])
    assert walked == [0, 4, 2, 5, 3, 9]
    assert [reference.transfer(row) for row in walked] == [313, 6094, 6099, 7033, 8358, 9416]
    assert by_cycle(find_limits(replay)) == reference.limits()


@pytest.mark.parametrize("size", [1, 3, 10])
def test_residences_are_the_same_from_pieces(size: int) -> None:
    """A piece has the events of so many cycles."""
    tables = put_back_once().events.tables
    tickets, cycles = Residences().stand(tables)
    whole = list(zip(tickets.tolist(), cycles.tolist(), strict=True))
    assert whole == [(1, 15), (2, 30), (2, NEVER), (3, 47), (2, 56)]
    found, pieces = [], Residences()
    for first in range(0, 60, size):
        piece = {}
        for kind in ("words", "decisions", "put_back"):
            table = tables[kind]
            there = (table["cycle"] >= first) & (table["cycle"] < first + size)
            piece[kind] = {name: column[there] for name, column in table.items()}
        tickets, cycles = pieces.stand(piece)
        found += zip(tickets.tolist(), cycles.tolist(), strict=True)
    # A decision tells two cycles ahead: a piece has these in its own order.
    assert sorted(found) == sorted(whole)


def test_the_next_launch_waits_for_the_walk_of_one_that_is_put_back() -> None:
    """The second launch of stream 0 is given to the walker, and skipped at once.

    It transfers in 47. Its stream's first launch leaves its place in 48, so it is given in 49. It
    is put back in 60, so its walk is forgotten at the end of 54: of the launch that transfers in 49
    the first block is the head in 57.
    """
    one = LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1), arguments=23)
    launches = [
        one,
        replace(one, stream=1, code=1, arguments=7),
        replace(one, code=2, arguments=20),
        replace(one, grid=(9, 1, 1), stream=1, code=3, arguments=20),
    ]
    replay = model_replay(launches, preset("tiny"), 1)
    put_back = replay.events.tables["put_back"]
    assert [put_back[name].tolist() for name in ("cycle", "ticket")] == [[60], [3]]
    assert replay.launches.left.tolist()[0] == 48
    assert replay.launches.resident.tolist() == [15, 29, 68, 50]
    reference = Reference(replay)
    assert reference.walks_forgotten() == [(48, 55)]
    assert reference.head(3, reference.earlier(3)) == 57
    found = by_cycle(find_limits(replay))
    assert set(found[50:57]) == {("path", 3)}
    assert found[57] == ("rate", 3)


@pytest.mark.parametrize("case", [CASES[1], CASES[4], CASES[7]])
def test_limits_with_launches_that_are_put_back_are_the_same_from_pieces(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was put back is in no place, however many events are known."""
    _, name, policy, reclaim, _ = case.split("-")
    rng = random.Random(case)
    config = replace(preset(name), policy=policy, reclaim=reclaim)
    launches, seed = in_order(rng, config), rng.randrange(1 << 32)
    whole = find_waits(model_replay(launches, config, seed))
    monkeypatch.setattr(event_model, "PIECE", 2)
    monkeypatch.setattr(event_dispatcher, "AHEAD", 4)
    running = RunningFigures(launches, [""] * len(launches), config, None)
    for piece in event_model.pieces(launches, config, seed):
        running.add(piece)
    found = running.finish().waits
    assert found is not None
    assert found.by_limit() == whole.by_limit()
