"""Stops, kills and faults, one by one as the page has them; RTL and model alike."""

import pytest

from tb.support.dispatch_rules import (
    FAULT,
    KILLED,
    OK,
    RTL_AND_MODEL,
    TINY,
    at,
    begun,
    drive,
    ends,
    errors,
    fates,
    in_cycles,
    launch,
    levels_of,
    offers,
    reporting,
    stop,
)
from warploom_spec import ErrorCode, Fate, Stop, timing

pytestmark = RTL_AND_MODEL

ASKED = (Fate.KILLED, ErrorCode.OK)


# Stops


@pytest.mark.rule("block_dispatcher", 28, 29)
def test_a_stop_kills_two_cycles_later_until_the_place_is_free(block):
    assert timing(TINY).stop == 2
    recording = drive(block, [launch()], stop=at(20, stop()), **reporting(0, (25, 0, KILLED)))
    assert levels_of(recording, "kill") == {0: (22, 30)}
    assert fates(recording) == [(31, 1, *ASKED, 25 - 6)]


@pytest.mark.rule("block_dispatcher", 28)
@pytest.mark.parametrize("how", [Stop.KILL, 3])
def test_both_values_above_drain_are_a_kill(block, how):
    recording = drive(block, [launch()], stop=at(20, stop(0, how)), **reporting(0, (25, 0, KILLED)))
    assert levels_of(recording, "kill") == {0: (22, 30)}


@pytest.mark.rule("block_dispatcher", 10, 11, 28)
@pytest.mark.parametrize(
    ("cycle", "offered"), [(2, [6]), (4, [6]), (5, [6, 9]), (7, [6, 9]), (8, [6, 9, 12])]
)
def test_decisions_up_to_the_first_cycle_of_the_stop_stand(block, cycle, offered):
    # Decided in 4, 7 and 10 at the earliest; a stop in c stops from c + 2 on.
    recording = drive(block, [launch(gx=9)], enable=1, stop=at(cycle, stop()))
    assert recording.cycles("offer__0__valid") == offered
    assert levels_of(recording, "kill")[0][0] == cycle + 2


@pytest.mark.rule("block_dispatcher", 4, 8, 37)
@pytest.mark.parametrize(("cycle", "ended"), [(2, 7), (3, 8), (4, 12)])
def test_a_launch_stopped_before_it_is_given_to_the_walker_is_gone_at_once(block, cycle, ended):
    # The second launch would be given in 5. Stopped from 4 or 5 on it is gone in 4 or 5. Stopped
    # from 6 on it is walked, forgotten at the end of 8 and gone in 9.
    recording = drive(block, [launch(1), launch(2, stream=1)], stop=at(cycle, stop(1)))
    assert offers(recording, 1) == []
    assert fates(recording) == [(ended, 2, Fate.SKIPPED, ErrorCode.OK, 0)]


@pytest.mark.rule("block_dispatcher", 10, 37)
def test_a_launch_stopped_in_its_walk_s_first_cycle_is_forgotten_and_skipped(block):
    # Given in 2, stopped from 3 on, forgotten at the end of 5, gone in 6.
    recording = drive(block, [launch()], stop=at(1, stop()))
    assert recording.cycles("offer__0__valid") == []
    assert fates(recording) == [(9, 1, Fate.SKIPPED, ErrorCode.OK, 0)]


@pytest.mark.rule("block_dispatcher", 10, 37)
@pytest.mark.parametrize("how", [Stop.DRAIN, Stop.KILL])
def test_a_head_without_an_sm_is_forgotten_and_its_launch_skipped(block, how):
    # Stopped from 12 on, forgotten at the end of 14, gone in 15.
    recording = drive(block, [launch()], enable=0, stop=at(10, stop(0, how)))
    assert fates(recording) == [(18, 1, Fate.SKIPPED, ErrorCode.OK, 0)]


@pytest.mark.rule("block_dispatcher", 38)
def test_a_drained_launch_names_the_block_it_had_come_to(block):
    reports = reporting(0, (20, 0)) | reporting(1, (22, 0))
    drain = {"stop": at(10, stop(0, Stop.DRAIN))}
    recording = drive(block, [launch(gx=3, gy=2, barriers=4)], **drain, **reports)
    ((cycle, end),) = ends(recording)
    assert (cycle, end["fate"], end["cycles"]) == (28, Fate.DRAINED, 22 - 6)
    assert (end["next_x"], end["next_y"], end["next_z"]) == (2, 0, 0)
    assert levels_of(recording, "kill") == {}


