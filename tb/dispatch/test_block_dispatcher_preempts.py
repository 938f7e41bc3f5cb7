"""BlockDispatcher with `preempts` beside its ledger: urgent launches, skips, SMs that misbehave."""

from collections import Counter

import pytest

from tb.dispatch import test_block_dispatcher_preempts_rules as rules
from tb.support.deep_values import thorough_but
from tb.support.dispatch_configs import config_of, preempts_observers, soon
from tb.support.hard_cases import run_until
from tb.support.planted import plant
from tb.support.preempts_host import PreemptsHost
from tb.support.preempts_ledger import PREEMPTS_CASES
from warploom.dispatch import BlockDispatcher
from warploom.dispatch._yielding import Yielding
from warploom_dev.planted import Change
from warploom_dev.rewrite import Rewrite
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_golden.dispatch import block_dispatcher as model_module
from warploom_golden.dispatch import yielding
from warploom_sim.cosim.lockstep import Case, LockstepError, Ports, run
from warploom_sim.cosim.lockstep.checker import Checker
from warploom_sim.cosim.lockstep.events import require

PROFILES = ("no_stops", "mixed", "sm_loss", "kill_bursts", "drains")
#: Configurations in which RTL and model are compared.
CONFIGS = (
    "tiny,policy=round_robin",
    "default,policy=freed_first,reclaim=in_order",
    "tiny,sms=3,policy=least_loaded,reclaim=in_order",
    "tiny,sm_kill=False,index_memory_warps=0,policy=first_fit",
)
#: Rounds after which a case that has not happened is said to happen never.
MOST = 12


def make(config):
    """Make BlockDispatcher with `preempts`, and its model."""
    of = config_of(config)
    return BlockDispatcher(of, preempts=True), Model(of, preempts=True)


def case(config, profile, seed, cycles, **options):
    """Return a case with a profile of `tb.support.sm_behaviour`; silent SMs are lost soon."""
    loses_sms = profile in ("sm_loss", "kill_bursts")
    config = soon(config) if loses_sms else config
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        resets=8 if loses_sms else 2,
        stimulus=PreemptsHost,
        options={"profile": profile, "streams": 4, **options},
        events=preempts_observers(config),
    )


def play(cases):
    """Run the model alone in each case's surroundings; return what the observers counted."""
    total = Counter()
    for one in cases:
        component, model = one.build()
        _, alone = one.build()
        checker = Checker(one, Ports.of(component), model)
        while checker.running:
            outputs = alone.outputs(checker.inputs)
            inputs, reset = checker.inputs, checker.rst
            checker.step({name: value or 0 for name, value in outputs.items()})
            alone.reset() if reset else alone.tick(inputs)
        failure = checker.outcome.failure
        assert failure is None, "\n".join(failure.problems + failure.history)
        total.update(checker.outcome.counts)
    return total


def all_cases(config, seed, cycles):
    """Return a case for each profile, and those that meet hard cases often."""
    cases = [case(config, profile, seed, cycles) for profile in PROFILES]
    busy = {"busy": True, "streams": 8}
    return [*cases, case(config, "no_stops", seed + 1, cycles, tight=True, **busy)]


@pytest.mark.rule("block_dispatcher", 49)
def test_without_preempts_there_are_no_such_ports():
    config = config_of("tiny")
    plain, more = (Ports.of(BlockDispatcher(config, preempts=p)) for p in (False, True))
    beside = {"launch_priority", "launch_yields", "launch_number"}
    assert more.inputs.keys() - plain.inputs.keys() == beside
    assert more.outputs.keys() - plain.outputs.keys() == {"ended_number", "started", "yields"}
    idle = dict.fromkeys(plain.inputs, 0)
    assert Model(config).outputs(idle).keys() == plain.outputs.keys()


@pytest.mark.parametrize("config", thorough_but(CONFIGS[:1], CONFIGS))
def test_the_rules_alone_keep_the_ledger(config, seed):
    total = play(all_cases(config, seed, 1200))
    require(("a launch yields in the midst of its blocks", "a skip takes a launch back"), total)


@pytest.mark.deep
def test_the_rules_alone_meet_hard_cases(seed):
    total = Counter()
    for number in range(MOST):
        total.update(play(all_cases(CONFIGS[0], seed + 10 * number, 3000)))
        if all(total[name] for name in PREEMPTS_CASES):
            return
    require(PREEMPTS_CASES, total)


# Lockstep


@pytest.mark.thorough
def test_equals_its_model_on_verilator(seed):
    for result in run(all_cases(CONFIGS[0], seed, 3000), "verilator"):
        result.require("transfers of launch", "transfers of ended")


@pytest.mark.thorough
@pytest.mark.parametrize("config", CONFIGS[2:])
def test_equals_its_model_on_icarus(config, seed):
    run([case(config, "kill_bursts", seed, 1500), case(config, "drains", seed, 1500)], "icarus")


