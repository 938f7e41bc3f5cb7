"""LaunchPath beside random surroundings: its books are right, and hard cases happen."""

from collections import Counter
from random import Random

import pytest

from tb.launch.path_events import NAMES, NEAR_THE_WRAPS, PathEvents
from tb.launch.path_host import PathHost, surroundings
from tb.launch.queue_books import play_model
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of, soon
from tb.support.hard_cases import run_until
from tb.support.planted import plant
from warploom.launch._queue_choice import QueueChoice
from warploom.launch.launch_path import LaunchPath
from warploom_dev.planted import Change
from warploom_dev.rewrite import Rewrite
from warploom_golden.launch import LaunchPath as Model
from warploom_golden.launch import queue_cycle
from warploom_golden.launch.queue_cycle import Cycle
from warploom_golden.launch.queue_moves import Moves
from warploom_golden.launch.queue_packing import Packets
from warploom_golden.launch.record_queue import RecordQueue as RecordQueueModel
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_sim.cosim.lockstep.events import require

#: Configurations; SMs are lost soon.
SMALL = soon("tiny,stream_bits=2")
CONFIGS = (
    SMALL,
    soon("tiny"),
    soon("tiny,queue_depth=1"),
    soon("tiny,queue_depth=2,stream_bits=2,sms=3,launch_waits=4"),
    soon("tiny,policy=freed_first,reclaim=in_order,launch_waits=0"),
    "tiny,sm_kill=False",
    soon("tiny,index_memory_warps=0"),
    soon("tiny,stream_bits=1,priority_bits=1,launch_waits=1"),
    soon("default"),
)
#: Rounds of so many cycles after which a case that has not happened is said to happen never.
ROUND, MOST = 3000, 60
#: Cycles in which a wrong rule must have been found, in runs of so many.
SOON, RUN = 48_000, 8000


def play(config, seed, cycles):
    """Run the model alone in its surroundings; the ledger looks at every cycle."""
    model = Model(config_of(config))
    around = PathHost(config_of(config), Random(seed))
    books = PathEvents(config_of(config))
    return play_model(model, around, books, cycles), around


@pytest.mark.parametrize("config", CONFIGS)
def test_the_rules_alone_keep_the_books(config, seed):
    play(config, seed, 500)


@pytest.mark.deep
@pytest.mark.parametrize("config", CONFIGS)
def test_the_rules_alone_keep_the_books_for_long(config, seed):
    idle_times = sum(play(config, f"{seed}/{n}", 4000)[1].idle_times for n in range(8))
    assert idle_times > 20


@pytest.mark.deep
def test_every_hard_case_happens(seed):
    total = Counter()
    for number in range(MOST):
        total += play(SMALL, f"{seed}/{number}", ROUND)[0]
        if all(total[name] for name in NAMES):
            break
    require(NAMES, {name: total[name] for name in NAMES})


# Lockstep


def make(config, **first):
    """Make a LaunchPath and its model."""
    chosen = config_of(config)
    return LaunchPath(chosen, **first), Model(chosen, **first)


#: What a soft reset withdraws, as a reset does.
WITHDRAWN = "a restart withdraws what a reset withdraws"


def case(config, seed, cycles, resets=4, **first):
    """Return a run of RTL and model in random surroundings, with the books beside it.

    ``first`` is nothing or `NEAR_THE_WRAPS`.
    """
    chosen = config_of(config)
    events = "LATE_EVENTS" if first else "EVENTS"
    streams = [f"offer__{n}" for n in range(chosen.sms)] + ["data"] * chosen.makes_indices
    return Case(
        make=make,
        params={"config": config, **first},
        seed=seed,
        cycles=cycles,
        resets=resets,
        stimulus=surroundings,
        events={"books": f"tb.launch.path_events:{events}.{config}"},
        withdrawable=dict.fromkeys(streams, WITHDRAWN),
    )


@pytest.mark.rule("launch_path", 15)
def test_equals_its_model_on_amaranth(seed):
    run([case(SMALL, seed, 200, resets=1, **NEAR_THE_WRAPS)], "amaranth")


@pytest.mark.deep
def test_equals_its_model_on_icarus(seed):
    run([case(SMALL, seed, 1500, **NEAR_THE_WRAPS)], "icarus")


@pytest.mark.rule("launch_path", 5)
@pytest.mark.deep
@pytest.mark.parametrize("config", CONFIGS)
def test_equals_its_model_for_long(config, seed):
    run([case(config, seed + number, 10_000) for number in range(3)], "verilator")


@pytest.mark.deep
@pytest.mark.coverage
def test_equals_its_model_and_hard_cases_happen(seed):
    def cases(number):
        return [case(SMALL, seed + number, 30_000, resets=12, **NEAR_THE_WRAPS)]

    run_until(NAMES, cases, "verilator")


@pytest.mark.deep
def test_lockstep_finds_a_wrong_rule(monkeypatch, seed):
    """The RTL's streams do not rotate; the books would not tell."""
    plant(
        monkeypatch, [Change(QueueChoice, "_next", "later.eq(group & behind)", "later.eq(group)")]
    )
    # It takes from 20 to 20,000 cycles until the order of streams is another one.
    cases = [case(SMALL, seed + number, 10_000) for number in range(6)]
    with pytest.raises(LockstepError):
        run(cases, "verilator", waves=False)


# Wrong rules

#: Those that are found soonest.
ORDER, MODES = "the records' order", "a mode that does not exist is accepted"
#: A wrong rule each, and the part of the message that finds it.
WRONG = {
    "a head does not wait": (
        Rewrite(queue_cycle, "is_reached", "REACHED_BELOW", "COUNTS"),
        "did not wait",
    ),
    "a drained launch begins anew": (
        Rewrite(Packets, "launch", "launch.start", "(0, 0, 0)"),
        "its next one is",
    ),
    "a drained launch is numbered from 0 again": (
        Rewrite(Model, "_to_dispatcher", 'queue["launch_number"] or 0', "0"),
        r"a block of \d+: (\d+) is (?!\1)",
    ),
    "a purged launch has no record": (
        Rewrite(Moves, "_handle_passing", "passing.record is not None", "False"),
        "passes a launch without a record",
    ),
    "a waiting head is never loaded": (
        Rewrite(Cycle, "_wants_job", "not stream.loaded", "False"),
        "a deadlock",
    ),
    ORDER: (
        Rewrite(RecordQueueModel, "tick", "self._memory.popleft()", "self._memory.pop()"),
        "the records' order",
    ),
    MODES: (
        Rewrite(Model, "_pack_checked", "Mode.YIELD", "7"),
        "is accepted",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", deep_but([MODES, ORDER], WRONG))
def test_the_books_find_a_wrong_rule(monkeypatch, wrong, seed):
    change, says = WRONG[wrong]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError, match=says):
        for number in range(SOON // RUN):
            play(SMALL, f"{seed}/{number}", RUN)
