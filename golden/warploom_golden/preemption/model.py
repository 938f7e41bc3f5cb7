"""Kernel queue, dispatcher and SMs together, from one event to the next."""

from typing import Protocol

from warploom_golden.preemption.kernel_queue import KernelQueue
from warploom_golden.preemption.parameters import QueueParameters, SourceRules
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_dispatcher import EventDispatcher, SmBehaviour
from warploom_golden.replay.event_state import Integers
from warploom_spec import Config


class StandsStill(RuntimeError):
    """Nothing can happen any more although launches wait."""


class Host(Protocol):
    """What sends commands: at most one launch and one other command in a cycle."""

    @property
    def wake(self) -> int:
        """Return the next cycle in which it acts by itself; `NEVER` if it only reacts."""

    def step(self, cycle: int, queue: KernelQueue) -> None:
        """Send this cycle's commands. Called in every cycle in which anything may change."""


class PreemptionModel:
    """A machine with a kernel queue.

    Parameters
    ----------
    config : Config
        The configuration.
    parameters : QueueParameters
        Sizes of the queue.
    rules : SourceRules
        The source's rules, off by default.
    sm : SmBehaviour
        How the SMs' stand-ins behave.
    seed : int
        Seed of the block lengths.
    log : int
        Offers, and reports, that are written down.

    Attributes
    ----------
    queue : KernelQueue
        The kernel queue: records, observer's stream.
    dispatcher : EventDispatcher
        Dispatcher and SMs.
    cycle : int
        The next cycle to run.
    """

    def __init__(
        self,
        config: Config,
        *,
        parameters: QueueParameters | None = None,
        rules: SourceRules | None = None,
        sm: SmBehaviour | None = None,
        seed: int = 1,
        log: int = 0,
    ):
        self.dispatcher = EventDispatcher(config, seed, sm, log)
        self.queue = KernelQueue(
            config,
            self.dispatcher,
            parameters or QueueParameters(),
            rules or SourceRules(),
        )
        self.cycle = 0

    @property
    def offers(self) -> Integers:
        """Log of offers: rows cycle, SM, slot, ticket, block number."""
        return self.dispatcher.offers

    @property
    def reports(self) -> Integers:
        """Log of reports: rows cycle, SM, slot, status."""
        return self.dispatcher.reports

    def run(self, host: Host, until: int = NEVER) -> None:
        """Run from reset until nothing can happen any more, or to a cycle.

        Raises
        ------
        StandsStill
            If nothing can happen any more, and a ticket has no final record.
        """
        end, cycle = None, 0
        while cycle < until:
            host.step(cycle, self.queue)
            self.queue.step(cycle, end)
            wake = max(cycle + 1, min(self.queue.wake, host.wake, until))
            cycle, end, _ = self.dispatcher.advance(cycle, wake)
            self.cycle = cycle
        if until == NEVER and not self.queue.is_empty:
            raise StandsStill("nothing can happen any more although tickets have no final record")
