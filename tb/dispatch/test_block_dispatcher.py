"""BlockDispatcher in lockstep: every policy, both reclaims, SMs that misbehave; seeded faults."""

from dataclasses import replace

import pytest

from tb.support.deep_values import deep_but, thorough_but
from tb.support.dispatch_cases import dispatcher_case, make_dispatcher
from tb.support.dispatch_configs import ODD, POLICIES_AND_RECLAIMS, config_of, soon
from tb.support.dispatch_events import DISPATCH_CASES, ERROR_CASES, LONG, ORDER_CASES
from tb.support.dispatch_stimulus import DispatcherHost
from tb.support.error_events import UNCOUNTED
from tb.support.fate_events import fate_event
from tb.support.hard_cases import run_until
from tb.support.planted import plant
from tb.support.seeded_faults import BLOCK_DISPATCHER
from tb.support.sm_behaviour import BehaviourSource
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_spec import Fate, Stop
from warploom_spec.config import ORDER_TABLE_POLICIES, POLICIES

PROFILES = ("no_stops", "mixed", "sm_loss")
#: Modes that the runs for hard cases have a build of.
BUILT = ("policy=round_robin,reclaim=in_order", "policy=freed_first,reclaim=out_of_order")
#: What `default` runs with on Icarus.
DEFAULTS = ("policy=freed_first,reclaim=in_order", "policy=round_robin")


def cases(config, seed, cycles):
    """Return a case for each profile, all on one build."""
    return [dispatcher_case(config, profile, seed, cycles) for profile in PROFILES]


class LongFirst(BehaviourSource):
    """Blocks hold their slots for more than 2**14 cycles until it is told that one has begun."""

    begun = False

    def next(self):
        period, behaviour = self.period, super().next()
        if self.period != period:
            self._drawn = behaviour
        self.now = self._drawn if self.begun else replace(self._drawn, length=(17_000, 18_000))
        return self.now


class LongFirstBlock(DispatcherHost):
    """Without it one slow run in four has no launch that lasts so long."""

    def __init__(self, context):
        super().__init__(context)
        self.behaviours = LongFirst(context.case.rng("behaviour"), self.profile)

    def next(self, outputs):
        values = super().next(outputs)
        for n in range(self.config.sms):
            self.behaviours.begun |= bool(outputs and outputs[f"offer__{n}__valid"])
        return values


def slow_case(config, seed):
    """Return a case with a launch of more than 2**14 cycles."""
    case = dispatcher_case(config, "very_long_blocks", seed, 20_000)
    return replace(case, resets=0, stimulus=LongFirstBlock)


def stray_report_case(config, seed):
    """Return a case with more errors than are counted."""
    return replace(dispatcher_case(config, "stray_reports", seed, 110_000), resets=0)


def kill_burst_case(config, seed, cycles=8000):
    """Return a case with kills one upon the other."""
    case = dispatcher_case(config, "kill_bursts", seed, cycles)
    return replace(case, options={**case.options, "streams": 6})


def tight_case(config, seed, cycles=8000):
    """Return a case with launches whose blocks fill an SM to the last unit."""
    case = dispatcher_case(config, "no_stops", seed, cycles)
    return replace(case, options={**case.options, "tight": True})


def dual_kill_case(config, seed, cycles=8000, edges=True):
    """Return a case in which both resident launches are killed at once, on slow SMs.

    Their launches are of all 16 streams. With ``edges`` all begin near their grid's end, or near
    what resembles it.
    """
    case = dispatcher_case(config, "dual_kill", seed, cycles)
    return replace(case, options={**case.options, "streams": 16, "edges": edges})


def loss_case(config, seed, cycles=4000):
    """Return a case in which SMs get lost, many with blocks of two launches."""
    case = dispatcher_case(config, "frequent_sm_loss", seed, cycles)
    return replace(case, resets=40, options={**case.options, "streams": 8, "busy": True})


def hard_cases(config, seed):
    """Return the cases that together meet every hard case with most seeds."""
    more = (loss_case(config, seed, 2000), kill_burst_case(config, seed, 1700))
    return [*cases(config, seed, 2300), *more]


@pytest.mark.parametrize("policy", deep_but([], POLICIES, thorough=["round_robin", "freed_first"]))
def test_equals_its_model_on_verilator_and_hard_cases_happen(policy, seed):
    modes = [soon(f"tiny,{mode}") for mode in POLICIES_AND_RECLAIMS if policy in mode]
    names = *DISPATCH_CASES, "ledger: nothing open", "ledger: fate drained", *ERROR_CASES
    names += ORDER_CASES * (policy in ORDER_TABLE_POLICIES)

    def rounds(n):
        return [
            case
            for number, mode in enumerate(modes)
            for case in hard_cases(mode, seed + len(modes) * n + number)
        ]

    run_until(names, rounds, "verilator")


@pytest.mark.coverage
@pytest.mark.deep
def test_drains_in_either_place_equal_their_model(seed):
    """A drained launch ends in each way: without blocks left, too, which is rare elsewhere."""
    config = soon("tiny,policy=round_robin")
    names = [fate_event(Fate.FINISHED, Stop.DRAIN, place) for place in (0, 1)]
    run_until(names, lambda n: [dispatcher_case(config, "drains", seed + n, 5000)], "verilator")


