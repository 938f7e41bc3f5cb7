"""LaunchPath's RTL between a script's host and SMs, on Amaranth's simulator or on Verilator."""

import pickle
from collections.abc import Sequence
from pathlib import Path

from amaranth.sim import SimulatorContext

from tb.preemption.queued_cycles import QueuedHost, Rows
from tb.support.record import Simulation
from warploom.launch.launch_path import LaunchPath
from warploom_sim.cosim.lockstep.build import built
from warploom_sim.cosim.lockstep.cocotb_runner import in_simulator
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_spec import Config

#: The cocotb module that plays the runs.
BENCH = "tb.preemption.queued_rtl_bench"


class AmaranthPath(Simulation):
    """LaunchPath on Amaranth's simulator, compiled once; each run begins from reset."""

    def __init__(self, config: Config):
        super().__init__(LaunchPath(config))

    def play(self, host: QueuedHost, cycles: int) -> Rows:
        """Run some cycles; return what was seen."""
        self._host, self._cycles = host, cycles
        if self._used:
            self._simulator.reset()
        self._used = True
        self._simulator.run()
        return host.rows

    async def _bench(self, ctx: SimulatorContext) -> None:
        ports = self._ports
        for cycle in range(self._cycles):
            inputs = self._host.inputs(cycle)
            for name, port in ports.inputs.items():
                ctx.set(port, inputs[name])
            outputs = {name: ctx.get(port) for name, port in ports.outputs.items()}
            before = dict(inputs)
            # An SM may report a block in the cycle of its kill: no output depends on a report.
            self._host.see(cycle, inputs, self._validity.quiet(outputs))
            for name, value in inputs.items():
                if value != before[name]:
                    ctx.set(ports.inputs[name], value)
            await ctx.tick()


def play_on_verilator(
    config: Config, runs: Sequence[tuple[QueuedHost, int]], folder: Path
) -> list[Rows]:
    """Run hosts for so many cycles each, in one process; return what each one saw."""
    file = folder / "runs.pickle"
    file.write_bytes(pickle.dumps((config, runs)))
    simulation = built(Recipe.of(LaunchPath, config), "verilator")
    plan = {"runs": str(file)}
    found = in_simulator("queued", BENCH, simulation, "verilator", folder, plan)
    assert "failure" not in found, found["failure"]
    return [
        {kind: [tuple(row) for row in table] for kind, table in rows.items()}
        for rows in found["rows"]
    ]
