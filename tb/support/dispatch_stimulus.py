"""What surrounds a dispatcher or a launch path in a lockstep run: a host, and SMs with cores."""

import random
from collections import deque
from collections.abc import Iterator, Mapping

from tb.support.dispatch_configs import config_of
from tb.support.launch_cases import (
    FEW_BLOCKS,
    dispatch_launches,
)
from tb.support.sm_behaviour import BehaviourSource, SmBehaviour
from tb.support.sm_cores import SmCores
from warploom_sim.cosim.lockstep import Context, Pace
from warploom_spec import Config, Stop, layouts
from warploom_spec.layouts import PLACES

Ports = Mapping[str, int]
#: Cycles at a run's end in which nothing new comes, at least.
DRAIN = 700
#: In them: what a launch takes beside its blocks, and an SM from one block to the next, in cycles,
#: at most; and what is on the SMs before.
LAUNCH_TAKES, BLOCK_TAKES, SETTLES = 60, 12, 100


class Chance:
    """A coin whose probability is set from outside; None stands for random phases."""

    def __init__(self, rng: random.Random, probability: float | None = None):
        self._rng = rng
        self._phases = Pace(rng)
        self.probability = probability

    def __call__(self) -> bool:
        if self.probability is None:
            return self._phases()
        return self._rng.random() < self.probability


