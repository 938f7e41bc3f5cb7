"""LaunchPath's rules of answers, streams, refusals, stops and tickets; RTL and model alike."""

from dataclasses import replace

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.path_rules import (
    FINE,
    LAUNCH,
    LOST,
    RTL_AND_MODEL,
    SINGLE,
    SKIPPED,
    TINY,
    answered,
    answers,
    path_run,
    records,
    unknown_stops,
)
from tb.support.planted import plant_timing
from warploom.launch._launch_path_ports import launch_path_ports
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import ErrorCode, Fate, timing

pytestmark = RTL_AND_MODEL

#: The SMs take blocks in turn and have 16 cycles to report what is killed.
LOSSY = config_of("tiny,kill_timeout=16")
NO_SM = (Fate.FAILED, ErrorCode.NO_SM)


def on(launch, **changes):
    """Return a launch on a stream, or with another priority."""
    return replace(launch, **changes)


def lose(block, launches, stops, hold, **levels):
    """Run launches whose blocks never end, on SMs that report nothing."""
    levels |= {"launch__hold": lambda cycle: int(cycle in hold)}
    return path_run(launches, 140, LOSSY, block, length=0, stops=stops, **levels)


# The worked example


@pytest.mark.rule("launch_path", 4, 7, 8, 9, 11, 17)
def test_the_worked_example(block):
    recording = path_run([SINGLE], block=block)
    assert [cycle for cycle, _ in answered(recording)] == [6]
    assert recording.cycles("decided_valid") == [10]
    assert recording.cycles("offer__0__valid") == [17]
    # Reported in 21; the dispatcher's record is valid in 27.
    assert [cycle for cycle, _ in recording.transfers("ended")] == [28]


@pytest.mark.rule("launch_path", 18)
def test_the_reference_on_indices_is_given_back_a_cycle_after_the_record(block):
    """The first launch's record is made in 27. The second's shape needs the one entry that it has.

    Released in 28, the entry is free on the state of 29. So the second launch's configuration is
    accepted in 30 and decided in 31.
    """
    sent = [SINGLE, on(SINGLE, block=(2, 2, 1), after_previous=0)]
    recording = path_run(sent, config=config_of("tiny,history_entries=1"), block=block)
    assert recording.transfers("ended")[0][0] == 28
    assert recording.cycles("decided_valid") == [10, 31]


# Answers and room


@pytest.mark.rule("launch_path", 1, 2, 3, 4)
def test_a_launch_never_waits_and_is_answered_six_cycles_later(block):
    assert timing(TINY).launch_check == 5
    bad = on(SINGLE, grid=(0, 1, 1))
    recording = path_run([SINGLE, bad, SINGLE, bad, bad], block=block)
    assert recording.port("launch__ready") == [1] * 120
    assert [cycle for cycle, _ in answered(recording)] == [6, 7, 8, 9, 10]
    zero = (0, ErrorCode.GRID_ZERO)
    assert answers(recording) == [(1, 0), zero, (2, 0), zero, zero]


@pytest.mark.rule("launch_path", 2, 7)
def test_a_launch_that_meets_a_full_queue_is_refused(block):
    # No SM is in use. The first launch is handed over in 11, the second one, whose indices are a
    # hit on those being made, in 25. From 14 on eight launches wait: what leaves LaunchCheck in 14
    # to 25 is refused.
    assert timing(TINY).launch_queue == 8
    hold = {"launch__hold": lambda cycle: int(11 <= cycle < 20)}
    recording = path_run([SINGLE] * 13, block=block, enable=0, **hold)
    assert recording.cycles("decided_valid")[:2] == [10, 24]
    assert [cycle for cycle, _ in recording.transfers("launch")][11:] == [20, 21]
    refused = (0, ErrorCode.QUEUE_FULL)
    taken = [(ticket, 0) for ticket in range(1, 10)]
    assert answers(recording) == [*taken, refused, refused, refused, (10, 0)]


@pytest.mark.rule("launch_path", 7)
def test_at_most_launches_ahead_are_accepted_and_not_started(block):
    hold = {"launch__hold": lambda cycle: cycle % 10}
    recording = path_run([SINGLE] * 12, 160, block=block, enable=0, **hold)
    accepted = [ticket for ticket, code in answers(recording) if not code]
    assert len(accepted) == timing(TINY).launches_ahead == 10


