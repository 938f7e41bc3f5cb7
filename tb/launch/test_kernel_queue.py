"""KernelQueue in lockstep: all commands, waits, modes and fates; odd machines; seeded faults."""

import pytest

from tb.launch import test_kernel_queue_hazards as hazards
from tb.launch import test_kernel_queue_preemption_rules as rules
from tb.support.deep_values import deep_but, thorough_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.kernel_queue_cases import MOODS, queue_case
from tb.support.kernel_queue_ledger import EVENTS, EVENTS_WITH_LOOPS, INDICES
from tb.support.planted import plant
from tb.support.seeded_faults import KERNEL_QUEUE
from warploom.launch.kernel_queue import KernelQueue
from warploom_sim.cosim.lockstep import LockstepError, run

LOOPS = "tiny,stream_bits=2"
SMALL = f"{LOOPS},loop_templates=0"
#: Machines that are odd in one respect each, and what can not happen there.
ODD = {
    "tiny": (),
    # Nothing waits behind a launch.
    "tiny,stream_bits=3,launch_waits=1,queue_depth=1,loop_templates=0": ("failed STREAM_BROKEN",),
    "tiny,stream_bits=2,launch_waits=0,loop_templates=0": ("refused WAIT_AHEAD",),
    "tiny,stream_bits=1,launch_waits=4,sm_kill=False,loop_templates=0": ("kills", "watched killed"),
    "tiny,stream_bits=2,queue_depth=64,priority_bits=1,loop_templates=0": (),
    "tiny,stream_bits=3,index_memory_warps=0,loop_templates=0": INDICES,
    LOOPS: (),
    "tiny,stream_bits=3,launch_waits=4,loop_templates=4,loop_sections=1,queue_depth=1": (
        "failed STREAM_BROKEN",
    ),
}
#: The odd machine on which everything happens soonest.
SOON = ("tiny,stream_bits=3,launch_waits=1,queue_depth=1,loop_templates=0", LOOPS)
FEW = "accepted", "starts", "finished", "kills", "PREEMPT OK", "stops"
FEW_OF_LOOPS = (*FEW, "loop_end finished", "quiet finished", "quiet with a record", "relative")


def cases(config, seed, cycles, moods=tuple(MOODS), *, wraps=False):
    """Return a case for each mood, all on one build."""
    return [queue_case(config, mood, seed, cycles, wraps=wraps) for mood in moods]


def equal(config, seed, cycles, simulator="amaranth", happens=EVENTS, **given):
    """Run RTL and model until all has happened."""
    run_until(happens, lambda n: cases(config, seed + n, cycles, **given), simulator)


@pytest.mark.parametrize(("config", "happens"), [(SMALL, FEW), (LOOPS, FEW_OF_LOOPS)])
def test_equals_its_model_on_amaranth(config, happens, seed):
    equal(config, seed, 300, happens=happens, moods=("usual", "crowded"))


@pytest.mark.parametrize("config", deep_but([], ODD, thorough=SOON))
def test_odd_machines_equal_their_model(config, seed):
    every = EVENTS_WITH_LOOPS if config_of(config).has_loops else EVENTS
    happens = [event for event in every if event not in ODD[config]]
    equal(config, seed, 1200, happens=happens)


@pytest.mark.thorough
def test_tickets_and_counts_wrap_as_in_the_model(seed):
    run(cases(SMALL, seed, 800, wraps=True), "amaranth")


@pytest.mark.deep
@pytest.mark.coverage
def test_all_happens_while_tickets_and_counts_wrap(seed):
    equal(LOOPS, seed, 6000, "verilator", EVENTS_WITH_LOOPS, wraps=True)


@pytest.mark.parametrize(
    ("config", "simulator"),
    deep_but(
        [],
        [("default", "icarus"), ("default", "verilator"), ("tiny", "icarus")],
        thorough=[("default", "verilator")],
    ),
)
def test_equals_its_model_on_another_simulator(config, simulator, seed):
    equal(config, seed, 1200, simulator)


@pytest.mark.deep
@pytest.mark.parametrize("config", ["default", "default,stream_bits=3,launch_waits=4"])
def test_equals_its_model_for_long(config, seed):
    for n in range(4):
        run(cases(config, seed + n, 12_000), "verilator")


#: Those that traffic seldom shows, and the test by hand that finds each; its arguments.
SEARCHED = hazards.test_a_ticket_whose_record_is_made_while_it_is_searched_is_unknown
BY_HAND = {
    "late_end": (rules.test_a_late_is_not_wanted_while_an_end_has_its_last_step, 238, 270),
    "ticket": (SEARCHED, 61, 117),
    "ticket_read": (SEARCHED, 62, 117),
}


@pytest.mark.parametrize(
    "fault", thorough_but(["hold"], [fault for fault in KERNEL_QUEUE if fault not in BY_HAND])
)
def test_a_seeded_fault_is_found(fault, seed, monkeypatch):
    plant(monkeypatch, [KERNEL_QUEUE[fault]])
    with pytest.raises(LockstepError):
        # Most are found by the first traffic, some need more of it.
        for n in range(12):
            tries = [queue_case(SMALL, mood, seed + n, 800) for mood in MOODS]
            run(tries, "amaranth", waves=False)


@pytest.mark.thorough
@pytest.mark.parametrize("fault", BY_HAND)
def test_a_test_by_hand_finds_what_traffic_seldom_shows(fault, monkeypatch):
    plant(monkeypatch, [KERNEL_QUEUE[fault]])
    test, *arguments = BY_HAND[fault]
    with pytest.raises(AssertionError):
        test(KernelQueue, *arguments)
