"""Latencies of the core, measured at its ports on Verilator, beside the committed figures."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from warploom.host.front_end import FrontEnd
from warploom.lib.axil_pins import AxilPins
from warploom_sim.cosim.lockstep.build import built
from warploom_sim.cosim.lockstep.cocotb_runner import in_simulator
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_spec import preset

FIGURES = Path(__file__).parents[2] / "docs" / "figures" / "latency.json"
#: Cycles that a product may take at most.
AT_MOST = {
    "doorbell_to_first_block": 31,
    "doorbell_to_first_block_without_indices": 26,
    "doorbell_to_first_warp": 32,
    "doorbell_to_first_core": 4,
    "last_core_to_doorbell_clear": 3,
}


@pytest.mark.thorough
def test_latencies_are_the_committed_ones_and_within_their_limits(tmp_path):
    tiny = preset("tiny")
    found = {}
    for config in (tiny, replace(tiny, index_memory_warps=0)):
        simulation = built(Recipe.of(AxilPins, Recipe.of(FrontEnd, config)), "verilator")
        folder = tmp_path / str(config.index_memory_warps)
        folder.mkdir()
        plan = {"indices": config.makes_indices}
        bench = "tb.host.latency_bench"
        found |= in_simulator("latency", bench, simulation, "verilator", folder, plan)
        assert "failure" not in found, found
    # Whether the indices stand in the memory makes no difference to the first block.
    hit, miss = (found.pop(f"doorbell_to_first_block_{case}") for case in ("hit", "miss"))
    assert hit == miss
    measured = {"doorbell_to_first_block": miss} | found
    committed = json.loads(FIGURES.read_text())
    assert measured == {name: committed[name] for name in AT_MOST}
    assert all(measured[name] <= most for name, most in AT_MOST.items())