@pytest.mark.rule("launch_path", 6)
def test_room_falls_when_all_places_are_spoken_for(block):
    # Eight launches are sent in 0 to 7. One of them is handed over in 11: it counts in 12, and
    # `room` shows it in 13.
    recording = path_run([SINGLE] * 8, 40, block=block, enable=0)
    assert recording.port("room")[:20] == [1] * 8 + [0] * 5 + [1] * 7


@pytest.mark.rule("launch_path", 6)
def test_room_counts_a_refusal_and_an_end_from_here(block):
    # The sixth and the eighth are refused: they leave LaunchCheck in 10 and 12. The first refusal
    # counts in 11, and `room` shows it in 12. All others are of one stream, and their turn never
    # comes.
    bad = on(SINGLE, grid=(0, 1, 1))
    sent = [SINGLE] * 5 + [bad, SINGLE, bad]
    recording = path_run(sent, 40, block=block, enable=0)
    assert recording.port("room")[:14] == [1] * 8 + [0] * 4 + [1] * 2


@pytest.mark.rule("launch_path", 5, 6)
def test_room_counts_the_reserved_records(block):
    # Sixteen launches run to their ends and nobody takes their records until 300.
    assert timing(TINY).end_records == 16
    early = [on(SINGLE, after_previous=0)] * 17
    recording = path_run(
        early,
        340,
        block=block,
        launch__hold=lambda cycle: cycle % 10,
        ended__ready=lambda cycle: int(cycle == 300),
    )
    # The sixteenth is sent in 150. The seventeenth is refused although the queue is empty.
    assert recording.port("room")[145:300] == [1] * 6 + [0] * 149
    # The record that is taken in 300 counts in 301.
    assert recording.port("room")[300:303] == [0, 0, 1]
    assert answers(recording)[-1] == (0, ErrorCode.COMPLETION_FULL)


# A stream that breaks. A launch sent in 0 has its first offer in 17. Stopped in 40 its stop is at
# the dispatcher in 41, its kill from 43 on, its SM lost from 43 + 16 + 4 on. The dispatcher's
# record is valid in 68: that is the break, and the stream is broken from 70 on. The record is at
# `ended` in 69.


@pytest.mark.rule("launch_path", 19)
@pytest.mark.parametrize(
    ("cleared", "stream", "code"),
    [
        (67, 0, ErrorCode.STREAM_BROKEN),
        (68, 0, ErrorCode.STREAM_BROKEN),
        (69, 0, ErrorCode.OK),
        (69, 1, ErrorCode.STREAM_BROKEN),
    ],
    ids=["before", "in the cycle of the break", "after", "another stream"],
)
def test_a_stream_that_breaks_and_is_mended_in_one_cycle_is_broken(block, cleared, stream, code):
    recording = lose(
        block,
        [SINGLE, SINGLE],
        {40: {"ticket": 1}},
        range(1, 80),
        clear_stream__valid=lambda cycle: int(cycle == cleared),
        clear_stream__payload=stream,
    )
    assert recording.cycles("kill") == list(range(43, 68))
    assert recording.cycles("lost")[0] == 63
    assert [cycle for cycle, _ in recording.transfers("ended")][0] == 69
    assert records(recording)[0] == (1, *LOST)
    assert answers(recording) == [(1, 0), (0, code) if code else (2, 0)]


@pytest.mark.rule("launch_path", 19)
def test_a_break_of_one_stream_lets_another_one_be_mended_in_its_cycle(block):
    # SM 0 is lost from 63 on, SM 1 from 65 on. The break of stream 0 is in 68, of stream 1 in 70.
    sent = [SINGLE, on(SINGLE, stream=1), *(on(SINGLE, stream=stream) for stream in (0, 1))]
    recording = lose(
        block,
        sent,
        {40: {"ticket": 1}, 42: {"ticket": 2}},
        range(2, 80),
        clear_stream__valid=lambda cycle: int(cycle == 70),
    )
    assert [cycle for cycle, _ in recording.transfers("ended")] == [69, 71]
    refused = [(0, ErrorCode.NO_SM), (0, ErrorCode.STREAM_BROKEN)]
    assert answers(recording) == [(1, 0), (2, 0), *refused]


