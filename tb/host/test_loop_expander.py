"""LoopExpander beside its model, with random loops, hosts and launch path."""

from dataclasses import replace

import pytest

from tb.host.loop_ledger import EVENTS, LoopLedger
from tb.host.loop_traffic import LongLoops, Surroundings
from tb.support.deep_values import OTHER_SIMULATORS, deep_but, thorough_but
from tb.support.dispatch_configs import Observers, config_of
from tb.support.hard_cases import run_until
from warploom.host.loop_expander import LoopExpander
from warploom_golden.host import LoopExpander as Model
from warploom_sim.cosim.lockstep import Case, run
from warploom_spec import loop_packets

TINY = "tiny"
DEFAULT = "default"
LARGE = "large"
#: Three loops of five sections, and few slots.
ODD = "tiny,sections=5,loop_sections=3,loop_templates=4,inline_args=2,priority_bits=1"
LEDGERS = Observers(LoopLedger)


def make(config):
    return LoopExpander(config_of(config)), Model(config_of(config))


def meant_steps(outputs, config):
    """Return ``step`` without what means nothing in a ring or an end."""
    packet = loop_packets.loop_step(config_of(config))
    step = packet.unpack(outputs["step"])
    if step["ring"]:
        step["data"] = 0
    if step["ring"] or step["end"]:
        step["word"] = 0
    return {"step": packet.pack(step)}


def case(config, seed, cycles=4000):
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=Surroundings,
        meant=meant_steps,
        events={"ledger": f"{__name__}:LEDGERS.{config}"},
    )


def long_case(config, seed):
    """Return a case of a loop of `LONG` launches, and of the beginning of the next one."""
    return replace(case(config, seed, 300_000), stimulus=LongLoops, events={})


def test_equals_its_model_on_amaranth(seed):
    run([case(TINY, seed, 2500)], "amaranth")


@pytest.mark.parametrize("config", deep_but([], [TINY, DEFAULT, LARGE, ODD], thorough=[ODD]))
def test_equals_its_model_and_hard_cases_happen(config, seed):
    run_until(EVENTS, lambda n: [case(config, seed + 4 * n + k) for k in range(4)], "verilator")


@pytest.mark.parametrize("config", thorough_but([], [DEFAULT, LARGE]))
def test_equals_its_model_on_verilator(config, seed):
    run([case(config, seed, 6000)], "verilator")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case(ODD, seed, 2500)], simulator)


@pytest.mark.deep
def test_counts_of_a_long_loop_equal_the_models(seed):
    run([long_case(TINY, seed)], "verilator")
