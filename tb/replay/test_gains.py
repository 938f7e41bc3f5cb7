"""Gains: the event model with one bound relaxed, against list scheduling by hand and by numbers."""

import random
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import pytest

from tb.replay.test_event_model import random_launches
from tb.support.deep_values import thorough_but
from tb.support.hand_scheduler import HandStreams
from warploom_golden.replay import event_model
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_golden.replay.gains import Gain, Workload, find_gains, run_queue
from warploom_golden.replay.machine import RELAXATIONS, SPEED, Machine, parts, relaxed, together
from warploom_golden.replay.refusal import judge
from warploom_golden.replay.waits import Waits
from warploom_spec import RESOURCES, Config, LaunchDescriptor, WarploomError, capacities, preset
from warploom_spec.config import RECLAIMS

#: Blocks so long that what the dispatcher takes is less than a thousandth of a percent of them.
LONG = 1 << 20
TINY = preset("tiny")
ALONE = LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1), arguments=LONG, address_space=1)


def crowd() -> Workload:
    """Return launches that fill the SMs: each is short of another resource."""
    kinds: tuple[dict[str, Any], ...] = (
        # No region overlaps another shape's: the hand knows nothing of indices.
        {"block": (8, 1, 1), "barriers": 0, "index_address": 0},
        {"block": (48, 1, 1), "index_address": 16},
        {"warp_registers": 5},
        {"shared": 25},
        {"barriers": 2},
    )
    launches = [
        replace(
            replace(ALONE, block=(16, 1, 1), index_address=8, address_space=4),
            grid=(13 + 2 * number, 1, 1),
            stream=number % 2,
            code=number,
            **kind,
        )
        for number, kind in enumerate(kinds)
    ]
    return Workload(launches, replace(TINY, history_entries=8, reclaim="in_order"), seed=1)


def streams() -> Workload:
    """Return small launches of four streams: order holds them back.

    A stream's second launch and another stream's first one never get ready within a few cycles: the
    hand, which has no latencies, could not tell which comes first.
    """
    launches = [
        replace(
            ALONE,
            grid=(1 + number % 3, 1, 1),
            block=(16, 1, 1),
            stream=number % 4,
            code=number,
            arguments=LONG * (1 + number % 2),
            address_space=2,
        )
        for number in range(8)
    ]
    return Workload(launches, replace(TINY, reclaim="in_order"), seed=7)


def mixed() -> Workload:
    """Return launches that arrive one by one, differ in all that they take, and wait for others."""
    launches = [
        replace(
            ALONE,
            grid=(2 + 3 * number % 7, 1, 1),
            block=(8 * (1 + number % 4), 1, 1),
            stream=number % 3,
            shared=(0, 30, 10)[number % 3],
            barriers=(0, 0, 2)[number % 3],
            index_address=8 * (number % 4),
            code=number,
            arguments=LONG * (1 + number % 2),
            address_space=1 + number,
        )
        for number in range(7)
    ]
    arrivals = [LONG * when for when in (0, 0, 0, 2, 2, 9, 9)]
    pairs = [(), (), ((0, 1),), (), ((2, 1), (0, 2)), (), ((2, 2),)]
    waits = Waits(pairs, [()] * 7)
    config = replace(TINY, history_entries=8)
    return Workload(launches, config, seed=3, arrivals=arrivals, waits=waits)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "crowd": crowd,
    "streams": streams,
    "mixed": mixed,
}


def by_hand(work: Workload, name: str | None, knee: int | None) -> float:
    """Return the cycles of a run by list scheduling, with a bound relaxed by its page's words."""
    given = (work.launches, work.config, work.seed, knee, work.arrivals)
    pairs = work.waits.pairs if work.waits else ()
    schedule = HandStreams(*given, waits=pairs)
    if name and set(parts(name)) <= {*RESOURCES}:
        sizes = dict.fromkeys(parts(name), 10**9)
        # The page: as many block slots as warp slots.
        schedule.sizes = sizes | ({"slots": work.config.warp_slots} if "slots" in sizes else {})
    changes = {
        "sms": {"config": replace(work.config, sms=2 * work.config.sms)},
        "order": {"ordered": False},
        "reclaim": {"at_once": True},
    }
    return replace(schedule, **changes.get(name or "", {})).run()


