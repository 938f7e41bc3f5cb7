"""Drive a component on Amaranth's simulator, or its model, and look at the recording."""

import functools
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext

from warploom_sim import build_cache
from warploom_sim.cosim.lockstep import Model, Ports, Stimulus, cocotb_runner
from warploom_sim.cosim.lockstep.validity import Validity

#: The inputs of a cycle, but those of the streams that are sent.
Levels = Callable[[int], Mapping[str, int]]


@dataclass
class Recording:
    """Inputs and outputs of every cycle; of a component a pulse that is not valid is 0.

    Attributes
    ----------
    validity : Validity or None
        Of a component; a model has none.
    """

    inputs: list[dict[str, int]] = field(default_factory=list)
    outputs: list[Mapping[str, int | None]] = field(default_factory=list)
    validity: Validity | None = None

    def note(self, inputs: dict[str, int], outputs: Mapping[str, int | None]) -> None:
        """Add a cycle."""
        self.inputs.append(inputs)
        self.outputs.append(outputs)

    def port(self, name: str) -> list[int | None]:
        """Return a port's value in every cycle."""
        side = self.inputs if name in self.inputs[0] else self.outputs
        return [values[name] for values in side]

    def cycles(self, name: str) -> list[int]:
        """Return the cycles in which a port is not 0."""
        return [cycle for cycle, value in enumerate(self.port(name)) if value]

    def transfers(self, stream: str) -> list[tuple[int, int]]:
        """Return cycle and payload of each transfer; a stream without ready is always taken."""
        found = []
        for cycle, (inputs, outputs) in enumerate(zip(self.inputs, self.outputs, strict=True)):
            values = {**inputs, **outputs}
            if values[f"{stream}__valid"] and values.get(f"{stream}__ready", 1):
                payload = values[f"{stream}__payload"]
                assert payload is not None, f"{stream} transfers something undefined in {cycle}"
                found.append((cycle, payload))
        return found


class Sender:
    """Send payloads on streams, each as soon as the one before was taken.

    Parameters
    ----------
    streams : mapping
        Payloads by input stream; a level ``<stream>__hold`` of 1 holds the next one back.
    levels : callable
        All other inputs of a cycle.

    Attributes
    ----------
    inputs : dict
        Inputs of the last cycle.
    cycle : int
        Number of the next cycle.
    """

    def __init__(self, streams: Mapping[str, Sequence[int]], levels: Levels):
        self.waiting = {name: deque(payloads) for name, payloads in streams.items()}
        self.inputs: dict[str, int] = {}
        self._levels = levels
        self.cycle = 0

    def next(self, outputs: Mapping[str, int | None] | None) -> dict[str, int]:
        """Return the next cycle's inputs; ``outputs`` are those of the last cycle."""
        if outputs is not None:
            self.see(outputs)
        values = dict(self._levels(self.cycle))
        for name, waiting in self.waiting.items():
            sent = bool(waiting) and not values.pop(f"{name}__hold", 0)
            values[f"{name}__valid"] = int(sent)
            values[f"{name}__payload"] = waiting[0] if sent else 0
        self.cycle += 1
        self.inputs = values
        return values

    def see(self, outputs: Mapping[str, int | None]) -> None:
        """Note what was taken in the last cycle."""
        for name, waiting in self.waiting.items():
            if self.inputs[f"{name}__valid"] and outputs[f"{name}__ready"]:
                waiting.popleft()


class Simulation:
    """A component on Amaranth's simulator, compiled once; each run begins from reset."""

    def __init__(self, component: wiring.Component):
        self._ports = Ports.of(component)
        self._validity = Validity(self._ports)
        self._simulator = Simulator(component)
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._bench)
        self._used = False

    def run(self, stimulus: Stimulus, recording: Recording, cycles: int) -> None:
        """Note every cycle of a run."""
        self._stimulus, self._recording, self._cycles = stimulus, recording, cycles
        recording.validity = self._validity
        if self._used:
            self._simulator.reset()
        self._used = True
        self._simulator.run()

    async def _bench(self, ctx: SimulatorContext) -> None:
        ports, outputs = self._ports, None
        for _ in range(self._cycles):
            inputs = self._stimulus.next(outputs)
            for name, port in ports.inputs.items():
                ctx.set(port, inputs[name])
            read = {name: ctx.get(port) for name, port in ports.outputs.items()}
            outputs = self._validity.quiet(read)
            self._recording.note(inputs, outputs)
            await ctx.tick()


#: The simulations that `made` keeps, by what they are made of.
SIMULATIONS: dict[Any, Simulation] = {}


def forget_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `made` keep none from before, and none for later, of a source that is changed."""
    monkeypatch.setattr(sys.modules[__name__], "SIMULATIONS", {})
    # A lockstep's simulation is kept by its parameters, and the hash of its RTLIL by the sources'
    # files: neither tells what was changed in memory.
    monkeypatch.setattr(build_cache, "sources_as_loaded", False)
    find = cocotb_runner._simulation.__wrapped__
    monkeypatch.setattr(cocotb_runner, "_simulation", functools.cache(find))


def made(kind: Callable[..., Any], *arguments: Any, **options: Any) -> Model | Simulation:
    """Return a model, or the simulation of a component: the one of an earlier test, if any.

    To elaborate and compile a dispatcher takes longer than a test's cycles.

    Parameters
    ----------
    kind : callable
        A class, or a function of a module that makes the same of the same arguments.
    *arguments, **options
        Its arguments.
    """
    key = kind, arguments, tuple(sorted(options.items()))
    if key in SIMULATIONS:
        return SIMULATIONS[key]
    block: Model | wiring.Component = kind(*arguments, **options)
    if not isinstance(block, wiring.Component):
        return block
    SIMULATIONS[key] = Simulation(block)
    return SIMULATIONS[key]


def record(
    block: wiring.Component | Simulation | Model, stimulus: Stimulus, cycles: int
) -> Recording:
    """Run a component or a model from reset and note every cycle."""
    recording = Recording()
    if isinstance(block, wiring.Component):
        block = Simulation(block)
    if isinstance(block, Simulation):
        block.run(stimulus, recording, cycles)
        return recording
    outputs = None
    for _ in range(cycles):
        inputs = stimulus.next(outputs)
        outputs = block.outputs(inputs)
        recording.note(inputs, outputs)
        block.tick(inputs)
    return recording