class Host:
    """Random launches, stops and changes, with the SMs behind the dispatcher.

    Options: ``profile`` (`tb.support.sm_behaviour`), ``streams``, ``busy`` (launches as fast as
    there is room), ``hoard`` (final records are taken seldom), ``tight`` (launches whose blocks
    fill an SM to the last unit).

    In the last `drain` cycles nothing new comes, and at the end nothing may be left. In runs
    without stops this begins sooner if the launches under way need longer.
    """

    drain = DRAIN

    def __init__(self, context: Context):
        rng = context.rng
        self.rng = rng
        self.config: Config = config_of(context.params["config"])
        self.profile: str = context.options["profile"]
        self.streams: int = context.options.get("streams", 3)
        self.tight: bool = context.options.get("tight", False)
        self.behaviours = BehaviourSource(context.case.rng("behaviour"), self.profile)
        self._cores = SmCores(self.config, context.case.rng("cores"))
        self._cycles = context.case.cycles
        self._cycle = -1
        self._enable = (1 << self.config.sms) - 1
        self.open: set[int] = set()
        self.draining = False
        # Cycles that launches need, at most: of those not answered yet, and by ticket.
        self._asked: deque[int] = deque()
        self._needs: dict[int, int] = {}
        self.outputs: Ports | None = None
        busy: bool = context.options.get("busy", False)
        self.launching = Chance(rng, 1.0 if busy else None)
        self.other, self.taking = Chance(rng, 0.0), Chance(rng, 0.9 if busy else None)
        self.launch = context.driver("launch", self._noted(), self.may_launch)
        self._ending = Chance(rng, 0.01) if context.options.get("hoard") else self.taking
        self.ended = context.sink("ended", self._ending)
        self._swaps = None
        if "order_table" in context.ports.streams:
            self._swaps = context.driver("order_table", pace=self.other)

    def launches(self) -> Iterator[int]:
        """Yield the packed launches."""
        raise NotImplementedError

    def blocks(self, launch: int) -> int:
        """Return how many blocks a packed launch has."""
        raise NotImplementedError

    def may_launch(self) -> bool:
        """Tell whether a launch is sent in this cycle."""
        return self.launching()

    def stops(self, behaviour: SmBehaviour) -> dict[str, int]:
        """Return what stands at the port ``stop``."""
        raise NotImplementedError

    def settle(self) -> None:
        """Keep track of what was accepted and what has ended in the last cycle."""
        raise NotImplementedError

    def _noted(self) -> Iterator[int]:
        """Yield the packed launches, and note how long each may take."""
        for launch in self.launches():
            turns = -(-self.blocks(launch) // self.config.sms)
            self._asked.append(LAUNCH_TAKES + BLOCK_TAKES * turns)
            yield launch

    def answered(self, ticket: int) -> None:
        """Note what became of the oldest launch that has no answer: its ticket, or 0."""
        need = self._asked.popleft()
        if ticket:
            self.open.add(ticket)
            self._needs[ticket] = need

    def over(self, ticket: int) -> None:
        """Note a launch's final record."""
        self.open.discard(ticket)
        self._needs.pop(ticket, None)

    def _begins_to_drain(self) -> bool:
        """Tell whether the time left, for what is under way and one more launch, is needed."""
        need = self.drain
        if self.profile == "no_stops":
            more = LAUNCH_TAKES + BLOCK_TAKES * -(-FEW_BLOCKS // self.config.sms)
            under_way = sum(self._asked) + sum(self._needs.values())
            need = max(need, SETTLES + under_way + more * bool(under_way))
        return not self.draining and self._cycle >= self._cycles - need

    def next(self, outputs: Ports | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        self._cycle += 1
        self.outputs = outputs
        if self._begins_to_drain():
            self.draining = True
            self.behaviours.end_all()
        if outputs is None:
            self.open.clear()
            self._asked.clear()
            self._needs.clear()
        behaviour = self.behaviours.next()
        self.other.probability = 0.05
        if self.draining:
            self._drain()
        values = self.launch.next(outputs) | self.ended.next(outputs)
        if self._swaps is not None:
            values |= self._swaps.next(outputs)
        self.settle()
        values |= self.stops(behaviour)
        values |= self._cores.next(self._cycle, outputs, self.behaviours)
        values["enable"] = self._next_enable(behaviour.enable)
        if self._cycle == self._cycles - 1:
            assert not self.open, f"launches without a final record: {sorted(self.open)}"
        return values

    def _drain(self) -> None:
        """Launch nothing more, and take everything."""
        self.launching.probability = self.other.probability = 0.0
        self.taking.probability = self._ending.probability = 1.0

    def _next_enable(self, chance: float) -> int:
        """Return the enable mask; all SMs are in use at a run's end."""
        everything = (1 << self.config.sms) - 1
        if self.draining:
            self._enable = everything
        elif self.rng.random() < chance:
            self._enable = self.rng.choice((everything, self.rng.getrandbits(self.config.sms)))
        return self._enable


class DispatcherHost(Host):
    """The surroundings of BlockDispatcher.

    Option: ``edges`` (large grids that begin near their end, or near what resembles it).
    """

    def __init__(self, context: Context):
        self._edges: bool = context.options.get("edges", False)
        self._packet = layouts.dispatch_launch(config_of(context.params["config"]))
        super().__init__(context)
        self._ends = layouts.dispatch_end(self.config)
        self._stop_packet = layouts.dispatch_stop(self.config)
        # The place that was stopped last, and whether the other one is stopped right after it.
        self._stopped, self._burst = 0, False

    def launches(self) -> Iterator[int]:
        """Yield launches that LaunchCheck let through."""
        huge = self.profile != "no_stops"
        wishes = (huge, self.tight, self._edges)
        for fields in dispatch_launches(self.rng, self.config, self.streams, *wishes):
            yield self._packet.pack(fields)

    def blocks(self, launch: int) -> int:
        """Return how many blocks there are from the first one on."""
        fields = self._packet.unpack(launch)
        count, first = 1, 0
        for axis in "xyz":
            first += count * fields[f"start_{axis}"]
            count *= fields[f"g{axis}"]
        return count - first

    def stops(self, behaviour: SmBehaviour) -> dict[str, int]:
        """Return a stop for one place or both, or for none; what goes on for ever ends at last."""
        places = set()
        if self.draining:
            if self.profile != "no_stops" and self.rng.random() < 0.05:
                places = set(range(PLACES))
        elif self._burst or self.rng.random() < behaviour.stop:
            places = {1 - self._stopped if self._burst else self.rng.randrange(PLACES)}
            self._burst = not self._burst and self.rng.random() < behaviour.burst
            self._stopped = min(places)
            if self.rng.random() < max(behaviour.pair, 0.05):
                places = set(range(PLACES))
        fields = {f"place{n}": self._how(behaviour) if n in places else 0 for n in range(PLACES)}
        return {"stop": self._stop_packet.pack(fields)}

    def _how(self, behaviour: SmBehaviour) -> int:
        """Return drain, or one of the two values that mean a kill."""
        if not self.draining and self.rng.random() < behaviour.drain:
            return int(Stop.DRAIN)
        return self.rng.choice((int(Stop.KILL), int(Stop.KILL), 3))

    def settle(self) -> None:
        """Follow `launch` and `ended`."""
        if self.launch.taken is not None:
            self.answered(self._packet.unpack(self.launch.taken)["ticket"])
        if self.ended.taken is not None:
            self.over(self._ends.unpack(self.ended.taken)["ticket"])
