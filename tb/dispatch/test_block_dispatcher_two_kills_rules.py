"""Both resident launches killed at once on one SM, of RTL and model alike."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    at,
    completing,
    completion,
    drive,
    ends,
    errors,
    launch,
    mask,
    stop,
)
from warploom_spec import ErrorCode, Fate, layouts

pytestmark = RTL_AND_MODEL

OUT_OF_ORDER, IN_ORDER = (
    config_of(f"tiny,policy=first_fit,kill_timeout=12,reclaim={reclaim}")
    for reclaim in ("out_of_order", "in_order")
)
#: An SM may take this long to answer while other launches come.
PATIENT = config_of("tiny,policy=first_fit,kill_timeout=60")

#: One block of the first launch and two of the second, all on SM 0: offered in 4, 22 and 23, in
#: slots 0, 1 and 2. Nothing else is in use.
FIRST, SECOND = launch(1), launch(2, stream=1, gx=2)
#: Needs all of an SM.
WHOLE = launch(3, stream=2, warps=16, registers=32, shared=64, barriers=4)


def both_at_once(block, config=OUT_OF_ORDER, launches=(FIRST, SECOND), **levels):
    """Stop the first launch in 30 and let slot 1's block complete with a fault in 29.

    Either is processed at the end of 31: from 32 on both launches are being killed. What runs in 33
    is named in 34.
    """
    levels |= {"stop__valid": at(30), "stop__payload": stop(1), "enable": 1}
    levels |= completing(0, (29, completion(1, ErrorCode.BLOCK_FAULT)), *levels.pop("also", ()))
    return drive(block, list(launches), 80, config, **levels)


def pulses(recording):
    """Return the kills of SM 0 by cycle."""
    packet = layouts.slot_mask(OUT_OF_ORDER)
    words = recording.port("kill__0")
    return {cycle: packet.unpack(words[cycle])["mask"] for cycle in recording.cycles("kill__0")}


def fates(recording):
    """Return cycle, ticket, fate, code and duration of each final record."""
    return [
        (cycle, end["ticket"], end["fate"], end["code"], end["cycles"])
        for cycle, end in ends(recording)
    ]


@pytest.mark.parametrize(
    ("config", "gone"), [(OUT_OF_ORDER, 39), (IN_ORDER, 42)], ids=["out of order", "in order"]
)
def test_one_kill_names_the_blocks_of_both_and_its_acknowledgement_ends_both(block, config, gone):
    # Acknowledged in 36, processed in 38. In order, retired in 39 and returned at the end of 41.
    recording = both_at_once(block, config, acknowledge__0=at(36, mask(0b101)))
    assert recording.cycles("offer__0__valid") == [4, 22, 23]
    assert pulses(recording) == {34: 0b101}
    assert errors(recording) == []
    assert fates(recording) == [
        (gone + 2, 1, Fate.KILLED, ErrorCode.OK, 36 - 4),
        (gone + 3, 2, Fate.FAILED, ErrorCode.BLOCK_FAULT, 36 - 22),
    ]


def test_all_that_both_held_is_free_again(block):
    # The third launch is at the port from 2 on and gets the first place, which is free from 41 on;
    # its block needs the whole SM.
    launches = (FIRST, SECOND, WHOLE)
    recording = both_at_once(block, launches=launches, acknowledge__0=at(36, mask(0b101)))
    assert [cycle for cycle, _ in recording.transfers("launch")] == [0, 1, 41]
    assert recording.cycles("offer__0__valid") == [4, 22, 23, 41 + 4]
    offer = layouts.block_offer(OUT_OF_ORDER).unpack(recording.transfers("offer__0")[-1][1])
    assert (offer["place"], offer["slot"]) == (0, 0)


@pytest.mark.parametrize("slot", [0, 2])
def test_of_both_one_may_complete_in_the_cycle_of_the_acknowledgement(block, slot):
    # The named block of one launch completes in 36, the other's is killed by then.
    recording = both_at_once(block, also=[(36, completion(slot))], acknowledge__0=at(36, mask(0)))
    assert pulses(recording) == {34: 0b101}
    assert errors(recording) == []
    fate = Fate.KILLED if slot else Fate.FINISHED
    assert fates(recording) == [
        (41, 1, fate, ErrorCode.OK, 36 - 4),
        (42, 2, Fate.FAILED, ErrorCode.BLOCK_FAULT, 36 - 22),
    ]


def test_a_standing_offer_of_one_is_left_when_both_are_killed(block):
    # Slot 2's block is taken in 37 alone: the kill of 34 does not name it. Acknowledged in 36,
    # processed in 38; the next kill is settled in 39.
    recording = both_at_once(
        block,
        offer__0__ready=lambda cycle: int(cycle <= 22 or cycle == 37),
        acknowledge__0=lambda cycle: {36: mask(0b001), 42: mask(0b100)}.get(cycle, 0),
    )
    assert recording.cycles("offer__0__valid") == [4, 22, *range(23, 38)]
    assert pulses(recording) == {34: 0b001, 40: 0b100}
    assert errors(recording) == []
    assert fates(recording) == [
        (41, 1, Fate.KILLED, ErrorCode.OK, 36 - 4),
        (47, 2, Fate.FAILED, ErrorCode.BLOCK_FAULT, 42 - 22),
    ]


def test_both_are_lost_with_their_sm(block):
    # Never answered: lost at the end of 34 + 12 + 2, gone in 49.
    recording = both_at_once(block)
    assert pulses(recording) == {34: 0b101}
    assert recording.cycles("lost")[0] == 49
    lost = Fate.FAILED, ErrorCode.SM_LOST
    assert fates(recording) == [(51, 1, *lost, 0), (52, 2, *lost, 29 - 22)]


def test_of_two_stops_a_cycle_apart_the_second_waits_for_the_first_one_s_kill(block):
    # Stops in 30 and 31, seen in 32 and 33: the kill of 34 names the first launch's block alone.
    # Acknowledged in 36, processed in 38; the next kill is settled in 39.
    stops = {30: stop(1), 31: stop(2)}
    recording = drive(
        block,
        [FIRST, SECOND],
        config=OUT_OF_ORDER,
        enable=1,
        stop__valid=lambda cycle: int(cycle in stops),
        stop__payload=lambda cycle: stops.get(cycle, 0),
        acknowledge__0=lambda cycle: {36: mask(0b001), 42: mask(0b110)}.get(cycle, 0),
    )
    assert pulses(recording) == {34: 0b001, 40: 0b110}
    assert errors(recording) == []
    assert fates(recording) == [
        (41, 1, Fate.KILLED, ErrorCode.OK, 36 - 4),
        (47, 2, Fate.KILLED, ErrorCode.OK, 42 - 22),
    ]


def test_a_kill_that_waited_names_the_blocks_of_both(block):
    # The first launch is stopped in 30, its kill is in 34, its block completes in 35, and its place
    # is free from 40 on, while the kill still holds slot 0. The third launch, transferred in 40,
    # may share the SM from 40 + 20 on. The other two are stopped in 70 and 71. Only then is the
    # first kill acknowledged, in 80, processed in 82: the next one is settled in 83.
    stops = {30: stop(1), 70: stop(2), 71: stop(3)}
    recording = drive(
        block,
        [FIRST, SECOND, launch(3, stream=2)],
        100,
        PATIENT,
        enable=1,
        stop__valid=lambda cycle: int(cycle in stops),
        stop__payload=lambda cycle: stops.get(cycle, 0),
        acknowledge__0=lambda cycle: {80: mask(0), 86: mask(0b1110)}.get(cycle, 0),
        **completing(0, (35, completion(0))),
    )
    assert [cycle for cycle, _ in recording.transfers("launch")] == [0, 1, 40]
    assert recording.cycles("offer__0__valid") == [4, 22, 23, 61]
    assert pulses(recording) == {34: 0b0001, 84: 0b1110}
    assert errors(recording) == []
    assert fates(recording) == [
        (40, 1, Fate.FINISHED, ErrorCode.OK, 35 - 4),
        (91, 2, Fate.KILLED, ErrorCode.OK, 86 - 22),
        (92, 3, Fate.KILLED, ErrorCode.OK, 86 - 61),
    ]
