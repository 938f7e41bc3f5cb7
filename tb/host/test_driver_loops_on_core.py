"""The C driver's loops end to end, on the core's model: the SMs see each launch as it should be."""

import json
from collections import Counter

from tb.host import loop_tours
from tb.host.driver_tours import BUS_ERROR, BUSY, EMPTY
from tb.host.loop_hosts import LOOPING, c_loops
from tb.host.loop_tours import OTHER, POINTER, STEP
from tb.host.model_core import ModelCore

LAUNCH_FAILED, LOOP_STOPPED, RESET, FAILED = 59, 60, 55, 2


def on_model(name):
    """Let the C driver take a tour on the core's model, and return what it found."""
    core = ModelCore(LOOPING)
    found = getattr(loop_tours, name)(c_loops(core), core, None)
    return json.loads(json.dumps(found))


def demand_three_templates(found, iterations):
    """Hold that the SMs saw each launch with its values, in the order of streams and events."""
    counts = {"accepted": 3 * iterations, "finished": 3 * iterations}
    assert found["writes"] == [0, 0, 0] and found["loop"] == found["done"] == 0
    # A template of a loop that runs cannot be written.
    assert (found["refused"], found["busy"]) == ([BUS_ERROR] * 3, [BUSY, BUSY])
    assert found["outcome"] == [0, {"code": 0, "argument": 0} | counts]
    # All were quiet.
    assert found["none"] == EMPTY
    by_stream = {1: [], 2: []}
    for before, words in found["seen"]:
        values = words["arguments"], words["inline0"]
        by_stream[words["stream"]].append((words["ticket"], before, values))
    expected = {1: [], 2: []}
    for i in range(iterations):
        expected[1].append((POINTER + STEP * i, 1))
        # Two blocks.
        expected[1] += [(5, OTHER if i % 2 else 2)] * 2
        expected[2].append((0, 3))
    assert {n: [values for *_, values in seen] for n, seen in by_stream.items()} == expected
    # Both blocks of an iteration's second launch have ended before its third launch begins.
    for i, (_, before, _) in enumerate(by_stream[2]):
        ticket = by_stream[1][3 * i + 1][0]
        assert Counter(found["ended"][:before])[ticket] == 2
    assert found["waits"] == 0 and found["launch"] == [0, 0]
    assert found["numbers"] == [[1, 2 * iterations + 1 & 0xFFFF, 0], [3, 1, 0]]


def test_a_loop_over_three_templates_and_two_streams_on_the_model():
    demand_three_templates(on_model("few"), 6)


def test_after_a_loop_that_ended_early_the_next_is_like_the_first_on_the_model():
    demand_early_ends(on_model("early_ends"))


def demand_early_ends(found):
    """Hold that a loop that was stopped, failed or was reset leaves nothing behind."""
    *calls, code, result, cleared = found["stop"]
    assert (calls, code, cleared) == ([0] * 4, LOOP_STOPPED, 0)
    assert result["accepted"] == result["finished"] < 10_000
    *calls, fate, code, result, cleared = found["fails"]
    assert (calls, fate, code) == ([0] * 3, FAILED, LAUNCH_FAILED)
    assert result["finished"] == 0 < result["accepted"] <= 3
    *calls, code, _, cleared = found["reset"]
    assert (calls, code, cleared) == ([0] * 4, RESET, 0)
    counts = {"accepted": 5, "finished": 5}
    assert found["again"] == [0, 0, 0, 0, {"code": 0, "argument": 0} | counts]
    assert found["seen"] == [0, 1, 2, 3, 4]
