"""The event model's dispatcher and SMs: literal times, and the cycle model on random scripts."""

from dataclasses import replace

import pytest

from tb.support.deep_values import thorough_but
from tb.support.resident_runs import Script, by_cycles, by_events, random_script
from warploom_spec import LaunchDescriptor, preset
from warploom_spec.errors import BlockStatus, ErrorCode, Fate
from warploom_spec.queue import Mode

TINY = replace(preset("tiny"), stream_bits=2, kill_timeout=64)
MODES = [
    (policy, reclaim)
    for policy in ("round_robin", "first_fit", "least_loaded", "freed_first")
    for reclaim in ("out_of_order", "in_order")
]
#: Machines that are odd in one respect each.
ODD = (
    replace(TINY, sms=1, block_slots=1, stream_bits=1),
    replace(TINY, sms=7, block_slots=3, stream_bits=3),
    replace(TINY, sms=3, stream_bits=1, sm_kill=False),
    replace(TINY, sms=5, block_slots=2, policy="least_loaded"),
)


def launch(stream, blocks, length=4, **fields):
    """Return a launch of equal blocks of one warp; their length has no jitter up to 4 cycles."""
    return LaunchDescriptor(
        grid=(blocks, 1, 1), block=(1, 1, 1), stream=stream, arguments=length, code=stream, **fields
    )


def run(*launches, config=TINY, **script):
    """Return offers, reports and ends of launches that start in cycle 100 or later."""
    given = [(100, each) for each in launches]
    return by_events(config, Script(given, **{"cycles": 400} | script))[:3]


def test_a_start_is_offered_nine_cycles_later_and_a_slot_is_used_again_ten_after_its_report():
    config = replace(TINY, sms=1, block_slots=2)
    offers, reports, ends = run(launch(0, 3), config=config)
    # Of an SM a block is picked in every fifth cycle.
    assert [(cycle, slot) for cycle, _, slot, _, _ in offers] == [(109, 0), (114, 1), (123, 0)]
    assert [cycle for cycle, *_ in reports] == [113, 118, 127]
    assert ends == [(133, 0, Fate.FINISHED, ErrorCode.OK)]


def test_each_stream_has_a_resident_and_the_oldest_is_placed_first():
    config = replace(TINY, sms=2, block_slots=4)
    three = [launch(stream, 2) for stream in range(3)]
    offers, _, ends = run(*three, config=config)
    # A launch a cycle starts; a change costs four cycles.
    assert [(cycle, ticket) for cycle, _, _, ticket, _ in offers] == [
        (109, 0),
        (110, 0),
        (114, 1),
        (115, 1),
        (119, 2),
        (120, 2),
    ]
    assert [stream for _, stream, *_ in ends] == [0, 1, 2]


def test_a_higher_priority_is_placed_first_and_the_lower_launch_goes_on():
    config = replace(TINY, sms=1, block_slots=1)
    low, high = launch(0, 6), launch(1, 1, priority=1)
    script = Script([(100, low), (125, high)], cycles=400)
    offers, _, _ = by_events(config, script)[:3]
    tickets = [ticket for _, _, _, ticket, _ in offers]
    assert tickets == [0, 0, 1, 0, 0, 0, 0]
    assert [block for *_, ticket, block in offers if ticket == 0] == [0, 1, 2, 3, 4, 5]


def test_a_held_launch_places_nothing_and_goes_on_where_it_stood():
    config = replace(TINY, sms=1, block_slots=1)
    levels = {120: (1, 0), 200: (0, 0)}
    offers, _, ends = run(launch(0, 4), config=config, levels=levels)
    assert not [cycle for cycle, *_ in offers if 124 < cycle < 203]
    assert [block for *_, block in offers] == [0, 1, 2, 3]
    assert len(ends) == 1


def test_a_begun_launch_of_mode_wait_is_placed_to_its_last_block_whatever_is_held():
    config = replace(TINY, sms=1, block_slots=1)
    levels = {120: (1, 0)}
    offers, _, _ = run(launch(0, 4, mode=Mode.WAIT), config=config, levels=levels)
    assert len(offers) == 4


def test_a_stopped_launch_ends_killed_and_its_blocks_say_so():
    levels = {130: (0, 1), 131: (0, 0)}
    _, reports, ends = run(launch(0, 40, 400), levels=levels)
    assert {status for *_, status in reports} == {BlockStatus.KILLED}
    assert min(cycle for cycle, *_ in reports) == 131
    assert [(stream, fate) for _, stream, fate, _ in ends] == [(0, Fate.KILLED)]


