"""One launch in the kernel queue, and how a preemption stops it."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import assert_never

from warploom_golden.replay.event_filter import Accepted
from warploom_spec import Fate, LaunchDescriptor
from warploom_spec.queue import Mode


class State(Enum):
    """The state of a launch between its acceptance and its final record.

    ``HANDED``: handed on to the dispatcher, not started. ``KILLED``, ``DRAINED``: back in its queue
    after a kill or a drain.
    """

    WAITING = auto()
    HANDED = auto()
    STARTED = auto()
    KILLED = auto()
    DRAINED = auto()
    FINISHED = auto()


#: The states in which a launch can be handed on.
READY = (State.WAITING, State.KILLED, State.DRAINED)


@dataclass(eq=False)
class Launch:
    """A launch with an entry in a queue.

    Attributes
    ----------
    ticket : int
        The launch's ticket.
    descriptor : LaunchDescriptor
        The descriptor that was accepted.
    warps : int
        Number of warps of one block.
    number : int
        Address of the launch's entry in the memory of all queues: priority x ``queue_depth`` +
        entry.
    state : State
        The launch's state.
    suspended : State
        The state that the launch returns to if it is taken back before it starts.
    next_block : int
        Number of the block with which the launch goes on; 0 at first.
    kills : int
        How often the launch was killed and put back.
    place : int or None
        The launch's place in the dispatcher; None: it has none.
    presented : int or None
        Cycle in which the index configuration was presented to the filter; None: not yet.
    accepted : Accepted or None
        The filter's decision; None: not yet.
    preempted : bool
        A preemption has acted on the launch since it was last handed on.
    stopping : bool
        A preemption has sent the launch a stop: it will be put back.
    killing : bool
        The launch was sent a kill.
    aborted, timed_out : bool
        The launch was killed by an ABORT, or by ``launch_timeout``, and does not run again.
    reset_as_drain : bool
        The launch's mode is ``reset``. It was drained instead, because it is not idempotent.
    timeout_at : int or None
        Cycle in which the launch is killed for its ``launch_timeout``; None: no limit.
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
    preempted: bool = False
    stopping: bool = False
    killing: bool = False
    aborted: bool = False
    timed_out: bool = False
    reset_as_drain: bool = False
    timeout_at: int | None = None

    @property
    def may_come_back(self) -> bool:
        """Whether a preemption acted on the launch so that it may go back to its queue."""
        return self.stopping or (self.preempted and self.state is State.HANDED)

    def leave(self, state: State, next_block: int) -> None:
        """Leave the path to the dispatcher, or the dispatcher, in a new state."""
        self.state, self.next_block = state, next_block
        self.place = self.presented = self.accepted = self.timeout_at = None
        self.preempted = self.stopping = self.killing = False

    def state_after(self, fate: Fate) -> State:
        """Return the state of a launch that left the dispatcher, or was taken back before it."""
        match fate:
            case Fate.KILLED:
                return State.KILLED
            case Fate.DRAINED:
                return State.DRAINED
            case Fate.SKIPPED:
                return self.suspended
            case Fate.FINISHED | Fate.FAILED | Fate.ABORTED:
                raise AssertionError(f"a launch that is {fate.name} does not run again")
            case _:
                assert_never(fate)

    def effective_mode(self, max_kills: int) -> Mode:
        """Return how a preemption stops the launch once it has started: reset, drain or wait.

        Parameters
        ----------
        max_kills : int
            A launch that was killed this often is drained.
        """
        mode = Mode(self.descriptor.mode)
        if mode in (Mode.DRAIN, Mode.WAIT):
            return mode
        may_be_killed = self.descriptor.idempotent and self.kills < max_kills
        return Mode.RESET if may_be_killed else Mode.DRAIN