def gains(work: Workload, knee: int | None) -> dict[str, Gain]:
    return {gain.name: gain for gain in find_gains(work, [knee])}


@pytest.mark.parametrize("knee", [None, 4])
@pytest.mark.parametrize("name", WORKLOADS)
def test_gains_are_those_of_list_scheduling_by_hand(name: str, knee: int | None) -> None:
    work = WORKLOADS[name]()
    blocks = sum(prod(launch.grid) for launch in work.launches)
    if knee is not None:
        # The dispatcher picks the SM that is known first (rules 14 to 18). Of two whose room comes
        # at once it is the one whose verdict lands first: that of a launch's last pick before the
        # scan's, that of the block which retires first before a later one. The hand has no cycles,
        # and with contention it counts which blocks share an SM: here they all do. Twice the SMs
        # are compared with hardware below, to the cycle.
        work = replace(work, config=replace(work.config, sms=1))
    for gain in gains(work, knee).values():
        if gain.name == "sms" and knee is not None:
            continue
        before = by_hand(work, None, knee)
        cycles = by_hand(work, gain.name, knee)
        # The hand has no latencies. A block has a few cycles, with contention a multiple of them.
        assert -1 <= gain.cycles - cycles < 20 * blocks, gain
        percent = 100 * (before - cycles) / before
        assert gain.fewer_cycles_percent == pytest.approx(percent, abs=0.01), gain


def test_each_bound_holds_one_of_the_three_back() -> None:
    """So a relaxation that the model forgets is found above."""
    found = [gains(WORKLOADS[name](), knee) for name in WORKLOADS for knee in (None, 4)]
    best = {name: max(one[name].fewer_cycles_percent for one in found) for name in RELAXATIONS}
    # Long blocks hide what the dispatcher takes.
    del best["rate"]
    assert min(best.values()) > 1, best


# --- resources that hide each other --------------------------------------------------------------
def alike(blocks: int = 60, **fields: Any) -> Workload:
    """Return two launches of blocks that all take the same: a slot, a warp and what is given."""
    one = replace(ALONE, grid=(blocks, 1, 1), barriers=0)
    launches = [replace(one, code=number, **fields) for number in range(2)]
    return Workload(launches, replace(TINY, warp_slots=8, barriers=4, shared_units=40), seed=5)


HIDING: dict[tuple[str, ...], Callable[[], Workload]] = {
    # Of 4 slots and 4 barriers each block takes one, of 8 warps one: twice as many would fit.
    ("slots", "barriers"): lambda: alike(barriers=1),
    # Two warps each: 4 blocks fill the warps, too.
    ("slots", "warps", "barriers"): lambda: alike(block=(16, 1, 1), barriers=1),
    # 10 of 40 units: shared memory as well, and 8 of 32 registers.
    ("slots", "registers", "shared"): lambda: alike(shared=10, warp_registers=8),
    # Warps and slots bind at 4 blocks, and no block takes a barrier.
    ("slots", "warps"): lambda: alike(block=(16, 1, 1)),
}


@pytest.mark.parametrize("hiding", HIDING)
def test_resources_that_hide_each_other_have_a_gain_together(hiding: tuple[str, ...]) -> None:
    """As much as by hand; each alone, and all of them without one, gain nothing."""
    work = HIDING[hiding]()
    found = gains(work, None)
    name = together(hiding)
    assert found.keys() - {*RELAXATIONS} == {name}
    before = by_hand(work, None, None)
    percent = 100 * (1 - by_hand(work, name, None) / before)
    assert found[name].fewer_cycles_percent == pytest.approx(percent, abs=0.01)
    assert percent > 40
    for one in hiding:
        assert found[one].fewer_cycles_percent == pytest.approx(0, abs=0.01)
        fewer = together({*hiding} - {one})
        assert by_hand(work, fewer, None) == pytest.approx(before)


def test_a_bound_that_is_alone_has_no_set() -> None:
    """Of 40 units of shared memory each block takes 20; four slots and four warps are enough."""
    work = alike(shared=20)
    found = gains(replace(work, config=replace(work.config, warp_slots=4)), None)
    assert found.keys() == {*RELAXATIONS}
    assert found["shared"].fewer_cycles_percent > 40


