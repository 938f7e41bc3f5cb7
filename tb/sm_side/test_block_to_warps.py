"""BlockToWarps beside its model; every warp comes once, and every block is reported once."""

import random

import pytest

from tb.support.deep_values import OTHER_SIMULATORS, thorough_but
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change, plant
from tb.support.record import record
from tb.support.warps_traffic import WarpsTraffic
from warploom.sm_side import BlockToWarps
from warploom_golden.sm_side import BlockToWarps as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, run

FIVE = "tiny,block_slots=5,warp_size=4"


def make(config):
    return BlockToWarps(config_of(config)), Model(config_of(config))


class Traffic(WarpsTraffic):
    """The same for a lockstep run."""

    def __init__(self, context):
        super().__init__(config_of(context.params["config"]), context.rng)


def case(config, seed, cycles=2000):
    return Case(make=make, params={"config": config}, seed=seed, cycles=cycles, stimulus=Traffic)


def test_each_block_is_reported_once_with_its_worst_status(seed):
    """On the model: the lockstep runs send the same traffic into the RTL."""
    traffic = WarpsTraffic(config_of("tiny"), random.Random(seed))
    record(Model(config_of("tiny")), traffic, 6000)
    assert traffic.counts["launches"] > 10
    assert all(
        traffic.counts[name] > 3 for name in ("OK", "FAULT", "KILLED", "dropped", "not begun")
    )


@pytest.mark.parametrize(
    "config", thorough_but(["tiny"], ["tiny", FIVE, "tiny,block_slots=1,index_memory_warps=0"])
)
def test_equals_its_model(config, seed):
    run([case(config, seed)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("tiny,block_slots=3", seed, 1500)], simulator)


WRONG = {
    "a warp that is refused is dropped": Change(
        BlockToWarps, "_hand_on", "with m.If(takes | moves):", "with m.If(takes | moves | killed):"
    ),
    "a kill drops nothing": Change(
        BlockToWarps,
        "_hand_on",
        "[self.warp.valid.eq(~killed), dropping.eq(killed)]",
        "[self.warp.valid.eq(1), dropping.eq(0)]",
    ),
    "two ends in a row count as one": Change(
        BlockToWarps,
        "_count",
        "with m.If(counted_valid & (counted.slot == end.slot)):",
        "with m.If(0):",
    ),
    "the drop wins over an end": Change(
        BlockToWarps, "elaborate", "drops.eq(dropping & ~self.ended_valid)", "drops.eq(dropping)"
    ),
    "the status of the block before": Change(
        BlockToWarps,
        "_count",
        "write.data.eq(Mux(booting | over, 0, total))",
        "write.data.eq(Mux(booting, 0, Mux(over, total.status << len(total.warps), total)))",
    ),
    "every warp is full": Change(
        BlockToWarps, "_hand_on", "(~last).replicate", "(~last | 1).replicate"
    ),
    "the warp before's row": Change(
        BlockToWarps, "_hand_on", "warp.row.eq(warp.row + 1)", "warp.row.eq(warp.row)"
    ),
    "the block before's number of warps": Change(
        BlockToWarps, "_count", "totals_write.data.eq(self.words.warps)", "totals_write.data.eq(1)"
    ),
    "every block is reported as OK": Change(
        BlockToWarps, "elaborate", "reports.over.eq(self.over)", "reports.over.eq(self.over.slot)"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises((LockstepError, AssertionError)):
        run([case("tiny", seed + k) for k in range(3)], "amaranth", waves=False)