@pytest.mark.rule("launch_path", 12, 13, 17)
def test_a_waiting_launch_of_a_broken_stream_fails_for_that_when_every_sm_is_lost_too(block):
    # SM 0 is lost from 63 on; the third launch gets the first one's place in 68. From 69 on the
    # fourth launch is the oldest that waits. Its stream is broken from 70 on, SM 1 lost from 69 on:
    # for both it ends in 71. Launch 5 follows. Launch 3 has no block yet: its end is known a cycle
    # before that of launch 2.
    sent = [SINGLE, *(on(SINGLE, stream=stream) for stream in (1, 3, 0, 2))]
    recording = lose(block, sent, {40: {"ticket": 1}, 46: {"ticket": 2}}, range(5, 140))
    assert recording.port("lost")[62:70] == [0, 1, 1, 1, 1, 1, 1, 3]
    assert [cycle for cycle, _ in recording.transfers("ended")] == [69, 72, 73, 74, 75]
    assert records(recording) == [
        (1, *LOST),
        (4, Fate.FAILED, ErrorCode.STREAM_BROKEN),
        (5, *NO_SM),
        (3, *NO_SM),
        (2, *LOST),
    ]


@pytest.mark.rule("launch_path", 12, 13)
def test_lost_sms_count_a_cycle_before_a_break_that_comes_with_them(block):
    """As before, but SM 1 is lost from 68 on: launch 4 ends in 70, and its stream breaks then."""
    sent = [SINGLE, *(on(SINGLE, stream=stream) for stream in (1, 3, 0, 2))]
    recording = lose(block, sent, {40: {"ticket": 1}, 45: {"ticket": 2}}, range(5, 140))
    assert recording.port("lost")[62:69] == [0, 1, 1, 1, 1, 1, 3]
    assert [cycle for cycle, _ in recording.transfers("ended")][:3] == [69, 71, 72]
    assert records(recording)[1:3] == [(4, *NO_SM), (5, *NO_SM)]


@pytest.mark.rule("launch_path", 2, 12)
@pytest.mark.parametrize(("sent", "code"), [(60, ErrorCode.OK), (61, ErrorCode.NO_SM)])
def test_that_every_sm_is_lost_is_judged_a_cycle_later(block, sent, code):
    # Both SMs are lost from 65 on; a launch sent in t leaves LaunchCheck in t + 5.
    hold = [*range(2, sent), *range(sent + 1, 140)]
    recording = lose(
        block,
        [SINGLE, on(SINGLE, stream=1), on(SINGLE, stream=2)],
        {40: {"ticket": 1}, 42: {"ticket": 2}},
        hold,
    )
    assert recording.port("lost")[64:66] == [1, 3]
    assert answers(recording)[2] == ((0, code) if code else (3, 0))


# The order of refusals: LaunchCheck's error, else the lowest code


@pytest.mark.rule("launch_path", 2)
def test_another_priority_is_told_before_a_broken_stream(block):
    # The second launch, on SM 1, runs on: the broken stream has an unfinished launch of priority 0.
    other = on(SINGLE, priority=1)
    running = [SINGLE, on(SINGLE, after_previous=0)]
    later = [other, SINGLE, on(other, grid=(0, 1, 1)), on(other, stream=1)]
    recording = lose(block, running + later, {40: {"ticket": 1}}, range(2, 80))
    assert records(recording)[0] == (1, *LOST)
    assert answers(recording)[2:] == [
        (0, ErrorCode.STREAM_PRIORITY),
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.GRID_ZERO),
        (3, 0),
    ]


@pytest.mark.rule("launch_path", 2)
def test_another_priority_is_told_still_when_the_stream_is_mended(block):
    # Mended between the third launch and the fourth.
    running = [SINGLE, on(SINGLE, after_previous=0)]
    later = [on(SINGLE, priority=1)] * 2 + [SINGLE]
    recording = lose(
        block,
        running + later,
        {40: {"ticket": 1}},
        [*range(2, 80), *range(81, 100)],
        clear_stream__valid=lambda cycle: int(cycle == 95),
    )
    assert answers(recording)[2:] == [
        (0, ErrorCode.STREAM_PRIORITY),
        (0, ErrorCode.STREAM_PRIORITY),
        (3, 0),
    ]


