"""LaunchPath in lockstep: hard cases, refusals, and what becomes of each launch."""

from dataclasses import replace
from random import Random

import pytest

from tb.support.dispatch_cases import late, path_case
from tb.support.dispatch_configs import POLICIES_AND_RECLAIMS, config_of, soon
from tb.support.dispatch_events import DISPATCH_CASES, PATH_CASES
from tb.support.dispatch_stimulus import PATH_DRAIN
from tb.support.error_events import UNCOUNTED
from tb.support.hard_cases import run_until
from tb.support.index_cases import shuffled_shapes
from tb.support.path_crowd import CrowdHost
from tb.support.path_rules import (
    FINE,
    LAUNCH,
    RECORD,
    SKIPPED,
    Bus,
    answers,
    path_run,
    records,
    unknown_stops,
)
from tb.support.path_shapes import ShapesHost
from tb.support.planted import plant
from tb.support.record import record
from tb.support.seeded_faults import BLOCK_DISPATCHER, ENDS_TWICE, LAUNCH_CHECK
from warploom_golden.launch import LaunchPath as Model
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_spec import ErrorCode, Fate
from warploom_spec.layouts import PLACES

DEEP = pytest.mark.deep
PROFILES = ("no_stops", "mixed", "sm_loss")


def cases(config, seed, cycles):
    return [path_case(config, profile, seed, cycles) for profile in PROFILES]


#: What else can be hard: profile, cycles, resets, and options of the stimulus.
STRESSES = (
    # Many short launches, their indices at few places.
    ("few_stops", 6000, 2, {"varied": True, "sharp": 0.175, "busy": True}),
    ("mixed", 4000, 2, {}),
    ("sm_loss", 4000, 8, {}),
    ("kill_bursts", 4000, 8, {"varied": True, "sharp": 0.175}),
    # Blocks that fill an SM to the last unit.
    ("no_stops", 3000, 2, {"tight": True, "busy": True}),
    # Limits of LaunchCheck; a shape for each launch; no room for final records.
    ("few_stops", 4000, 2, {"varied": True, "sharp": 0.8, "busy": True}),
    ("few_stops", 4000, 2, {"varied": True, "shapes": True, "busy": True}),
    ("few_stops", 2000, 2, {"varied": True, "hoard": True, "busy": True}),
    # Four decisions of the index filter wait for indices.
    ("few_stops", 2500, 2, {"varied": True, "broad": True, "busy": True}),
    # Launches of thousands of cycles and blocks.
    ("short_blocks", 8000, 0, {"endless": True, "busy": True}),
    # Kills one upon the other, on SMs that come back soon.
    ("kill_bursts", 8000, 60, {"busy": True}),
    ("kill_bursts", 8000, 60, {"busy": True}),
    # Two launches on each SM: killed both, with offers that stand; SMs that get lost on the way.
    ("dual_kill", 9000, 100, {"slim": 9, "busy": True}),
    ("frequent_sm_loss", 5000, 60, {"slim": 4, "busy": True}),
    ("frequent_sm_loss", 5000, 60, {"slim": 12, "busy": True}),
    # One launch waits for another for thousands of cycles, in either place.
    ("long_blocks", 9000, 0, {"streams": 1, "slim": 4, "busy": True}),
    # Each limit of LaunchCheck by itself.
    ("short_blocks", 3200, 0, {"limits": True, "busy": True}),
    # Drained at any place of grids along any axis; stops of tickets that differ in one bit.
    ("drains", 8000, 0, {"deep": 255, "astray": 0.5, "busy": True}),
    # Drained after thousands of blocks, in either place.
    ("late_drains", 16_000, 0, {"deep": 32_767, "busy": True}),
    # An SM gets lost and breaks a stream in the very cycle in which a launch enters.
    *[("frequent_sm_loss", 9000, 200, {"slim": 3, "streams": 4})] * 4,
)