@pytest.mark.rule("block_dispatcher", 37)
def test_a_drained_launch_without_blocks_left_is_finished(block):
    drain = {"stop": at(10, stop(0, Stop.DRAIN))}
    recording = drive(block, [launch()], **drain, **reporting(0, (20, 0)))
    assert fates(recording) == [(26, 1, Fate.FINISHED, ErrorCode.OK, 14)]


@pytest.mark.rule("block_dispatcher", 28, 30)
@pytest.mark.parametrize(
    ("sent", "killed_from"),
    [
        ({20: stop(0, Stop.DRAIN), 30: stop(0, Stop.KILL)}, 32),
        ({20: stop(0, Stop.KILL), 30: stop(0, Stop.DRAIN)}, 22),
        ({20: stop(0, Stop.DRAIN)}, None),
    ],
)
def test_a_drain_becomes_a_kill_and_never_the_other_way(block, sent, killed_from):
    recording = drive(block, [launch(gx=9)], enable=1, stop=in_cycles(sent))
    rises = {bit: first for bit, (first, _) in levels_of(recording, "kill").items()}
    assert rises == ({} if killed_from is None else {0: killed_from})


@pytest.mark.rule("block_dispatcher", 28)
@pytest.mark.parametrize(
    ("cycle", "fate"),
    [
        (0, Fate.FINISHED),
        (25, Fate.FINISHED),
        (26, Fate.FINISHED),
        (27, Fate.SKIPPED),
        (28, Fate.FINISHED),
    ],
)
def test_whom_a_stop_means_is_judged_in_its_own_cycle(block, cycle, fate):
    # The first launch is transferred in 0; its place is free from 26 on. The second one is
    # transferred to it in 26 and would be the head in 30.
    recording = drive(
        block,
        [launch(1), launch(2)],
        stop=at(cycle, stop(0, Stop.DRAIN)),
        launch__hold=lambda now: int(0 < now < 26),
        **reporting(0, (20, 0), (40, 1)),
    )
    assert [end["fate"] for _, end in ends(recording)] == [Fate.FINISHED, fate]
    assert errors(recording) == [(44, ErrorCode.REPORT_NOT_RUNNING, 0)] * (fate == Fate.SKIPPED)


@pytest.mark.rule("block_dispatcher", 4, 28)
@pytest.mark.parametrize(("cycle", "fate"), [(21, Fate.SKIPPED), (22, Fate.SKIPPED)])
def test_a_free_place_ignores_a_stop(block, cycle, fate):
    recording = drive(block, [launch(1), launch(2)], stop=at(cycle, stop(1, Stop.KILL)), enable=0)
    assert [(end["ticket"], end["fate"]) for _, end in ends(recording)] == [(2, fate)]
    alone = drive(block, [launch(1)], stop=at(cycle, stop(1, Stop.KILL)))
    assert (levels_of(alone, "kill"), ends(alone), errors(alone)) == ({}, [], [])


@pytest.mark.rule("block_dispatcher", 28, 37)
@pytest.mark.parametrize(
    ("cycle", "fate"), [(21, Fate.KILLED), (22, Fate.KILLED), (23, Fate.DRAINED)]
)
def test_a_stop_counts_in_records_that_are_loaded_three_cycles_later(block, cycle, fate):
    # Drained in 5, with its only block on SM 0: reported in 20, gone in 23, loaded in 25.
    drain, kill = stop(0, Stop.DRAIN), stop(0, Stop.KILL)
    recording = drive(
        block,
        [launch(gx=3, barriers=4)],
        enable=1,
        stop=in_cycles({5: drain, cycle: kill}),
        **reporting(0, (20, 0)),
    )
    assert [(now, end["fate"]) for now, end in ends(recording)] == [(26, fate)]


# Reports while a place is killed


@pytest.mark.rule("block_dispatcher", 37)
@pytest.mark.parametrize(
    ("statuses", "fate"),
    [((OK, OK), Fate.FINISHED), ((OK, KILLED), Fate.KILLED), ((KILLED, OK), Fate.KILLED)],
)
def test_a_killed_launch_all_of_whose_blocks_ended_by_themselves_is_finished(block, statuses, fate):
    reports = reporting(0, (25, 0, statuses[0]), (26, 1, statuses[1]))
    recording = drive(block, [launch(gx=2)], enable=1, stop=at(20, stop()), **reports)
    assert fates(recording) == [(32, 1, fate, ErrorCode.OK, 26 - 6)]


