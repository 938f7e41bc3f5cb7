"""LaunchPath's rules of streams, refusals and tickets, one by one, of RTL and model alike."""

from dataclasses import replace

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.path_rules import (
    LAUNCH,
    RTL_AND_MODEL,
    SINGLE,
    answers,
    path_run,
    records,
)
from tb.support.planted import Change, plant
from warploom.launch import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import ErrorCode, Fate, timing

pytestmark = RTL_AND_MODEL

#: The SMs take blocks in turn and have 12 cycles to answer a kill.
LOSSY = config_of("tiny,kill_timeout=12")
LOST = (Fate.FAILED, ErrorCode.SM_LOST)
FINE = (Fate.FINISHED, ErrorCode.OK)


def on(launch, **changes):
    """Return a launch on a stream, or with another priority."""
    return replace(launch, **changes)


def lose(block, launches, stops, hold, **levels):
    """Run launches whose blocks never end, on SMs that answer no kill."""
    levels |= {"launch__hold": lambda cycle: int(cycle in hold)}
    return path_run(launches, 120, LOSSY, block, length=0, stops=stops, **levels)


# A stream that breaks. A launch sent in 0 has its first offer in 15. Stopped in 40 its stop is at
# the dispatcher in 41, its kill in 45, its SM lost from 45 + 12 + 3 on, gone then; the dispatcher's
# record comes two cycles later, in 62: that is the break. The record is at `ended` in 63.


@pytest.mark.parametrize(
    ("cleared", "stream", "code"),
    [
        (61, 0, ErrorCode.STREAM_BROKEN),
        (62, 0, ErrorCode.STREAM_BROKEN),
        (63, 0, ErrorCode.OK),
        (63, 1, ErrorCode.STREAM_BROKEN),
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
    assert recording.cycles("lost")[0] == 60
    assert [cycle for cycle, _ in recording.transfers("ended")] == [63]
    assert records(recording) == [(1, *LOST)]
    assert answers(recording) == [(1, 0), (0, code) if code else (2, 0)]


#: Two launches, one on each SM, and the next two in the queue; SM 0 is lost from 60 on, SM 1 from
#: 62 on. The break of stream 0 is in 62, that of stream 1 in 64.
WAITING = [SINGLE, on(SINGLE, stream=1), SINGLE, on(SINGLE, stream=2)]
BOTH_LOST = {40: {"ticket": 1}, 42: {"ticket": 2}}


def test_a_break_of_one_stream_lets_another_one_be_mended_in_its_cycle(block):
    later = [on(SINGLE, stream=stream) for stream in (0, 1)]
    recording = lose(
        block,
        WAITING[:2] + later,
        BOTH_LOST,
        range(2, 80),
        clear_stream__valid=lambda cycle: int(cycle == 64),
    )
    assert [cycle for cycle, _ in recording.transfers("ended")] == [63, 65]
    refused = [(0, ErrorCode.NO_SM), (0, ErrorCode.STREAM_BROKEN)]
    assert answers(recording) == [(1, 0), (2, 0), *refused]


def test_a_waiting_launch_of_a_broken_stream_fails_for_that_when_every_sm_is_lost_too(block):
    recording = lose(block, WAITING, BOTH_LOST, range(4, 120))
    assert recording.port("lost")[59:63] == [0, 1, 1, 3]
    # The third launch is doomed in 62, in which the first one's record comes; it leaves in 63. The
    # second one's record comes in 64, and the fourth one leaves in 65.
    assert [cycle for cycle, _ in recording.transfers("ended")] == [63, 64, 65, 66]
    assert records(recording) == [
        (1, *LOST),
        (3, Fate.FAILED, ErrorCode.STREAM_BROKEN),
        (2, *LOST),
        (4, Fate.FAILED, ErrorCode.NO_SM),
    ]


# The order of refusals: LaunchCheck's error, else the lowest code


def test_another_priority_is_told_before_a_broken_stream(block):
    # The second launch, on SM 1, runs on: the broken stream has an unfinished launch of priority 0.
    other = on(SINGLE, priority=1)
    running = [SINGLE, on(SINGLE, after_previous=0)]
    later = [other, SINGLE, on(other, grid=(0, 1, 1)), on(other, stream=1)]
    recording = lose(block, running + later, {40: {"ticket": 1}}, range(2, 80))
    assert records(recording) == [(1, *LOST)]
    assert answers(recording)[2:] == [
        (0, ErrorCode.STREAM_PRIORITY),
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.GRID_ZERO),
        (3, 0),
    ]


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


def test_a_broken_stream_is_told_before_no_sm(block):
    later = [on(SINGLE, stream=stream) for stream in (0, 1, 2)]
    bad = on(SINGLE, grid=(0, 1, 1))
    recording = lose(block, WAITING[:2] + [*later, bad], BOTH_LOST, range(2, 80))
    assert answers(recording)[2:] == [
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.NO_SM),
        (0, ErrorCode.GRID_ZERO),
    ]


