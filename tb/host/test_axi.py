"""A foreign AXI4-Lite master in front of mailbox and unit, on Icarus and Verilator."""

import pytest
from amaranth.hdl import Mux, Signal
from amaranth.lib import wiring

from warploom.host import BusPort, TaskUnits
from warploom.host import task_units as task_units_file
from warploom.lib.axil_pins import AxilPins
from warploom_sim.cosim.lockstep.build import built
from warploom_sim.cosim.lockstep.cocotb_runner import in_simulator
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_spec import preset
from warploom_spec.host_map import OKAY, SLVERR

pytestmark = pytest.mark.thorough
on_both = pytest.mark.parametrize("simulator", ["icarus", "verilator"])


def bench(simulator, folder, **plan):
    """Run a scenario of `axi_bench` and return what it found."""
    simulation = built(Recipe.of(AxilPins, Recipe.of(TaskUnits, preset("tiny"))), simulator)
    return in_simulator("axi", "tb.host.axi_bench", simulation, simulator, folder, plan)


@pytest.mark.rule("task_units", 2)
@on_both
def test_no_order_of_addresses_and_data_rings_before_its_task(simulator, tmp_path):
    assert bench(simulator, tmp_path, scenario="interleavings") == {"orders": 140}


class WithoutAddress(BusPort):
    """Seeded bug: a write commits on its data, whether or not its address has come."""

    def _write(self, m):
        addresses, words = self._queue(m, "aw", 4), self._queue(m, "w", 4)
        responses = self._queue(m, "b", 2)
        wiring.connect(m, wiring.flipped(self.axil.aw), addresses.i)
        wiring.connect(m, wiring.flipped(self.axil.w), words.i)
        wiring.connect(m, responses.o, wiring.flipped(self.axil.b))
        commits, refused = Signal(), Signal()
        m.d.comb += [
            commits.eq(words.o.valid & responses.i.ready),
            refused.eq(commits & self.write_refused),
            addresses.o.ready.eq(commits),
            words.o.ready.eq(commits),
            responses.i.valid.eq(commits),
            responses.i.payload.eq(Mux(self.write_refused, SLVERR, OKAY)),
            self.write.valid.eq(commits),
            self.write.address.eq(addresses.o.payload.addr[2:]),
            self.write.data.eq(words.o.payload.data),
            self.write.strobes.eq(words.o.payload.strb),
        ]
        return refused


def test_a_commit_without_its_address_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(task_units_file, "BusPort", WithoutAddress)
    found = bench("verilator", tmp_path, scenario="interleavings")
    assert "failure" in found


@on_both
def test_random_accesses_of_a_foreign_master(simulator, tmp_path, seed):
    found = bench(simulator, tmp_path, scenario="random", seed=seed, rounds=60)
    assert found.get("rounds") == 60, found
    assert found["refused"] >= 5 * 60
    assert 0 < found["failed"] < 60


@pytest.mark.rule("task_units", 1)
def test_latencies_are_those_of_the_page(tmp_path):
    assert bench("verilator", tmp_path, scenario="latencies") == {
        # Mailbox's rule 7: RUN goes to the unit in the cycle after its judgement.
        "doorbell_to_first_core": 4,
        "last_core_to_doorbell_clear": 3,
    }