@pytest.mark.rule("block_dispatcher", 37)
def test_a_killed_launch_with_blocks_left_is_killed_though_all_ended_by_themselves(block):
    recording = drive(
        block, [launch(gx=9, barriers=4)], enable=1, stop=at(20, stop()), **reporting(0, (25, 0))
    )
    # The block is reported with its launch stopped: nothing more is offered.
    assert recording.cycles("offer__0__valid") == [6]
    assert fates(recording) == [(31, 1, *ASKED, 25 - 6)]


@pytest.mark.rule("block_dispatcher", 16)
def test_a_standing_offer_is_not_withdrawn_and_is_taken_while_its_place_is_killed(block):
    recording = drive(
        block,
        [launch(gx=2)],
        enable=1,
        stop=at(12, stop()),
        offer__0__ready=lambda cycle: int(cycle == 6 or cycle >= 18),
        **reporting(0, (19, 0, KILLED), (20, 1, KILLED)),
    )
    assert [cycle for cycle, _ in recording.transfers("offer__0")] == [6, 18]
    assert begun(recording) == [6, 9]
    assert fates(recording) == [(26, 1, *ASKED, 20 - 6)]
    assert errors(recording) == []


@pytest.mark.rule("block_dispatcher", 25)
@pytest.mark.parametrize(("sent", "asked"), [(21, False), (22, True), (23, True)])
def test_killed_counts_as_a_fault_where_nobody_asked_for_it(block, sent, asked):
    recording = drive(block, [launch()], stop=at(20, stop()), **reporting(0, (sent, 0, KILLED)))
    fate = ASKED if asked else (Fate.FAILED, ErrorCode.BLOCK_FAULT)
    assert fates(recording) == [(sent + 6, 1, *fate, sent - 6)]
    told = [] if asked else [(sent + 4, ErrorCode.KILL_NOT_ASKED, 0)]
    assert errors(recording) == told


@pytest.mark.rule("block_dispatcher", 25)
def test_killed_without_any_stop_kills_the_launch(block):
    recording = drive(block, [launch(gx=2)], **reporting(1, (20, 0, KILLED)))
    assert errors(recording) == [(24, ErrorCode.KILL_NOT_ASKED, 1)]
    assert levels_of(recording, "kill")[0][0] == 24


@pytest.mark.rule("block_dispatcher", 25)
def test_the_other_place_s_kill_does_not_ask(block):
    sent = [launch(1), launch(2, stream=1)]
    recording = drive(block, sent, stop=at(20, stop(1)), **reporting(0, (25, 0, KILLED)))
    assert errors(recording) == [(29, ErrorCode.KILL_NOT_ASKED, 0)]
    # The second launch's place is killed from 22 on, the first one's from 29 on.
    assert {bit: first for bit, (first, _) in levels_of(recording, "kill").items()} == {
        1: 22,
        0: 29,
    }


# Faults


@pytest.mark.rule("block_dispatcher", 25)
@pytest.mark.parametrize("status", [FAULT, 3])
def test_the_first_fault_kills_its_launch_four_cycles_later(block, status):
    assert timing(TINY).fault == 4
    rest = [(30 + slot, slot, KILLED) for slot in (1, 2, 3)]
    recording = drive(
        block, [launch(gx=9)], enable=1, **reporting(0, (20, 0, status), *rest, (34, 0, KILLED))
    )
    # All four slots are held; slot 0 is given again in 24, the first cycle of the kill.
    assert recording.cycles("offer__0__valid") == [6, 9, 12, 15, 26]
    assert levels_of(recording, "kill") == {0: (24, 39)}
    assert fates(recording) == [(40, 1, Fate.FAILED, ErrorCode.BLOCK_FAULT, 34 - 6)]
    assert errors(recording) == []


@pytest.mark.rule("block_dispatcher", 25, 29)
def test_a_fault_of_the_last_block_shows_a_kill_of_two_cycles(block):
    recording = drive(block, [launch()], **reporting(0, (20, 0, FAULT)))
    assert levels_of(recording, "kill") == {0: (24, 25)}
    assert fates(recording) == [(26, 1, Fate.FAILED, ErrorCode.BLOCK_FAULT, 14)]


