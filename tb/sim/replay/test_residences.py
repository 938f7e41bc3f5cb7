"""A launch that is put back and gets its place again: from when on it stands there."""

import random
from dataclasses import replace

import pytest

from tb.sim.replay.test_limits import Reference, by_cycle, counters, random_replay
from tb.support.replays import model_replay
from tb.support.whole_replays import find_limits
from warploom_sim.replay.replay_columns import Residences
from warploom_sim.replay.replay_result import Replay
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
)


def put_back_once() -> Replay:
    """Return a replay in which the second launch of stream 0 makes way for stream 1's."""
    one = LaunchDescriptor(grid=(2, 1, 1), block=(8, 1, 1), arguments=20, after_previous=1)
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
    whole = dict(zip(tickets.tolist(), cycles.tolist(), strict=True))
    assert whole == {1: 15, 2: 56, 3: 47}
    found, pieces = {}, Residences()
    for first in range(0, 60, size):
        piece = {}
        for kind in ("words", "decisions"):
            table = tables[kind]
            there = (table["cycle"] >= first) & (table["cycle"] < first + size)
            piece[kind] = {name: column[there] for name, column in table.items()}
        tickets, cycles = pieces.stand(piece)
        found |= dict(zip(tickets.tolist(), cycles.tolist(), strict=True))
    assert found == whole