@pytest.mark.rule("launch_path", 2)
def test_a_broken_stream_is_told_before_no_sm(block):
    later = [on(SINGLE, stream=stream) for stream in (0, 1, 2)]
    bad = on(SINGLE, grid=(0, 1, 1))
    sent = [SINGLE, on(SINGLE, stream=1), *later, bad]
    recording = lose(block, sent, {40: {"ticket": 1}, 42: {"ticket": 2}}, range(2, 80))
    assert answers(recording)[2:] == [
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.NO_SM),
        (0, ErrorCode.GRID_ZERO),
    ]


@pytest.mark.rule("launch_path", 2, 5)
def test_no_place_for_a_record_is_told_after_no_sm(block):
    # Fourteen launches finish, and nobody takes their records. The next two take both SMs with them
    # into loss: all sixteen records are reserved.
    early = [on(SINGLE, stream=4, after_previous=0)] * 14
    killed = [LAUNCH, on(SINGLE, stream=1)]
    later = [SINGLE, on(SINGLE, priority=1), on(SINGLE, stream=2)]
    recording = path_run(
        early + killed + later,
        400,
        LOSSY,
        block,
        stops={220: {"ticket": 15}},
        ended__ready=lambda cycle: int(cycle >= 300),
        launch__hold=lambda cycle: int(
            (cycle % 10 > 0 and cycle < 140) or 140 <= cycle < 200 or 202 <= cycle < 280
        ),
        **{f"offer__{n}__ready": lambda cycle: int(cycle < 200) for n in range(2)},
    )
    assert recording.cycles("lost")[0] == 223 + 16 + 4
    assert records(recording)[13:] == [(14, *FINE), (15, *LOST), (16, *NO_SM)]
    assert answers(recording)[16:] == [
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.NO_SM),
    ]


@pytest.mark.rule("launch_path", 2, 5)
def test_no_place_for_a_record_is_told_before_a_full_queue_and_after_another_priority(block):
    # Six launches finish, and nobody takes their records; no SM is in use for the next ten.
    early, waiting = [on(SINGLE, after_previous=0)] * 6, [on(SINGLE, stream=1)] * 10
    later = [SINGLE, on(SINGLE, stream=1, priority=1), on(SINGLE, grid=(0, 1, 1))]
    recording = path_run(
        early + waiting + later,
        320,
        block=block,
        ended__ready=0,
        enable=lambda cycle: 3 * (cycle < 150),
        launch__hold=lambda cycle: int(cycle % 10 > 0 or 60 <= cycle < 160),
    )
    assert answers(recording)[:16] == [(ticket, 0) for ticket in range(1, 17)]
    assert answers(recording)[16:] == [
        (0, ErrorCode.COMPLETION_FULL),
        (0, ErrorCode.STREAM_PRIORITY),
        (0, ErrorCode.GRID_ZERO),
    ]


# Stops. A launch sent in 0 is accepted in 5, decided in 10, and handed over in 11.


@pytest.mark.rule("launch_path", 10, 12, 13, 14)
@pytest.mark.parametrize(
    ("sent", "ended", "unknown"),
    [
        (3, 28, [5]),
        (4, 10, []),
        (5, 10, []),
        (8, 12, []),
        (9, 12, []),
        (10, 21, []),
        (11, 21, []),
        (12, 28, []),
    ],
)
def test_where_a_stop_meets_its_launch(block, sent, ended, unknown):
    # A stop is looked at from the next cycle on. In 5 and in 11 it waits a cycle. In the queue the
    # launch is taken back: a configuration in flight is cancelled, or its decision awaited. In a
    # place it is given to the walker in 13. Stopped from 14 on it is forgotten at the end of 16;
    # its record is loaded in 19. From 15 on its only block is decided all the same.
    recording = path_run([SINGLE], block=block, stops={sent: {"ticket": 1, "drain": 1}})
    assert unknown_stops(recording) == unknown
    cycle = recording.transfers("ended")[0][0]
    fate = FINE if ended == 28 else SKIPPED
    assert (cycle, records(recording)) == (ended, [(1, *fate)])