@pytest.mark.rule("block_dispatcher", 25, 30)
def test_a_fault_of_a_drained_launch_kills_it(block):
    recording = drive(
        block,
        [launch(gx=2)],
        stop=at(10, stop(0, Stop.DRAIN)),
        **reporting(0, (20, 0, FAULT)),
        **reporting(1, (30, 0, KILLED)),
    )
    assert levels_of(recording, "kill") == {0: (24, 35)}
    assert fates(recording) == [(36, 1, Fate.FAILED, ErrorCode.BLOCK_FAULT, 24)]


# What is running


@pytest.mark.rule("block_dispatcher", 24)
@pytest.mark.parametrize(("sent", "counts"), [(7, False), (8, True), (9, True)])
def test_a_report_counts_from_the_cycle_of_the_taking_on(block, sent, counts):
    recording = drive(block, [launch()], offer__0__ready=at(8), **reporting(0, (sent, 0)))
    want = [] if counts else [(sent + 4, ErrorCode.REPORT_NOT_RUNNING, 0)]
    assert errors(recording) == want
    assert [cycle for cycle, _ in ends(recording)] == ([sent + 6] if counts else [])


@pytest.mark.rule("block_dispatcher", 24, 39)
@pytest.mark.parametrize(("sent", "counts"), [(5, False), (6, True)])
def test_an_offer_taken_at_once_may_be_reported_at_once(block, sent, counts):
    recording = drive(block, [launch()], **reporting(0, (sent, 0)))
    assert [(cycle, end["cycles"]) for cycle, end in ends(recording)] == [(12, 0)] * counts


@pytest.mark.rule("block_dispatcher", 24)
@pytest.mark.parametrize("again", [21, 22, 23, 24])
def test_a_report_sent_twice_counts_once(block, again):
    recording = drive(block, [launch()], **reporting(0, (20, 0), (again, 0)))
    assert errors(recording) == [(again + 4, ErrorCode.REPORT_NOT_RUNNING, 0)]
    assert [(cycle, end["fate"]) for cycle, end in ends(recording)] == [(26, Fate.FINISHED)]


@pytest.mark.rule("block_dispatcher", 24)
def test_a_report_sent_twice_may_meet_the_slot_s_next_block(block):
    recording = drive(block, [launch(gx=9)], enable=1, **reporting(0, (20, 2), (26, 2), (27, 2)))
    # The slot's next block is decided in 24 and taken in 26.
    assert [offer["slot"] for offer in offers(recording)] == [0, 1, 2, 3, 2, 2]
    assert errors(recording) == [(31, ErrorCode.REPORT_NOT_RUNNING, 0)]


def test_several_reports_of_one_cycle_all_count(block):
    reports = reporting(0, (20, 0)) | reporting(1, (20, 0))
    recording = drive(block, [launch(gx=2)], **reports)
    assert fates(recording) == [(26, 1, Fate.FINISHED, ErrorCode.OK, 14)]


# Room after a kill


@pytest.mark.rule("block_dispatcher", 26)
def test_a_killed_launch_s_room_is_offered_again_six_cycles_after_its_last_report(block):
    sent = [launch(1, gx=2, barriers=4), launch(2, stream=1, barriers=4)]
    reports = reporting(0, (22, 0, KILLED)) | reporting(1, (23, 0, KILLED))
    recording = drive(block, sent, stop=at(20, stop()), **reports)
    assert recording.cycles("offer__0__valid") == [6, 22 + 4 + 2]


def test_the_place_s_next_launch_is_offered_four_cycles_or_more_after_its_kill_fell(block):
    recording = drive(
        block,
        [launch(1), launch(2)],
        stop=at(20, stop()),
        launch__hold=lambda cycle: int(0 < cycle < 20),
        enable=1,
        **reporting(0, (22, 0, KILLED)),
    )
    # The second launch waits at the port: it gets the other place. One that gets the same place is
    # transferred in 28, in which the level is 0 again.
    assert levels_of(recording, "kill") == {0: (22, 27)}
    same = drive(
        block,
        [launch(1), launch(2)],
        stop=at(20, stop()),
        launch__hold=lambda cycle: int(0 < cycle < 28),
        **reporting(0, (22, 0, KILLED)),
    )
    assert [
        (cycle, offer["place"]) for cycle, offer in zip(begun(same), offers(same), strict=True)
    ] == [
        (6, 0),
        (34, 0),
    ]