def test_with_contention_more_blocks_slow_each_other_down() -> None:
    """The set is found without contention, and gains nothing with it: either way it has a row."""
    work = alike(240, barriers=1)
    found = {(one.name, one.knee): one.fewer_cycles_percent for one in find_gains(work, [None, 4])}
    assert found["slots+barriers", None] > 40
    assert found["slots+barriers", 4] < 2
    # Asked for that alone there is no such row.
    assert gains(work, 4).keys() == {*RELAXATIONS}


def test_slots_that_others_leave_empty_need_no_run() -> None:
    """With as many barriers as slots more slots alone are no other machine."""
    work = alike(barriers=1)
    assert relaxed(work.config, "slots", work.launches) == Machine.of(work.config)
    free = alike()
    assert relaxed(free.config, "slots", free.launches).sizes[0] == work.config.warp_slots


def test_slots_that_stay_empty_are_left_out() -> None:
    """Four barriers: of 16 slots 12 stay empty, even if a refused launch would take no barrier."""
    config = replace(TINY, sms=1, reclaim="in_order")
    blocks = replace(ALONE, grid=(100, 1, 1), barriers=1, arguments=30)
    refused = replace(blocks, block=(7, 0, 1), barriers=0, code=1)
    work = Workload([blocks, refused], config, seed=11)
    assert relaxed(config, "slots", [blocks]) == Machine.of(config)
    slots = gains(work, None)["slots"]
    assert slots.before == slots.cycles == cycles_of(work, None)


# --- the same question, asked in another way -----------------------------------------------------
def cycles_of(work: Workload, knee: int | None) -> int:
    """Return the cycles of a run as it is."""
    return round(run_queue(work, Machine.of(work.config), knee))


