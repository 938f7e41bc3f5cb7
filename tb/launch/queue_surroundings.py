"""All that is around KernelQueue, at random: busy times, quiet times, soft resets."""

from collections.abc import Mapping
from random import Random

from tb.launch.queue_dispatcher import Dispatcher, Filter
from tb.launch.queue_host import Host
from tb.support.dispatch_configs import config_of
from warploom_sim.cosim.lockstep import Context
from warploom_spec import Config

#: Cycles in which everything must end once nothing new comes, for each entry.
PATIENCE, PATIENCE_AT_LEAST = 150, 3000
#: Cycles after which a soft reset has met every launch that was on its way.
SETTLED = 10


class QueueSurroundings:
    """LaunchCheck, hosts, index filter, dispatcher and RecordQueue.

    A busy time is followed by a quiet one, in which no launch comes, all streams are resumed and
    each residence ends; then `idle` must come. Instead of a quiet time a soft reset may come.

    Parameters
    ----------
    config : Config
        The machine.
    rng : Random
        For all that happens.
    first_count : int, optional
        The block's.
    """

    def __init__(self, config: Config, rng: Random, first_count: int = 0):
        self._config, self._rng = config, rng
        self._first_count = first_count
        self._patience = PATIENCE_AT_LEAST + PATIENCE * (config.queue_depth << config.priority_bits)
        self._start()

    def _start(self) -> None:
        """Begin afresh after a reset."""
        rng, config = self._rng, self._config
        self.now = 0
        self.idle_times = getattr(self, "idle_times", 0)
        self._host = Host(config, rng, self._first_count)
        self._dispatcher = Dispatcher(config, rng)
        self._filter = Filter(config, rng) if config.makes_indices else None
        self._inputs: dict[str, int] | None = None
        self._settled = 0
        self._begin_busy_time()

    def _begin_busy_time(self) -> None:
        rng, dispatcher = self._rng, self._dispatcher
        self._quiet = self._resets = self._restarts = False
        self._until = self.now + rng.randint(100, 1000)
        # Nothing is here: the clock may jump, also to a value that soon wraps.
        self._clock = rng.choice((rng.getrandbits(32), (1 << 32) - rng.randint(1, 500)))
        self._host.change_mood()
        dispatcher.ready_rate = rng.choice((0.2, 0.9, 1.0))
        dispatcher.longest = rng.choice((5, 20, 100, 300))
        dispatcher.endless = rng.choice((0.0, 0.1, 0.5))
        dispatcher.fails = rng.choice((0.0, 0.0, 0.0, 0.05, 0.3))
        dispatcher.lost = False
        self._lost_from = rng.choice((0, 0, 0, self.now + rng.randint(50, 500)))
        if self._filter is not None:
            self._filter.ready_rate = rng.choice((0.1, 0.8, 1.0))
            self._filter.slowest = rng.choice((1, 4, 12))

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        if outputs is None:
            self._start()
        elif self._inputs is not None:
            self._hear(self._inputs, dict(outputs))
        self.now += 1
        self._clock = (self._clock + 1) % (1 << 32)
        rng, hurry = self._rng, self._quiet or self._resets
        values = self._host.speak(quiet=hurry)
        self._dispatcher.lost = bool(self._lost_from) and self.now > self._lost_from
        values |= self._dispatcher.speak(self.now, hurry)
        if self._filter is not None:
            values |= self._filter.speak(self.now)
        blip = not hurry and rng.random() < 0.002
        values |= {
            "clock": self._clock,
            "no_sm": int(self._dispatcher.lost and not hurry),
            "soft_reset_active": int(self._resets or blip),
            "restart": int(self._restarts),
        }
        self._inputs = values
        return values

    def _hear(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        self._host.hear(inputs, outputs)
        self._dispatcher.hear(self.now + 1, inputs, outputs)
        if self._filter is not None:
            self._filter.hear(self.now + 1, outputs)
        if inputs["restart"]:
            self._host.forget()
            self._begin_busy_time()
        ends = not any(self._host.check) and not self._host.asks
        idle = outputs["idle"] and ends and not inputs["abort__valid"]
        self._restarts = False
        if not (self._quiet or self._resets):
            if self.now >= self._until:
                # Counts get far between restarts.
                self._resets = self._rng.random() < 0.25
                self._quiet = not self._resets
                self._until, self._settled = self.now + self._patience, self.now + SETTLED
        elif idle and self._quiet and self._rng.random() < 0.3:
            self.idle_times += 1
            self._begin_busy_time()
        elif idle and self._resets and inputs["soft_reset_active"] and self.now > self._settled:
            self.idle_times += 1
            self._restarts = True
        elif self.now > self._until:
            raise AssertionError(f"not idle after {self._patience} quiet cycles: a deadlock?")


def surroundings(context: Context) -> QueueSurroundings:
    """Make the surroundings of a lockstep run."""
    params = context.params
    first_count = params.get("first_count", 0)
    return QueueSurroundings(config_of(params["config"]), context.rng, first_count)