@pytest.mark.rule("launch_path", 14, 15)
@pytest.mark.parametrize(("sent", "unknown"), [(25, []), (26, []), (27, [29]), (40, [42])])
def test_a_stop_that_meets_its_launch_s_end_is_no_error(block, sent, unknown):
    # Reported in 21, the dispatcher's record is valid in 27.
    recording = path_run([SINGLE], block=block, stops={sent: {"ticket": 1}})
    assert records(recording) == [(1, *FINE)]
    assert unknown_stops(recording) == unknown
    assert recording.port("error_count")[-1] == len(unknown)
    assert not any(recording.port("dispatch_error"))


@pytest.mark.rule("launch_path", 14)
def test_the_count_of_unknown_stops_stays_at_its_highest_value(block, monkeypatch):
    # Of 3 bits instead of 16. Ten stops name a launch that never was.
    plant_timing(monkeypatch, launch_path_ports, Model, error_counter_bits=3)
    stops = {cycle: {"ticket": 9} for cycle in range(20, 50, 3)}
    recording = path_run([], 60, block=block, stops=stops)
    assert unknown_stops(recording) == [cycle + 2 for cycle in stops]
    counts = [recording.port("error_count")[cycle + 2] for cycle in stops]
    assert counts == [1, 2, 3, 4, 5, 6, 7, 7, 7, 7]
    assert recording.port("error_count")[-1] == 7


@pytest.mark.rule("launch_path", 14, 15, 16)
@pytest.mark.parametrize("ticket", [1, 2])
def test_a_stop_finds_its_launch_s_place(block, ticket):
    sent = [SINGLE, on(SINGLE, stream=1)]
    recording = path_run(sent, block=block, length=0, stops={60: {"ticket": ticket}})
    assert recording.port("kill")[62:65] == [0, ticket, ticket]


@pytest.mark.rule("launch_path", 15)
def test_the_launch_in_a_place_that_was_free_again_is_found(block):
    # The first launch ends; the third one gets its place.
    sent = [SINGLE, on(LAUNCH, stream=1, grid=(255, 1, 1)), on(LAUNCH, stream=2, grid=(255, 1, 1))]
    recording = path_run(
        sent,
        block=block,
        launch__hold=lambda cycle: int(2 <= cycle < 40),
        stops={70: {"ticket": 3}, 72: {"ticket": 1}},
    )
    assert recording.port("kill")[72:75] == [0, 1, 1]
    assert unknown_stops(recording) == [74]


@pytest.mark.rule("launch_path", 14)
def test_the_stop_register_holds_one_stop(block):
    # The second stop is taken when the first has left.
    recording = path_run(
        [LAUNCH], block=block, length=0, stops={20: {"ticket": 1, "drain": 1}, 21: {"ticket": 9}}
    )
    assert recording.port("stop__ready")[19:24] == [1, 1, 0, 1, 1]


@pytest.mark.rule("launch_path", 14)
def test_a_kill_through_the_path_is_three_cycles_later(block):
    recording = path_run([SINGLE], block=block, length=0, stops={40: {"ticket": 1}})
    assert recording.cycles("kill")[0] == 43


# Tickets


@pytest.mark.rule("launch_path", 3)
def test_after_the_highest_ticket_comes_1(block):
    recording = path_run([SINGLE] * 4, 160, block=block, first_ticket=(1 << 32) - 2)
    tickets = [0xFFFF_FFFE, 0xFFFF_FFFF, 1, 2]
    assert answers(recording) == [(ticket, 0) for ticket in tickets]
    assert records(recording) == [(ticket, *FINE) for ticket in tickets]


@pytest.mark.rule("launch_path", 3, 14)
def test_beside_the_highest_ticket_a_stop_means_its_own_launch(block):
    # The first launch's block never ends; the others wait. The stops are of the third launch, which
    # is in the queue, and of the second, in a place.
    stops = {60: {"ticket": 1}, 70: {"ticket": (1 << 32) - 1}}
    recording = path_run(
        [SINGLE] * 3, 120, block=block, first_ticket=(1 << 32) - 2, length=0, stops=stops
    )
    assert records(recording) == [(1, *SKIPPED), (0xFFFF_FFFF, *SKIPPED)]
