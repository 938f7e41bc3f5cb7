"""One launch in the kernel queue, and how it makes way."""

from dataclasses import dataclass
from enum import Enum, auto

from warploom_golden.replay.event_filter import Accepted
from warploom_spec import LaunchDescriptor
from warploom_spec.queue import Mode


class State(Enum):
    """Where a launch is between acceptance and its final record."""

    WAITING = auto()
    HANDED = auto()
    STARTED = auto()
    KILLED = auto()
    DRAINED = auto()
    FINISHED = auto()


#: States of a launch that is not in flight: it can be handed on.
READY = (State.WAITING, State.KILLED, State.DRAINED)


@dataclass(eq=False)
class Launch:
    """A launch with a place in a queue.

    Attributes
    ----------
    ticket : int
        Its ticket.
    descriptor : LaunchDescriptor
        As launched.
    state : State
        Where it is.
    suspended : State
        The state that it goes back to when it is taken back unstarted.
    next_block : int
        Number of the block that it goes on with.
    kills : int
        How often it was killed and put back.
    warps : int
        Warps of one block.
    number : int
        Its place in the memory of all queues.
    place : int or None
        Its place in the dispatcher.
    presented : int or None
        Cycle in which its index configuration was presented.
    accepted : Accepted or None
        The filter's decision.
    dealt_with : bool
        A preemption has dealt with it in this residence.
    stopping : bool
        A preemption has sent it a stop: it will be put back.
    killing : bool
        It was sent a kill.
    aborted, timed_out : bool
        Why it was killed for good.
    reset_as_drain : bool
        It was drained although its mode is ``reset``, because it is not idempotent.
    timeout_at : int or None
        Cycle in which its time is over.
    """

    ticket: int
    descriptor: LaunchDescriptor
    warps: int
    number: int = 0
    state: State = State.WAITING
    suspended: State = State.WAITING
    next_block: int = 0
    kills: int = 0
    place: int | None = None
    presented: int | None = None
    accepted: Accepted | None = None
    dealt_with: bool = False
    stopping: bool = False
    killing: bool = False
    aborted: bool = False
    timed_out: bool = False
    reset_as_drain: bool = False
    timeout_at: int | None = None

    @property
    def may_come_back(self) -> bool:
        """Whether a preemption has sent it a stop after which it goes back to its queue."""
        return self.stopping or (self.dealt_with and self.state is State.HANDED)

    def leave(self, state: State, next_block: int) -> None:
        """Go back to the queue."""
        self.state, self.next_block = state, next_block
        self.place = self.presented = self.accepted = self.timeout_at = None
        self.dealt_with = self.stopping = self.killing = False

    def way_out(self, max_kills: int) -> Mode:
        """Return how a preemption deals with it once it has started: reset, drain or wait."""
        mode = Mode(self.descriptor.mode)
        if mode in (Mode.DRAIN, Mode.WAIT):
            return mode
        may_be_killed = self.descriptor.idempotent and self.kills < max_kills
        return Mode.RESET if may_be_killed else Mode.DRAIN
