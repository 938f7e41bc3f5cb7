"""The event model's dispatcher as KernelQueue drives it: with skips, ``started`` and ``yields``."""

from warploom_golden.preemption.streams.event_launch import StopCode
from warploom_golden.replay.event_dispatcher import EventDispatcher
from warploom_spec import Stop


class StoppedDispatcher(EventDispatcher):
    """An `EventDispatcher` that takes the stops of KernelQueue."""

    def stop_place(self, cycle: int, place: int, stop: StopCode) -> None:
        """Let a stop be at the port for a place in a cycle."""
        if stop is StopCode.SKIP:
            self.stop(cycle, place, Stop.NONE, take_back=True)
        else:
            self.stop(cycle, place, Stop(stop))

    def yields(self, place: int) -> bool:
        """Tell whether the launch in a place yields in this cycle."""
        return False

    @property
    def all_lost(self) -> bool:
        """Whether every SM is lost."""
        return bool(self._state.alive == 0)
