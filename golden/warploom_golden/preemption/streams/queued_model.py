"""Event model of LaunchPath with its SMs."""

from collections.abc import Iterator
from typing import Protocol

from warploom_golden.preemption.streams.event_log import Log
from warploom_golden.preemption.streams.event_queue import EventQueue
from warploom_golden.preemption.streams.stopped_dispatcher import StoppedDispatcher
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_dispatcher import End, SmBehaviour
from warploom_golden.replay.event_state import Integers
from warploom_golden.replay.machine import Machine
from warploom_spec import Config


class NoEventLeft(RuntimeError):
    """Launches wait for their final record, and no event can come any more."""


class QueueHost(Protocol):
    """The sender of launches and commands."""

    @property
    def wake(self) -> int:
        """The next cycle in which the host acts by itself; `NEVER` if it only reacts."""

    def step(self, cycle: int, queue: EventQueue) -> None:
        """Send what is at the ports in this cycle.

        The model calls this in every cycle in which anything may change.
        """


class QueuedModel:
    """LaunchCheck, the kernel queue, IndexGenerator, the dispatcher, RecordQueue, and SMs.

    Parameters
    ----------
    config : Config
        The configuration.
    sm : SmBehaviour or None
        How the stand-ins of the SMs behave; None: the default.
    seed : int
        Seed of the block lengths.
    knee : int or None
        With contention: warps that an SM runs at full speed. None: without contention.
    log : int
        How many offers, and how many reports, are logged.
    first_ticket, first_clock : int
        Ticket of the first accepted launch; the clock in cycle 0.
    window : int or None
        Of each priority only so many unfinished launches may run. None: all.
    queue : type of EventQueue
        The queue's class: a test gives one that breaks a rule.
    dense : bool
        Step every cycle, also those in which nothing can change: for tests.
    drained : int or None
        The caller of `pieces` takes the logs when so many offers, or reports, stand there.
    kill_every : int or None
        As for `StoppedDispatcher`.
    machine : Machine or None
        The SMs; None: what the configuration says. The queue is as the configuration says.

    Attributes
    ----------
    queue : EventQueue
        The queue.
    dispatcher : StoppedDispatcher
        Dispatcher and SMs.
    cycle : int
        The next cycle to run.
    """

    def __init__(
        self,
        config: Config,
        *,
        sm: SmBehaviour | None = None,
        seed: int = 1,
        knee: int | None = None,
        log: int = 0,
        first_ticket: int = 1,
        first_clock: int = 0,
        window: int | None = None,
        queue: type[EventQueue] = EventQueue,
        dense: bool = False,
        drained: int | None = None,
        kill_every: int | None = None,
        machine: Machine | None = None,
    ):
        self.dispatcher = StoppedDispatcher(
            config, seed, sm, log, knee, drained, kill_every, machine
        )
        self.queue = queue(config, self.dispatcher, first_ticket, first_clock, window)
        self.cycle = 0
        self._end: End | None = None
        self._dense = dense

    @property
    def log(self) -> Log:
        """All events of the queue."""
        return self.queue.log

    @property
    def offers(self) -> Integers:
        """The log of offers: rows cycle, SM, slot, ticket, block number; in order of decision."""
        return self.dispatcher.offers

    @property
    def reports(self) -> Integers:
        """The log of reports: rows cycle, SM, slot, status."""
        return self.dispatcher.reports

    def run(self, host: QueueHost, until: int = NEVER) -> None:
        """Run on until no event can come any more, or until a cycle.

        Parameters
        ----------
        host : QueueHost
            The sender of launches and commands.
        until : int
            The first cycle not to run.

        Raises
        ------
        NoEventLeft
            If no event can come any more, and a ticket or a PREEMPT has no final record.
        """
        for _ in self.pieces(host, until):
            pass

    def pieces(self, host: QueueHost, until: int = NEVER) -> Iterator[int]:
        """Run as `run` does; yield the next cycle whenever the dispatcher's logs are to be taken.

        Raises
        ------
        NoEventLeft
            As `run`.
        """
        while self.cycle < until:
            host.step(self.cycle, self.queue)
            self.queue.step(self.cycle, self._end)
            wake = min(self.queue.wake, max(host.wake, self.cycle + 1), until)
            if self._dense:
                wake = min(self.cycle + 1, until)
            self.cycle, self._end, _ = self.dispatcher.advance(self.cycle, wake)
            if self.dispatcher.is_full:
                yield self.cycle
        if until == NEVER and not self.queue.is_empty:
            raise NoEventLeft("nothing can happen any more although tickets have no final record")
