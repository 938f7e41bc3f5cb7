"""Event model of kernel queue, dispatcher and SMs together."""

from typing import Protocol

from warploom_golden.preemption.kernel_queue import KernelQueue
from warploom_golden.preemption.parameters import QueueParameters
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_dispatcher import EventDispatcher, SmBehaviour
from warploom_golden.replay.event_state import Integers
from warploom_spec import Config


class NoEventLeft(RuntimeError):
    """Launches wait for their final record, and no event can come any more."""


class Host(Protocol):
    """The sender of commands: at most one launch and one other command in a cycle."""

    @property
    def wake(self) -> int:
        """The next cycle in which the host acts by itself; `NEVER` if it only reacts."""

    def step(self, cycle: int, queue: KernelQueue) -> None:
        """Send this cycle's commands.

        The model calls this in every cycle in which anything may change.
        """


class PreemptionModel:
    """A front end with a kernel queue, and its SMs.

    Parameters
    ----------
    config : Config
        The configuration.
    parameters : QueueParameters or None
        Sizes of the kernel queue; None: the defaults.
    sm : SmBehaviour or None
        How the stand-ins of the SMs behave; None: the default.
    seed : int
        Seed of the block lengths.
    knee : int or None
        With contention: warps that an SM runs at full speed. None: blocks take as long on a full SM
        as alone.
    log : int
        How many offers, and how many reports, are logged.
    queue : type of KernelQueue
        The kernel queue's class: a test gives a subclass that breaks a rule.

    Attributes
    ----------
    queue : KernelQueue
        The kernel queue, with its final records.
    dispatcher : EventDispatcher
        The dispatcher and the SMs.
    cycle : int
        The next cycle to run.
    """

    def __init__(
        self,
        config: Config,
        *,
        parameters: QueueParameters | None = None,
        sm: SmBehaviour | None = None,
        seed: int = 1,
        knee: int | None = None,
        log: int = 0,
        queue: type[KernelQueue] = KernelQueue,
    ):
        self.dispatcher = EventDispatcher(config, seed, sm, log, knee)
        self.queue = queue(config, self.dispatcher, parameters or QueueParameters())
        self.cycle = 0

    @property
    def offers(self) -> Integers:
        """The log of offers: one row an offer; cycle, SM, slot, ticket, block number."""
        return self.dispatcher.offers

    @property
    def reports(self) -> Integers:
        """The log of reports: one row a report; cycle, SM, slot, status."""
        return self.dispatcher.reports

    def run(self, host: Host, until: int = NEVER) -> None:
        """Run from reset until no event can come any more, or until a cycle.

        Parameters
        ----------
        host : Host
            The sender of commands.
        until : int
            The first cycle not to run.

        Raises
        ------
        NoEventLeft
            If no event can come any more, and a ticket has no final record.
        """
        end, cycle = None, 0
        while cycle < until:
            host.step(cycle, self.queue)
            self.queue.step(cycle, end)
            wake = max(cycle + 1, min(self.queue.wake, host.wake, until))
            cycle, end, _ = self.dispatcher.advance(cycle, wake)
            self.cycle = cycle
        if until == NEVER and not self.queue.is_empty:
            raise NoEventLeft("nothing can happen any more although tickets have no final record")