def filled_slots(work: Workload) -> int:
    """Return how many block slots `slots` gives, by the page: none that always stays empty."""
    config = work.config
    accepted = [launch for launch in work.launches if not judge(launch, config)[0]]
    warps = [-(-prod(launch.block) // config.warp_size) for launch in accepted]
    needs = {
        "warps": warps,
        "registers": [n * one.warp_registers for n, one in zip(warps, accepted, strict=True)],
        "shared": [launch.shared for launch in accepted],
        "barriers": [launch.barriers for launch in accepted],
    }
    least = {name: min(amounts, default=0) for name, amounts in needs.items()}
    fitting = [capacities(config)[name] // amount for name, amount in least.items() if amount]
    return max(config.block_slots, min(fitting, default=0))


def drawn(rng: random.Random, config: Config) -> Workload:
    launches = random_launches(rng, config, 12, crowded=rng.random() < 0.7)
    urgent = [rng.randrange(1 << config.priority_bits) for _ in range(1 << config.stream_bits)]
    launches = [
        replace(launch, address_space=rng.randint(0, 40), priority=urgent[launch.stream])
        for launch in launches
    ]
    # None before the boot, which takes a cycle a slot.
    arrivals = sorted(rng.choice((2 * config.warp_slots, 300, 1000)) for _ in launches)
    before = [sorted(rng.sample(range(n), rng.randint(0, min(n, 2)))) for n in range(len(launches))]
    pairs = [[(launches[n].stream, 1) for n in own[:1]] for own in before]
    waits = Waits(pairs, [own[1:] for own in before])
    seed, kill_every = rng.randrange(1 << 32), rng.choice((None, 2))
    return Workload(launches, config, seed, kill_every, arrivals, waits)


@pytest.mark.parametrize("knee", [None, 3])
def test_as_it_is_a_run_takes_the_cycles_of_the_replay(knee: int | None, seed: int) -> None:
    for number in range(4):
        work = drawn(random.Random(f"{seed}-{number}"), TINY)
        given = (work.launches, work.config, work.seed, work.kill_every, knee)
        tables = event_model.run(*given, work.arrivals, work.waits).tables
        last = max(int(tables[kind]["cycle"].max(initial=0)) for kind in ("answers", "ended"))
        assert cycles_of(work, knee) == last + 1


@pytest.mark.parametrize(
    ("policy", "reclaim"),
    thorough_but(
        [("round_robin", "out_of_order"), ("freed_first", "in_order")],
        [(policy, reclaim) for policy in PREDICTED_POLICIES for reclaim in RECLAIMS],
    ),
)
def test_to_the_cycle_what_hardware_with_more_of_it_takes(
    policy: str, reclaim: str, seed: int
) -> None:
    """What can be configured can also be relaxed: either way it takes the same cycles."""
    rng = random.Random(f"{seed}-{policy}-{reclaim}")
    config = replace(TINY, policy=policy, reclaim=reclaim)
    for knee in (None, 3):
        work = drawn(rng, config)
        most = [max(launch.barriers for launch in work.launches)]
        most += [max(launch.shared for launch in work.launches)]
        larger = {
            "sms": {"sms": 2 * config.sms},
            "slots": {"block_slots": filled_slots(work)},
            "barriers": {"barriers": max(config.barriers, config.block_slots * most[0])},
            "shared": {"shared_units": max(config.shared_units, config.block_slots * most[1])},
        }
        for name, gain in gains(work, knee).items():
            assert gain.before == cycles_of(work, knee), name
            if name in larger:
                hardware = replace(work, config=replace(config, **larger[name]))
                assert gain.cycles == cycles_of(hardware, knee), name


@pytest.mark.parametrize("knee", [None, 3])
def test_a_rate_without_bound_is_blocks_so_much_longer(knee: int | None, seed: int) -> None:
    work = drawn(random.Random(seed), TINY)
    # Of a base length that 1,024 divides the jitter is so many times longer, too.
    times = [replace(one, arguments=1024 * (1 + one.arguments % 9)) for one in work.launches]
    longer = [replace(one, arguments=SPEED * one.arguments) for one in times]
    arrivals = [SPEED * cycle for cycle in work.arrivals or []]
    other = replace(work, launches=longer, arrivals=arrivals)
    rate = run_queue(replace(work, launches=times), relaxed(TINY, "rate", times), knee)
    assert SPEED * rate == cycles_of(other, knee)


def test_without_dispatch_cycles_short_blocks_take_what_the_hand_says() -> None:
    launches = [
        replace(ALONE, grid=(300, 1, 1), block=(16, 1, 1), code=number, arguments=40)
        for number in range(3)
    ]
    work = Workload(launches, TINY, seed=4)
    hand = by_hand(work, None, None)
    # As it is, a block takes four cycles more than its length at the least.
    assert cycles_of(work, None) > hand * 1.1
    assert hand < gains(work, None)["rate"].cycles < hand * 1.01


# --- by numbers ----------------------------------------------------------------------------------
def test_a_slot_is_free_in_the_cycle_after_its_report() -> None:
    """One slot: picked in p, offered in p + 3, due L later, picked again when that is known."""
    config = replace(TINY, sms=1, block_slots=1)
    launch = replace(ALONE, grid=(20, 1, 1), arguments=4)
    work = Workload([launch], config, seed=0)
    first = replace(work, launches=[replace(launch, grid=(1, 1, 1))])
    # As it is, a report is known four cycles later (rule 26): the way to the books is left out.
    for machine, known in ((relaxed(config, "reclaim", [launch]), 3), (Machine.of(config), 7)):
        assert run_queue(work, machine) - run_queue(first, machine) == 19 * (3 + 4 + known)


def test_runs_at_once_find_what_one_after_the_other_does(seed: int) -> None:
    work = drawn(random.Random(seed), TINY)
    found = [find_gains(work, [None, 3], threads) for threads in (1, 4)]
    assert found[0] == found[1]
    names = [one.name for one in found[0] if one.knee is None]
    assert names[: len(RELAXATIONS)] == [*RELAXATIONS]
    assert [(one.name, one.knee) for one in found[0]] == [
        (name, knee) for knee in (None, 3) for name in names
    ]


def test_no_launch_gains_nothing() -> None:
    assert {one.fewer_cycles_percent for one in find_gains(Workload([], TINY, 0), [None])} == {0.0}


# --- refusals ------------------------------------------------------------------------------------
def test_what_there_is_no_room_for_is_refused() -> None:
    with pytest.raises(WarploomError, match="^sms is 1025; legal in the event model: 1 to 1024$"):
        Machine(sms=1025, sizes=(1,) * len(RESOURCES))
    with pytest.raises(WarploomError, match="^slots is 129; legal in the event model: 1 to 128$"):
        Machine(sms=1, sizes=(129, *(1,) * (len(RESOURCES) - 1)))
    with pytest.raises(WarploomError, match="^relaxation is 'clock'; legal: sms, slots, warps,"):
        relaxed(TINY, "clock", [])
