"""The event model's dispatcher as its queue drives it: with skips, ``started``, ``yields``."""

from math import prod

from warploom_golden.preemption.streams.event_launch import StopCode
from warploom_golden.replay.event_dispatcher import EventDispatcher, SmBehaviour
from warploom_golden.replay.kills import kill_block
from warploom_golden.replay.machine import Machine
from warploom_spec import Config, LaunchDescriptor, Stop


class StoppedDispatcher(EventDispatcher):
    """An `EventDispatcher` that takes the stops of the kernel queue, and whose launches may yield.

    Parameters
    ----------
    config, seed, sm, log, knee, drained
        As for `EventDispatcher`.
    kill_every : int or None
        Launches of this number, twice this number and so on have a block of which `take_mark`
        tells: the one after whose offer a replay kills them.
    machine : Machine or None
        As for `EventDispatcher`.
    """

    def __init__(
        self,
        config: Config,
        seed: int,
        sm: SmBehaviour | None = None,
        log: int = 0,
        knee: int | None = None,
        drained: int | None = None,
        kill_every: int | None = None,
        machine: Machine | None = None,
    ):
        super().__init__(config, seed, sm, log, knee, drained, machine, preempts=True)
        self._kill_every = kill_every
        # By place: ticket and block of its launch of which `take_mark` is to tell.
        self._marks: dict[int, tuple[int, int]] = {}

    def hand_over(
        self,
        cycle: int,
        number: int,
        launch: LaunchDescriptor,
        ticket: int,
        first: int = 0,
        kill: int | None = None,
        yields: bool = False,
        ordered: bool = True,
    ) -> None:
        """Let a launch take a free place, as `EventDispatcher` does."""
        if self._kill_every is not None:
            kill = kill_block(self._seed, launch.code, prod(launch.grid), self._kill_every)
            self._marks.pop(number, None)
            if kill is not None and kill >= first:
                self._marks[number] = ticket, kill
        super().hand_over(cycle, number, launch, ticket, first, kill, yields, ordered)

    def take_mark(self) -> int | None:
        """Return, once, the ticket of a launch whose marked block was decided; None without one."""
        for place, (ticket, block) in self._marks.items():
            if self._state.places[place].next > block:
                del self._marks[place]
                return ticket
        return None

    def stop_place(self, cycle: int, place: int, stop: StopCode) -> None:
        """Let a stop be at the port for a place in a cycle."""
        if stop is StopCode.SKIP:
            self.skip(cycle, place)
        else:
            self.stop(cycle, place, Stop(stop))

    def yields(self, place: int) -> bool:
        """Tell whether the launch in a place yields in this cycle."""
        return bool(self._state.places[place].yields)

    @property
    def went_on(self) -> tuple[int, int]:
        """How often a launch went on after it had yielded, and in which cycle it did last."""
        return int(self._state.went_on), int(self._state.went_on_at)

    @property
    def all_lost(self) -> bool:
        """Whether every SM is lost."""
        return bool(self._state.alive == 0)