def test_equals_its_model_on_amaranth(seed):
    run([case(CONFIGS[0], "mixed", seed, 600)], "amaranth")


@pytest.mark.deep
@pytest.mark.parametrize("config", CONFIGS)
def test_equals_its_model_for_long(config, seed):
    run(all_cases(config, seed, 7500), "verilator")


@pytest.mark.deep
def test_equals_its_model_and_hard_cases_happen(seed):
    run_until(PREEMPTS_CASES, lambda n: all_cases(CONFIGS[0], seed + 10 * n, 7500), "verilator")


# Wrong rules

#: Wrong rules of the model that the ledger finds by itself.
WRONG = {
    "nobody is interrupted": Rewrite(Model, "_interrupt", "head in lower", "False"),
    "equals are yielded to": Rewrite(
        yielding, "outranks", "place.priority > other.priority", "place.priority >= other.priority"
    ),
    "everybody yields": Rewrite(yielding, "outranks", "other.may_yield", "True"),
    "a skip tears": Rewrite(Model, "_take_stops", "place.first_offer is None", "not place.started"),
    "a skip comes too late": Rewrite(Model, "_may_decide", "not self._head.skipped", "True"),
    "a skip is a kill": Rewrite(
        Model, "_take_stops", "self._preempts and asked == STOP_SKIP", "False"
    ),
    "numbers begin at 0": Rewrite(Model, "_accept", 'inputs["launch_number"]', "0"),
    "a record has the number of the first block": Rewrite(
        Model, "_load", "ending.next_number", "0"
    ),
}


@pytest.mark.parametrize(
    "name", thorough_but([name for name in WRONG if name != "everybody yields"], WRONG)
)
def test_the_ledger_finds_a_wrong_rule(name, monkeypatch, seed):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(AssertionError):
        for number in range(MOST):
            play(all_cases(CONFIGS[0], seed + number, 1500))


#: Wrong rules that break no promise to a launch, each with an example of the page that finds it.
WRONG_IN_TIME = {
    "a stopped launch is yielded to": (
        Rewrite(yielding, "outranks", "not place.stop", "True"),
        lambda: rules.test_the_urgent_launch_is_drained(rules.model),
    ),
    "a launch yields to its own successor": (
        Rewrite(yielding, "outranks", "not is_held_by_order(place, places)", "True"),
        lambda: rules.test_nobody_yields(rules.model, {}, {"stream": 0}),
    ),
    "the older one is the candidate": (
        Rewrite(model_module, "next_waiting", "len(waiting) == 2", "False"),
        lambda: rules.test_a_low_launch_yields_before_its_first_walk(rules.model),
    ),
    "a stopped launch yields": (
        Rewrite(Model, "tick", "not place.stop and not place.exhausted", "not place.exhausted"),
        lambda: rules.test_a_drain_while_it_yields(rules.model),
    ),
    "the fit beside a newer launch is known at once": (
        Rewrite(
            model_module, "fit_is_known_from", "max(other.transferred, counted)", "counted - 3"
        ),
        lambda: rules.test_yield_and_back(rules.model),
    ),
    "a first head is placed beside its own blocks": (
        Rewrite(Model, "_has_room", "self._preempts and any(sm.held)", "False"),
        lambda: rules.test_yield_and_back(rules.model),
    ),
}


@pytest.mark.parametrize("name", WRONG_IN_TIME)
def test_an_example_finds_a_wrong_rule(name, monkeypatch):
    change, example = WRONG_IN_TIME[name]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError):
        example()


#: A fault each of the RTL, and the example that finds it.
FAULTS = {
    "a drained launch's next number is 0": (
        Change(Yielding, "leave", "left.eq(number)", "left.eq(0)"),
        lambda: rules.test_a_drained_launch_says_the_number_of_its_next_block(rules.rtl, 4, 6),
    ),
    "the decision behind which a walk is left does not count": (
        Change(Yielding, "leave", " + walker.decided", ""),
        lambda: rules.test_a_launch_that_is_drained_while_it_yields_says_its_next_number(rules.rtl),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_example_finds_a_fault_of_the_rtl(name, monkeypatch):
    change, example = FAULTS[name]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError):
        example()


@pytest.mark.parametrize("name", ["a stopped launch yields", "a stopped launch is yielded to"])
def test_lockstep_finds_a_wrong_rule(name, monkeypatch, seed):
    plant(monkeypatch, [WRONG_IN_TIME[name][0]])
    busy = {"busy": True, "streams": 8}
    with pytest.raises(LockstepError):
        for number in range(MOST):
            run([case(CONFIGS[0], "mixed", seed + number, 1500, **busy)], "amaranth", waves=False)