def test_no_place_for_a_record_is_told_last(block):
    # Six launches finish, and nobody takes their records. The seventh one's offers are not taken:
    # stopped in 200 it is being killed from 203 on, and both SMs are lost 12 cycles later. With the
    # eighth all eight places for records are taken.
    assert timing(LOSSY).end_records == 8
    early = [on(SINGLE, stream=4, after_previous=0)] * 6
    killed = [LAUNCH, on(SINGLE, stream=1)]
    later = [SINGLE, on(SINGLE, priority=1), on(SINGLE, stream=1)]
    recording = path_run(
        early + killed + later,
        340,
        LOSSY,
        block,
        stops={200: {"ticket": 7}},
        ended__ready=lambda cycle: int(cycle >= 300),
        launch__hold=lambda cycle: int(6 <= cycle < 150 or 152 <= cycle < 240),
        **{f"offer__{n}__ready": lambda cycle: int(cycle < 150) for n in range(2)},
    )
    assert recording.cycles("lost")[0] == 203 + 12 + 1
    ended = [(7, *LOST), (8, Fate.FAILED, ErrorCode.NO_SM)]
    assert records(recording) == [(ticket, *FINE) for ticket in range(1, 7)] + ended
    assert answers(recording)[8:] == [
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.STREAM_BROKEN),
        (0, ErrorCode.NO_SM),
    ]


def test_another_priority_is_told_before_no_place_for_a_record(block):
    # Seven launches finish, nobody takes their records, and the eighth goes on for long.
    early = [on(SINGLE, after_previous=0)] * 7
    long = on(SINGLE, stream=1, grid=(255, 8, 1))
    later = [on(long, priority=1), on(long, priority=1, grid=(0, 1, 1)), long, SINGLE]
    recording = path_run([*early, long, *later], 300, LOSSY, block, ended__ready=0)
    assert answers(recording)[7:] == [
        (8, 0),
        (0, ErrorCode.STREAM_PRIORITY),
        (0, ErrorCode.GRID_ZERO),
        (0, ErrorCode.COMPLETION_FULL),
        (0, ErrorCode.COMPLETION_FULL),
    ]


# Tickets

#: Where RTL and model give the first ticket.
FIRST_TICKET = (
    Change(LaunchPath, "_answer", "init=1)", "init={})"),
    Change(Model, "reset", "self._ticket = 1\n", "self._ticket = {}\n"),
)


def begin_with(monkeypatch, ticket):
    """Let the first ticket be another one."""
    plant(monkeypatch, [replace(c, new=c.new.format(ticket)) for c in FIRST_TICKET])


def test_after_the_highest_ticket_comes_1(block, monkeypatch):
    begin_with(monkeypatch, (1 << 32) - 2)
    recording = path_run([SINGLE] * 4, 160, block=block)
    tickets = [0xFFFF_FFFE, 0xFFFF_FFFF, 1, 2]
    assert answers(recording) == [(ticket, 0) for ticket in tickets]
    assert records(recording) == [(ticket, *FINE) for ticket in tickets]


def test_beside_the_highest_ticket_a_stop_means_its_own_launch(block, monkeypatch):
    # The first launch's block never ends; the others wait. The stops are of the third launch, which
    # is in the queue, and of the second, in a place.
    begin_with(monkeypatch, (1 << 32) - 2)
    stops = {60: {"ticket": 1}, 70: {"ticket": (1 << 32) - 1}}
    recording = path_run([SINGLE] * 3, 120, block=block, length=0, stops=stops)
    assert records(recording) == [
        (1, Fate.SKIPPED, ErrorCode.OK),
        (0xFFFF_FFFF, Fate.SKIPPED, ErrorCode.OK),
    ]
