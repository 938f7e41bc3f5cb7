"""Drive a component on Amaranth's simulator, or its model, and look at the recording."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext

from warploom_sim.lockstep import Model, Ports, Stimulus

#: The inputs of a cycle, but those of the streams that are sent.
Levels = Callable[[int], Mapping[str, int]]


@dataclass
class Recording:
    """Inputs and outputs of every cycle."""

    inputs: list[dict[str, int]] = field(default_factory=list)
    outputs: list[Mapping[str, int | None]] = field(default_factory=list)

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


def record(block: wiring.Component | Model, stimulus: Stimulus, cycles: int) -> Recording:
    """Run a component or a model from reset and note every cycle."""
    recording = Recording()
    if isinstance(block, wiring.Component):
        _simulate(block, stimulus, recording, cycles)
        return recording
    outputs = None
    for _ in range(cycles):
        inputs = stimulus.next(outputs)
        outputs = block.outputs(inputs)
        recording.note(inputs, outputs)
        block.tick(inputs)
    return recording


def _simulate(
    component: wiring.Component, stimulus: Stimulus, recording: Recording, cycles: int
) -> None:
    ports = Ports.of(component)

    async def bench(ctx: SimulatorContext) -> None:
        outputs = None
        for _ in range(cycles):
            inputs = stimulus.next(outputs)
            for name, port in ports.inputs.items():
                ctx.set(port, inputs[name])
            outputs = {name: ctx.get(port) for name, port in ports.outputs.items()}
            recording.note(inputs, outputs)
            await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