def test_a_silent_sm_is_lost_and_fails_the_launch():
    levels = {130: (0, 1), 131: (0, 0)}
    script = Script([(100, launch(0, 40, 400))], levels, silent={1: 0}, cycles=900)
    _, _, ends, _, machine = by_events(TINY, script)
    assert machine.lost == [1]
    assert [(fate, code) for _, _, fate, code in ends] == [(Fate.FAILED, ErrorCode.SM_LOST)]


@pytest.mark.parametrize(("policy", "reclaim"), thorough_but([MODES[0], MODES[7]], MODES))
def test_equals_the_cycle_model(policy, reclaim, seed):
    config = replace(TINY, policy=policy, reclaim=reclaim)
    for n in range(4):
        script = random_script(config, seed + n)
        assert by_events(config, script)[:4] == by_cycles(config, script)[:4], seed + n


@pytest.mark.thorough
@pytest.mark.parametrize("config", ODD)
def test_odd_machines_equal_the_cycle_model(config, seed):
    for n in range(8):
        script = random_script(config, seed + n)
        assert by_events(config, script)[:4] == by_cycles(config, script)[:4], seed + n


def grouped(policy, sms, **fields):
    """Return a machine whose SMs stand in groups."""
    return replace(TINY, policy=policy, reclaim="out_of_order", sms=sms, **fields)


@pytest.mark.parametrize("policy", ["round_robin", "freed_first"])
def test_groups_have_stages_of_their_own(policy):
    """The page's table for more than 16 SMs: a start, the first return of full SMs, an end."""
    config = grouped(policy, 17, block_slots=2)
    candidate = int(policy == "round_robin")
    offers, reports, ends = run(launch(0, 40, 200), config=config, cycles=900)
    assert offers[0][:3] == (112 + candidate, 0, 0)
    cycle, sm, slot, _ = reports[0]
    # `round_robin` sees the report after 12 cycles. In `freed_first` the SM enters the FIFO after
    # 10, is at the output after 12 and the head after 13. An offer comes 5 after its pick.
    assert offers[34][:3] == (cycle + (17 if candidate else 18), sm, slot)
    assert [cycle for cycle, *_ in ends] == [reports[-1][0] + 7]


@pytest.mark.parametrize("sms", [17, 33])
@pytest.mark.parametrize("policy", ["round_robin", "freed_first"])
def test_groups_equal_the_cycle_model(policy, sms, seed):
    config = grouped(policy, sms, block_slots=2)
    script = random_script(config, seed, launches=30)
    assert by_events(config, script)[:4] == by_cycles(config, script)[:4]


def test_the_cycle_model_does_not_sleep_with_looks_in_its_pipes():
    # A launch comes just when the scan has moved: looks at three SMs are on their way.
    config = grouped("round_robin", 33, block_slots=1)
    script = random_script(config, 6, launches=40)
    assert by_events(config, script)[:4] == by_cycles(config, script)[:4]


@pytest.mark.thorough
@pytest.mark.parametrize("sms", [17, 18, 32, 33])
@pytest.mark.parametrize("policy", ["round_robin", "freed_first"])
def test_many_groups_equal_the_cycle_model(policy, sms, seed):
    for n in range(5):
        config = grouped(policy, sms, block_slots=1 + n % 3)
        script = random_script(config, seed + n, launches=40)
        assert by_events(config, script)[:4] == by_cycles(config, script)[:4], seed + n
        assert by_events(config, script)[:4] == by_events(config, script, dense=True)[:4], seed + n


@pytest.mark.thorough
@pytest.mark.parametrize("policy", ["round_robin", "freed_first"])
def test_as_many_sms_as_the_h200s_equal_the_cycle_model(policy, seed):
    config = grouped(policy, 132)
    script = random_script(config, seed, launches=60, cycles=1200)
    assert by_events(config, script)[:4] == by_cycles(config, script)[:4]


@pytest.mark.thorough
@pytest.mark.parametrize(("policy", "reclaim"), MODES)
def test_cycles_that_are_skipped_change_nothing(policy, reclaim, seed):
    config = replace(TINY, policy=policy, reclaim=reclaim, sms=4)
    script = random_script(config, seed)
    assert by_events(config, script)[:4] == by_events(config, script, dense=True)[:4]
