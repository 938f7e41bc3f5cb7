"""Cases of KernelQueue's lockstep tests: its surroundings at random, and its ledger."""

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Final

from tb.support.dispatch_configs import Observers, config_of
from tb.support.kernel_queue_ledger import EVENTS, EVENTS_WITH_LOOPS, QueueLedger
from tb.support.kernel_queue_traffic import Mood, QueueTraffic
from warploom.launch.kernel_queue import KernelQueue
from warploom_golden.launch import KernelQueue as Model
from warploom_sim.cosim.lockstep import Case, Context
from warploom_spec import Config

MOODS = {
    "usual": Mood(reset=0.001, lose=0.0005),
    "crowded": Mood(launch=0.8, lengths=(1, 1, 2), place=0.7, take=0.6, wait=0.1, preempt=0.02),
    "long": Mood(lengths=(8, 40, 400), place=0.5, limits=(50, 300), resume=0.02, abort_streams=0),
    "held up": Mood(references=2, filter_ready=0.4, start_ready=0.3, launch=0.4, abort=0.05),
    "wild": Mood(wild=0.1, reset=0.002, lose=0.002, abort=0.05, abort_streams=0.01, limits=(0, 50)),
}
#: The first numbers with which tickets and counts wrap soon.
WRAPS: Final = {"first_ticket": (1 << 32) - 7, "first_count": (1 << 32) - 3}
#: Of whom a soft reset takes back what was not taken.
_RESTARTED = "a soft reset forgets it"
_STREAMS = "ended", "checked", "command", "abort", "clear_stream"


def make_queue(config: str, *, first_ticket: int = 1, first_count: int = 0) -> tuple:
    """Make a KernelQueue and its model."""
    first = {"first_ticket": first_ticket, "first_count": first_count}
    return KernelQueue(config_of(config), **first), Model(config_of(config), **first)


class QueueHost:
    """`QueueTraffic`, anew after each reset. Option ``mood``: one of `MOODS`."""

    def __init__(self, context: Context):
        self._config = config_of(context.params["config"])
        self._mood = MOODS[context.options["mood"]]
        self._rng, self._first = context.rng, context.params["first_count"]
        self._ports = context.ports.inputs

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        if outputs is None:
            self._traffic = QueueTraffic(self._config, self._mood, self._rng, self._first)
        values = self._traffic.next(outputs)
        return {name: values[name] for name in self._ports}


class QueueObserver:
    """The ledger of a machine whose first numbers are 1 and 0."""

    first: ClassVar[dict[str, int]] = {}

    def __init__(self, config: Config):
        self._config = config
        names = EVENTS_WITH_LOOPS if config.has_loops else EVENTS
        self._seen = Counter(dict.fromkeys(names, 0))
        self.reset()

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        """Take in a cycle."""
        del cycle
        self._ledger.see(inputs, outputs)

    def reset(self) -> None:
        """Forget all but the counts."""
        self._ledger = QueueLedger(self._config, **self.first, seen=self._seen)

    def counts(self) -> dict[str, int]:
        """Return how often each kind of thing happened."""
        return dict(self._seen)


class WrappingQueueObserver(QueueObserver):
    """The ledger of a machine whose first numbers are `WRAPS`."""

    first: ClassVar[dict[str, int]] = WRAPS


QUEUE_LEDGERS = Observers(QueueObserver)
WRAPPING_LEDGERS = Observers(WrappingQueueObserver)


def queue_case(config: str, mood: str, seed: int, cycles: int, *, wraps: bool = False) -> Case:
    """Return a case with a mood of `MOODS`; with ``wraps`` the machine begins with `WRAPS`."""
    ledgers = "WRAPPING_LEDGERS" if wraps else "QUEUE_LEDGERS"
    first = WRAPS if wraps else {}
    return Case(
        make=make_queue,
        params={"config": config, "first_ticket": 1, "first_count": 0, **first},
        seed=seed,
        cycles=cycles,
        resets=2,
        stimulus=QueueHost,
        options={"mood": mood},
        withdrawable=dict.fromkeys(_STREAMS, _RESTARTED),
        events={"ledger": f"{__name__}:{ledgers}.{config}"},
    )