def stress_cases(config, seed, part=1):
    """Return a case for each of `STRESSES`, one ``part``-th as long but for the end."""
    found = []
    for number, (profile, cycles, resets, options) in enumerate(STRESSES):
        case = path_case(config, profile, seed + number, PATH_DRAIN + (cycles - PATH_DRAIN) // part)
        options = {**case.options, "streams": 8, **options}
        found.append(replace(case, resets=resets // part, options=options))
    return found


def shapes_case(config, seed, cycles=134_000, lasts=54_000):
    """Return a case of blocks of every shape, two long launches, and more stray stops than count.

    With fewer cycles there are fewer shapes, and the errors' count stays below its end.
    """
    case = path_case(config, "short_blocks", seed, cycles)
    options = {**case.options, "streams": 8, "busy": True, "lasts": lasts}
    return replace(case, resets=0, stimulus=ShapesHost, options=options)


def crowd_case(config, seed, cycles=10_000):
    """Return a case of launches that crowd in one stream, with stops that meet them on the move."""
    case = path_case(config, "short_blocks", seed, cycles)
    options = {**case.options, "streams": 8, "busy": True}
    return replace(case, stimulus=CrowdHost, options=options)


def loss_case(config, seed, cycles=6000):
    """Return a case in which SMs get lost, many with blocks of two launches."""
    case = path_case(config, "frequent_sm_loss", seed, cycles)
    options = {**case.options, "streams": 8, "slim": 12, "busy": True}
    return replace(case, resets=40, options=options)


@pytest.mark.parametrize(
    "mode",
    # The dispatcher's own test meets all policies and both reclaims.
    ["policy=freed_first", pytest.param("policy=round_robin,reclaim=in_order", marks=DEEP)],
)
def test_equals_its_model_on_verilator_and_hard_cases_happen(mode, seed):
    # Nothing aborts a launch yet.
    fates = (fate for fate in Fate if fate is not Fate.ABORTED)
    names = *DISPATCH_CASES, *PATH_CASES, *(f"ledger: fate {fate.name.lower()}" for fate in fates)
    config = soon(f"tiny,{mode}")

    def rounds(n):
        usual = [*cases(config, seed + n, 4000), loss_case(config, seed + n)]
        return [late(case) for case in [*usual, *stress_cases(config, seed + n, part=14)]]

    run_until(names, rounds, "verilator")


def test_default_equals_its_model_on_icarus(seed):
    long = path_case(soon("default,policy=least_loaded"), "mixed", seed, 1600)
    run([long], "icarus")[0].require("transfers of launch", "ledger: blocks ok")


def test_equals_its_model_on_amaranth(seed):
    for result in run([path_case(soon("tiny"), "mixed", seed, 1600)], "amaranth"):
        result.require("transfers of launch")


def test_stops_that_meet_a_moving_launch_equal_their_model(seed):
    (result,) = run([crowd_case(soon("tiny"), seed, 2500)], "amaranth")
    result.require("ledger: blocks ok", "ledger: fate skipped")


def test_shapes_beside_long_launches_equal_their_model(seed):
    (result,) = run([shapes_case(soon("tiny,warp_slots=32"), seed, 2500, lasts=900)], "amaranth")
    result.require("ledger: blocks ok", "second resident started")


@pytest.mark.deep
def test_every_shape_and_more_stray_stops_than_count_equal_their_model(seed):
    config = soon("tiny,warp_slots=32,history_entries=3")
    (result,) = run([shapes_case(config, seed)], "verilator")
    result.require(UNCOUNTED)
    shapes = len(shuffled_shapes(Random(seed), config_of(config)))
    assert result.counts["ledger: blocks ok"] == shapes + PLACES


@pytest.mark.deep
@pytest.mark.parametrize("mode", POLICIES_AND_RECLAIMS)
@pytest.mark.parametrize("config", ["tiny", "tiny,sms=1", "tiny,sms=3,block_slots=5", "default"])
def test_equals_its_model_for_long(config, mode, seed):
    for n in range(3):
        run(cases(soon(f"{config},{mode}"), seed + n, 20_000), "verilator")
        run(stress_cases(soon(f"{config},{mode}"), seed + n), "verilator")


#: Its own, and one fault of each part (the parts' own tests find the rest), with its profile.
FAULTS = {
    "ends_twice": ("mixed", ENDS_TWICE),
    "launch_check.warps": ("no_stops", LAUNCH_CHECK["warps"]),
    "block_dispatcher.wrong_slot": ("no_stops", BLOCK_DISPATCHER["wrong_slot"]),
    "block_dispatcher.stale_address": ("no_stops", BLOCK_DISPATCHER["stale_address"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_seeded_fault_is_found(fault, seed, monkeypatch):
    profile, change = FAULTS[fault]
    plant(monkeypatch, [change])
    tries = [path_case("tiny", profile, seed + n, 2000) for n in range(24)]
    with pytest.raises(LockstepError):
        run(tries, "amaranth", waves=False)


# What becomes of launches, on the model alone


def test_tickets_count_from_one_and_every_one_gets_its_record():
    recording = path_run([LAUNCH] * 5, cycles=200)
    assert answers(recording) == [(ticket, 0) for ticket in range(1, 6)]
    assert records(recording) == [(ticket, *FINE) for ticket in range(1, 6)]


@pytest.mark.rule("launch_path", 2, 3)
def test_a_refused_launch_gets_no_ticket_and_no_record():
    bad = replace(LAUNCH, grid=(0, 1, 1))
    recording = path_run([LAUNCH, bad, LAUNCH])
    assert answers(recording) == [(1, 0), (0, ErrorCode.GRID_ZERO), (2, 0)]
    assert records(recording) == [(1, *FINE), (2, *FINE)]


@pytest.mark.rule("launch_path", 2)
def test_another_priority_is_refused_while_the_stream_has_unfinished_launches():
    other = replace(LAUNCH, priority=1)
    recording = path_run([LAUNCH, other, replace(other, stream=1)])
    assert answers(recording) == [(1, 0), (0, ErrorCode.STREAM_PRIORITY), (2, 0)]


@pytest.mark.rule("launch_path", 13)
def test_a_waiting_launch_taken_back_is_skipped():
    # The first launch's blocks never end; the second one, of its stream, waits in a place, and the
    # third one in the queue.
    recording = path_run([LAUNCH] * 3, length=0, stops={60: {"ticket": 3}, 62: {"ticket": 2}})
    assert records(recording) == [(3, *SKIPPED), (2, *SKIPPED)]


def test_a_drained_launch_says_where_to_go_on():
    long = replace(LAUNCH, grid=(3, 2, 1), barriers=4)
    recording = path_run([long], length=40, stops={30: {"ticket": 1, "drain": 1}})
    end = RECORD.unpack(recording.transfers("ended")[0][1])
    assert (end["fate"], end["next_x"], end["next_y"], end["next_z"]) == (Fate.DRAINED, 2, 0, 0)


@pytest.mark.rule("launch_path", 14)
def test_a_launch_finished_before_its_stop_is_finished():
    """A kernel all of whose blocks were reported is finished, never killed."""
    recording = path_run([LAUNCH], stops={100: {"ticket": 1}})
    assert records(recording) == [(1, *FINE)]
    assert unknown_stops(recording) == [102]


LOSSY = config_of("tiny,kill_timeout=16")


@pytest.mark.rule("launch_path", 19)
def test_a_lost_sm_breaks_its_streams_until_they_are_cleared():
    launches = [LAUNCH, LAUNCH, replace(LAUNCH, stream=1), LAUNCH]
    bus = Bus(
        LOSSY,
        launches,
        length=0,
        stops={30: {"ticket": 1}},
        enable=1,
        launch__hold=lambda cycle: int(cycle in range(1, 70) or cycle in range(72, 90)),
        clear_stream__valid=lambda cycle: int(cycle == 80),
    )
    recording = record(Model(LOSSY), bus, 140)
    # SM 0 holds the killed launch's blocks and does not report them.
    assert recording.port("lost")[-1] == 1
    assert records(recording) == [(1, Fate.FAILED, ErrorCode.SM_LOST)]
    assert answers(recording) == [(1, 0), (0, ErrorCode.STREAM_BROKEN), (2, 0), (3, 0)]


@pytest.mark.rule("launch_path", 2, 13)
def test_with_every_sm_lost_waiting_launches_fail_and_new_ones_are_refused():
    bus = Bus(
        LOSSY,
        [LAUNCH] * 5,
        length=0,
        stops={30: {"ticket": 1}},
        launch__hold=lambda cycle: int(cycle in range(3, 90)),
        clear_stream__valid=lambda cycle: int(cycle > 60),
    )
    recording = record(Model(LOSSY), bus, 140)
    assert recording.port("lost")[-1] == 3
    assert sorted(records(recording)) == [
        (1, Fate.FAILED, ErrorCode.SM_LOST),
        (2, Fate.FAILED, ErrorCode.NO_SM),
        (3, Fate.FAILED, ErrorCode.NO_SM),
    ]
    assert [code for _, code in answers(recording)] == [0, 0, 0, *[ErrorCode.NO_SM] * 2]


def test_a_kernel_of_one_stream_starts_after_the_one_before_has_ended():
    recording = path_run([LAUNCH, LAUNCH], length=20)
    starts = [cycle for cycle, word in recording.transfers("offer__0")]
    ends = [cycle for cycle, _ in recording.transfers("ended")]
    # First tickets on SM 0, in a run where each SM gets one block of each launch.
    assert len(starts) == 2 and starts[1] >= starts[0] + 20
    # A report in t: gone in t + 3, its place is free in t + 6 (`end`). Held by order no longer, the
    # next launch is given in t + 7, decided in t + 9 (`change`), and offered in t + 11 (`offer`).
    reports = recording.cycles("report__0__valid") + recording.cycles("report__1__valid")
    assert min(c for c in starts if c > starts[0]) == sorted(reports)[1] + 11
    assert len(ends) == 2
