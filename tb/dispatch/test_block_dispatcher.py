"""BlockDispatcher in lockstep: each policy, both reclaims, SMs that misbehave; seeded faults."""

import pytest

from tb.support.block_dispatcher_cases import MOODS, resident_case
from tb.support.deep_values import deep_but, thorough_but
from tb.support.dispatch_configs import POLICIES_AND_RECLAIMS, soon
from tb.support.hard_cases import run_until
from tb.support.planted import plant
from tb.support.seeded_faults import BLOCK_DISPATCHER, RESIDENT_GROUPS
from warploom_sim.cosim.lockstep import LockstepError, run

#: What happens in every machine's runs, sooner or later; and where SMs kill and fall silent.
ALWAYS = "offers", "restarts", "FINISHED", "KILLED", "FAILED", "report OK", "report FAULT"
HAPPENS = (*ALWAYS, "report KILLED", "lost SMs")
#: Machines that are odd in one respect each, or small in all.
ODD = (
    "tiny,sms=1,block_slots=1,stream_bits=1",
    "tiny,sms=3,block_slots=5,stream_bits=3,policy=least_loaded",
    "tiny,sms=5,block_slots=1,stream_bits=2,policy=freed_first",
    "tiny,sms=16,stream_bits=4,policy=round_robin",
    "tiny,sms=2,block_slots=1,stream_bits=1,policy=round_robin,reclaim=in_order",
)
#: Two groups of SMs and more; the last one may be a single SM.
GROUPS = tuple(
    f"tiny,stream_bits=2,sms={sms},policy={policy}"
    for sms in (18, 17, 32, 33)
    for policy in ("round_robin", "freed_first")
)
NO_KILL = "tiny,stream_bits=2,sm_kill=False"
#: The small machines whose branches and bits `make coverage` counts: every policy, both reclaims.
SMALL_MODES = (
    "policy=round_robin,reclaim=out_of_order",
    "policy=first_fit,reclaim=in_order",
    "policy=least_loaded,reclaim=in_order",
    "policy=freed_first,reclaim=out_of_order",
)
#: What `default` runs with on Verilator.
DEFAULTS = ("policy=round_robin,reclaim=out_of_order", "policy=freed_first,reclaim=in_order")


def cases(config, seed, cycles):
    """Return a case for each mood, all on one build."""
    return [resident_case(config, mood, seed, cycles) for mood in MOODS]


def equal(config, seed, cycles, simulator="amaranth", happens=HAPPENS):
    """Run RTL and model until all has happened."""
    run_until(happens, lambda n: cases(config, seed + n, cycles), simulator)


@pytest.mark.parametrize("mode", thorough_but(POLICIES_AND_RECLAIMS[3:4], POLICIES_AND_RECLAIMS))
def test_equals_its_model_on_amaranth(mode, seed):
    happens = "offers", "FINISHED", "KILLED", "report OK"
    equal(soon(f"tiny,stream_bits=2,{mode}"), seed, 250, happens=happens)


@pytest.mark.parametrize("config", thorough_but(GROUPS[:1], GROUPS))
def test_groups_equal_their_model(config, seed):
    moods = MOODS if config != GROUPS[0] else ("usual",)
    run([resident_case(soon(config), mood, seed, 300) for mood in moods], "amaranth")


@pytest.mark.deep
@pytest.mark.parametrize("policy", ["round_robin", "freed_first"])
def test_large_equals_its_model(policy, seed):
    # A sweep takes 8 x 132 x 32 cycles: shorter rows of slots end within the run.
    run(
        cases(soon(f"large,stream_bits=3,block_slots=8,policy={policy}"), seed, 12_000), "verilator"
    )


@pytest.mark.thorough
@pytest.mark.parametrize("config", ODD)
def test_odd_machines_equal_their_model(config, seed):
    equal(soon(config), seed, 800)


@pytest.mark.thorough
def test_without_kills_it_equals_its_model(seed):
    equal(soon(NO_KILL), seed, 800, happens=ALWAYS)


@pytest.mark.parametrize(
    ("mode", "simulator"),
    deep_but(
        [],
        [(mode, simulator) for mode in DEFAULTS for simulator in ("icarus", "verilator")],
        thorough=[(DEFAULTS[0], "icarus"), (DEFAULTS[1], "verilator")],
    ),
)
def test_default_equals_its_model(mode, simulator, seed):
    equal(soon(f"default,{mode}"), seed, 1200, simulator, ALWAYS)


@pytest.mark.deep
@pytest.mark.parametrize("mode", POLICIES_AND_RECLAIMS)
def test_equals_its_model_for_long(mode, seed):
    for n in range(4):
        run(cases(soon(f"default,stream_bits=3,{mode}"), seed + n, 12_000), "verilator")


@pytest.mark.deep
@pytest.mark.coverage
@pytest.mark.parametrize("mode", SMALL_MODES)
def test_all_happens_on_small_machines(mode, seed):
    for n in range(3):
        equal(soon(f"tiny,{mode},stream_bits=2"), seed + 10 * n, 6000, "verilator")


#: The mood in which a fault shows soonest.
WHERE = {"late": "mute", "whose": "mute"}


@pytest.mark.parametrize("fault", thorough_but(["hold"], BLOCK_DISPATCHER))
def test_a_seeded_fault_is_found(fault, seed, monkeypatch):
    plant(monkeypatch, [BLOCK_DISPATCHER[fault]])
    mood, config = WHERE.get(fault, "usual"), soon("tiny,stream_bits=2,policy=first_fit")
    tries = [resident_case(config, mood, seed + n, 1000) for n in range(12)]
    with pytest.raises(LockstepError):
        run(tries, "amaranth", waves=False)


@pytest.mark.thorough
@pytest.mark.parametrize("fault", RESIDENT_GROUPS)
def test_a_fault_of_the_groups_is_found(fault, seed, monkeypatch):
    plant(monkeypatch, [RESIDENT_GROUPS[fault]])
    tries = [resident_case(soon(GROUPS[0]), "crowded", seed + n, 1000) for n in range(12)]
    with pytest.raises(LockstepError):
        run(tries, "amaranth", waves=False)
