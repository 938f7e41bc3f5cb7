"""Both resident launches killed at once on one SM, of RTL and model alike."""

import pytest

from tb.support.dispatch_rules import (
    FAULT,
    IN_ORDER,
    KILLED,
    OK,
    RTL_AND_MODEL,
    TINY,
    at,
    drive,
    errors,
    fates,
    in_cycles,
    launch,
    levels_of,
    offers,
    reporting,
    stop,
)
from warploom_spec import ErrorCode, Fate, Stop

pytestmark = RTL_AND_MODEL

#: One block of the first launch and two of the second, all on SM 0: offered in 6, 24 and 27, in
#: slots 0, 1 and 2. Nothing else is in use.
FIRST, SECOND = launch(1), launch(2, stream=1, gx=2)
#: Needs all of an SM.
WHOLE = launch(3, stream=2, warps=16, registers=32, shared=64, barriers=4)
BOTH = stop(0, Stop.KILL, Stop.KILL)
ASKED = (Fate.KILLED, ErrorCode.OK)


def both_at_once(block, *reports, config=TINY, launches=(FIRST, SECOND), **levels):
    """Stop both launches in 30: both places are killed from 32 on."""
    levels = {"stop": at(30, BOTH), "enable": 1} | levels
    recording = drive(block, list(launches), 90, config, **levels, **reporting(0, *reports))
    assert recording.cycles("offer__0__valid")[:3] == [6, 24, 27]
    return recording


@pytest.mark.rule("block_dispatcher", 28, 29, 36)
@pytest.mark.parametrize(
    ("config", "late"), [(TINY, 0), (IN_ORDER, 2)], ids=["out of order", "in order"]
)
def test_both_are_killed_and_end_one_after_the_other(block, config, late):
    recording = both_at_once(
        block, (34, 0, KILLED), (35, 1, KILLED), (36, 2, KILLED), config=config
    )
    assert levels_of(recording, "kill") == {0: (32, 39 + late), 1: (32, 41 + late)}
    assert errors(recording) == []
    assert fates(recording) == [
        (40 + late, 1, *ASKED, 34 - 6),
        (42 + late, 2, *ASKED, 36 - 24),
    ]


def test_all_that_both_held_is_free_again(block):
    # The third launch is at the port from 2 on and gets the first place, which is free from 40 on;
    # its block needs the whole SM.
    reports = [(34, 0, KILLED), (35, 1, KILLED), (36, 2, KILLED)]
    recording = both_at_once(block, *reports, launches=(FIRST, SECOND, WHOLE))
    assert [cycle for cycle, _ in recording.transfers("launch")] == [0, 1, 40]
    assert recording.cycles("offer__0__valid") == [6, 24, 27, 40 + 6]
    assert (offers(recording)[3]["place"], offers(recording)[3]["slot"]) == (0, 3)


@pytest.mark.parametrize("ended", [0, 1])
def test_the_blocks_of_one_may_end_by_themselves(block, ended):
    # The first launch's block, or both of the second one's, are reported `OK`.
    status = {0: KILLED, 1: KILLED, ended: OK}
    reports = [(34, 0, status[0]), (35, 1, status[1]), (36, 2, status[1])]
    recording = both_at_once(block, *reports)
    fine = (Fate.FINISHED, ErrorCode.OK)
    assert fates(recording) == [
        (40, 1, *(ASKED if ended else fine), 34 - 6),
        (42, 2, *(fine if ended else ASKED), 36 - 24),
    ]


@pytest.mark.rule("block_dispatcher", 28)
def test_one_is_killed_and_the_other_drained_in_one_cycle(block):
    drained = launch(2, stream=1, gx=9, barriers=2)
    mixed = at(30, stop(0, Stop.KILL, Stop.DRAIN))
    recording = drive(
        block,
        [FIRST, drained],
        90,
        TINY,
        stop=mixed,
        enable=1,
        **reporting(0, (34, 0, KILLED), (50, 1), (51, 2)),
    )
    assert levels_of(recording, "kill") == {0: (32, 39)}
    assert fates(recording) == [
        (40, 1, *ASKED, 34 - 6),
        (57, 2, Fate.DRAINED, ErrorCode.OK, 51 - 20),
    ]


def test_a_kill_and_a_fault_of_the_other_launch_in_one_cycle(block):
    # The fault of 28 and the stop of 30 both count from 32 on.
    recording = both_at_once(
        block, (28, 1, FAULT), (36, 0, KILLED), (37, 2, KILLED), stop=at(30, stop(0))
    )
    assert {first for first, _ in levels_of(recording, "kill").values()} == {32}
    assert fates(recording) == [
        (42, 1, *ASKED, 36 - 6),
        (43, 2, Fate.FAILED, ErrorCode.BLOCK_FAULT, 37 - 24),
    ]


def test_a_kill_in_the_cycle_of_the_other_one_s_last_report(block):
    # The second launch's last block is reported in 32, in which the first one's kill begins.
    recording = both_at_once(block, (31, 1), (32, 2), (40, 0, KILLED), stop=at(30, stop(0)))
    assert errors(recording) == []
    assert fates(recording) == [
        (38, 2, Fate.FINISHED, ErrorCode.OK, 32 - 24),
        (46, 1, *ASKED, 40 - 6),
    ]


def test_a_standing_offer_of_one_is_taken_and_ended_when_both_are_killed(block):
    recording = drive(
        block,
        [FIRST, SECOND],
        90,
        stop=at(30, BOTH),
        enable=1,
        offer__0__ready=lambda cycle: int(cycle <= 24 or cycle == 37),
        **reporting(0, (34, 0, KILLED), (35, 1, KILLED), (38, 2, KILLED)),
    )
    assert recording.cycles("offer__0__valid") == [6, 24, *range(27, 38)]
    assert errors(recording) == []
    assert fates(recording) == [(40, 1, *ASKED, 34 - 6), (44, 2, *ASKED, 38 - 24)]


@pytest.mark.rule("block_dispatcher", 31, 33)
def test_both_are_lost_with_their_sm(block):
    # Never reported: L is 32 + 16 + 3, and both places are gone in L + 3.
    recording = both_at_once(block)
    assert recording.cycles("lost")[0] == 52
    lost = Fate.FAILED, ErrorCode.SM_LOST
    assert fates(recording) == [(57, 1, *lost, 0), (58, 2, *lost, 0)]


@pytest.mark.rule("block_dispatcher", 31)
def test_each_place_has_a_time_of_its_own(block):
    # Stopped in 30 and 40: the first launch's block is reported in time, the second one's are not.
    stops = {30: stop(0), 40: stop(1)}
    recording = both_at_once(block, (48, 0, KILLED), stop=in_cycles(stops))
    assert recording.cycles("lost")[0] == 42 + 16 + 4
    assert fates(recording) == [
        (54, 1, *ASKED, 48 - 6),
        (67, 2, Fate.FAILED, ErrorCode.SM_LOST, 0),
    ]
