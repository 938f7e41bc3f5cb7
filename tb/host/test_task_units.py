"""TaskUnits beside its model: bus port, mailbox and units work as their pages together say."""

from collections import deque

import pytest

from tb.host.axil_hosts import ADDRESS, AxilHosts, cores_of_units
from tb.host.commands import Commands
from tb.host.test_mailbox import ODD
from tb.support.deep_values import deep_but, thorough_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from warploom.host.task_units import TaskUnits
from warploom_golden.host import TaskUnits as Model
from warploom_sim.cosim.lockstep import Case, Pace, run
from warploom_spec import host_packets, preset
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS

SHORT = "tiny,core_timeout=12"
SEVERAL = f"{ODD},core_timeout=12"
READ_ANSWER = host_packets.bus_read_answer(preset("tiny"))


def make(config):
    return TaskUnits(config_of(config)), Model(config_of(config))


class HostsAndCores:
    """Hosts on AXI4-Lite, addresses and data each at their own pace, and cores of all units."""

    def __init__(self, context):
        config = config_of(context.params["config"])
        commands = Commands(config, context.case.rng("commands"))
        self._ends = [AxilHosts(context, commands), *cores_of_units(context, config)]
        rare = (0.0, 0.0, 0.01, 0.05)
        self._resets = [Pace(context.case.rng(f"reset{k}"), rare) for k in range(config.units)]

    def next(self, outputs):
        inputs = {"unit_reset": sum(reset() << unit for unit, reset in enumerate(self._resets))}
        for end in self._ends:
            inputs |= end.next(outputs)
        return inputs


class Codes:
    """Counts what hosts read, by the order of the reads."""

    def __init__(self):
        # Without a launch path nothing is judged by its fields, and nothing loops.
        loops = {code for code in HostError if "LOOP" in code.name}
        loops |= {HostError.TEMPLATE_BUSY, HostError.LAUNCH_FAILED}
        codes = set(HostError) - {HostError.OK, HostError.FIELD_RANGE} - loops
        self.counts_of = {f"ERROR reads {code.name}": 0 for code in codes}
        self.counts_of["STATUS reads a success"] = 0
        self.reset()

    def reset(self):
        self._asked = deque()

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        if outputs["axil__r__valid"] and inputs["axil__r__ready"]:
            data = READ_ANSWER.unpack(outputs["axil__r__payload"])["data"]
            offset = self._asked.popleft()
            if offset == OFFSETS["ERROR"] and data:
                self.counts_of[f"ERROR reads {HostError(data & 0xFF).name}"] += 1
            self.counts_of["STATUS reads a success"] += offset == OFFSETS["STATUS"] and data > 0
        if inputs["axil__ar__valid"] and outputs["axil__ar__ready"]:
            address = ADDRESS.unpack(inputs["axil__ar__payload"])["addr"] & ~3
            self._asked.append(address % 0x200 if address >= 0x1000 else None)


def case(config, seed, cycles=6000):
    units = config_of(config).units
    reason = "a reset of the unit withdraws a start that stands"
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=HostsAndCores,
        withdrawable={f"cores__{unit}__start": reason for unit in range(units)},
        events={"codes": Codes},
    )


@pytest.mark.parametrize("config", deep_but([], [SEVERAL, SHORT], thorough=[SEVERAL]))
def test_equals_its_model_and_every_code_is_read(config, seed):
    run_until(Codes().counts(), lambda n: [case(config, seed + n)], "verilator")


@pytest.mark.parametrize("simulator", thorough_but(["amaranth"], ["amaranth", "icarus"]))
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case(SEVERAL, seed, 2500)], simulator)
