"""The event model's dispatcher as KernelQueue drives it: with skips, ``started`` and ``yields``."""

from warploom_golden.preemption.streams.event_launch import StopCode
from warploom_golden.replay.event_dispatcher import EventDispatcher, SmBehaviour
from warploom_spec import Config, Stop


class StoppedDispatcher(EventDispatcher):
    """An `EventDispatcher` that takes the stops of KernelQueue, and whose launches may yield.

    Parameters
    ----------
    config, seed, sm, log, knee
        As for `EventDispatcher`.
    """

    def __init__(
        self,
        config: Config,
        seed: int,
        sm: SmBehaviour | None = None,
        log: int = 0,
        knee: int | None = None,
    ):
        super().__init__(config, seed, sm, log, knee, preempts=True)

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
    def all_lost(self) -> bool:
        """Whether every SM is lost."""
        return bool(self._state.alive == 0)