@pytest.mark.deep
def test_long_launches_equal_their_model(seed):
    run([slow_case(soon("tiny,policy=round_robin"), seed)], "verilator")[0].require(LONG)


@pytest.mark.deep
def test_more_errors_than_are_counted_equal_their_model(seed):
    run([stray_report_case(soon("tiny,policy=round_robin"), seed)], "verilator")[0].require(
        UNCOUNTED
    )


@pytest.mark.parametrize(
    "mode",
    # The builds of the test above, one with each reclaim.
    deep_but([], POLICIES_AND_RECLAIMS, thorough=BUILT),
)
def test_bursts_of_kills_tight_fits_and_double_kills_equal_their_model(mode, seed):
    config = soon(f"tiny,{mode}")
    kinds = (kill_burst_case, tight_case, dual_kill_case)
    for result in run([make(config, seed, 5000) for make in kinds], "verilator"):
        result.require("transfers of ended", "ledger: blocks ok")


@pytest.mark.parametrize("config", deep_but([], ODD, thorough=ODD[:2]))
def test_odd_machines_equal_their_model_on_icarus(config, seed):
    # Two of the four machines have each reclaim, whatever the seed.
    number = seed + 3 * ODD.index(config)
    mode = POLICIES_AND_RECLAIMS[number % len(POLICIES_AND_RECLAIMS)]
    for result in run(cases(soon(f"{config},{mode}"), seed, 2500), "icarus"):
        result.require("transfers of launch", "transfers of ended", "ledger: blocks ok")


@pytest.mark.parametrize("mode", deep_but([], DEFAULTS, thorough=["policy=round_robin"]))
def test_default_equals_its_model_on_icarus(mode, seed):
    for result in run(cases(soon(f"default,{mode}"), seed, 1500), "icarus"):
        result.require("transfers of launch", "ledger: blocks ok")


@pytest.mark.parametrize(
    "mode", thorough_but(POLICIES_AND_RECLAIMS[:1], POLICIES_AND_RECLAIMS[::3])
)
def test_equals_its_model_on_amaranth(mode, seed):
    for result in run(cases(soon(f"tiny,{mode}"), seed, 1200), "amaranth"):
        result.require("transfers of launch")


@pytest.mark.deep
@pytest.mark.parametrize("mode", POLICIES_AND_RECLAIMS)
@pytest.mark.parametrize("config", [*ODD, "tiny", "default"])
def test_equals_its_model_for_long(config, mode, seed):
    for n in range(4):
        run(cases(soon(f"{config},{mode}"), seed + n, 20_000), "verilator")


@pytest.mark.deep
@pytest.mark.parametrize("mode", POLICIES_AND_RECLAIMS[1::2])
def test_large_equals_its_model(mode, seed):
    run(cases(soon(f"large,{mode}"), seed, 3000), "verilator")


# Seeded faults

#: Faults that show under one policy alone, or more often on another machine.
WHERE = {
    "pointer": "tiny,sms=3,policy=round_robin",
    "late_return": "tiny,policy=first_fit",
    "overcommit": "tiny,warp_slots=10",
}
#: Faults that the ledger sees without the model; the first takes long.
SEEN_BY_THE_LEDGER = (
    "overcommit",
    "wrong_slot",
    "stream_order",
    "stale_address",
    "grid_walker.skip_block",
    "grid_walker.no_wrap_y",
)


@pytest.mark.parametrize(
    "fault",
    # The walker's own test finds those of the walker.
    thorough_but(
        ["wrong_slot", "pointer", "late_return", "grid_walker.skip_block"], BLOCK_DISPATCHER
    ),
)
def test_a_seeded_fault_is_found(fault, seed, monkeypatch):
    plant(monkeypatch, [BLOCK_DISPATCHER[fault]])
    config = WHERE.get(fault, "tiny")
    tries = [dispatcher_case(config, "no_stops", seed + n, 2000) for n in range(24)]
    with pytest.raises(LockstepError):
        run(tries, "amaranth", waves=False)


class BlindModel(Model):
    """Compares nothing, so that the ledger is alone."""

    def outputs(self, inputs):
        return dict.fromkeys(super().outputs(inputs))


def make_blind(config, *, first_number):
    component, _ = make_dispatcher(config, first_number=first_number)
    return component, BlindModel(config_of(config), first_number=first_number)


@pytest.mark.parametrize("fault", thorough_but(SEEN_BY_THE_LEDGER[1:], SEEN_BY_THE_LEDGER))
def test_the_ledger_alone_finds_a_seeded_fault(fault, seed, monkeypatch):
    plant(monkeypatch, [BLOCK_DISPATCHER[fault]])
    config = WHERE.get(fault, "tiny")
    cases = (dispatcher_case(config, "no_stops", seed + n, 4000) for n in range(24))
    tries = [replace(case, make=make_blind) for case in cases]
    # A slot that is given twice may also show as a launch that never ends.
    complaint = "LedgerError: ledger, cycle|launches without a final record"
    with pytest.raises(LockstepError, match=complaint):
        run(tries, "amaranth", waves=False)
