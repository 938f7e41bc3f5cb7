"""The uncorrected rules of patent CN115408135A with streams as queues: a queue for each rule.

Options of the model, to see what each rule breaks: ``QueuedModel(config, queue=OneFlag)``.
"""

from warploom_golden.preemption.streams.event_launch import Launch, Resident, StopCode
from warploom_golden.preemption.streams.event_places import Places
from warploom_golden.preemption.streams.event_queue import EventQueue
from warploom_golden.replay.event_dispatcher import End
from warploom_spec import Fate
from warploom_spec.queue import FinalFate


class _TornPlaces(Places):
    def _started_stop(self, launch: Launch) -> StopCode:
        return StopCode.DRAIN

    def _suspend(self, launch: Launch, end: End) -> None:
        # The host takes the kernel for killed, and submits it again from block 0.
        super()._suspend(launch, end)
        if launch.started:
            self._state.later(lambda: setattr(launch, "next_block", 0))


class FlagCheckBlock(EventQueue):
    """Every block tests the flag when it starts: a started kernel loses its later blocks."""

    places_type = _TornPlaces


class _AllSubmittedPlaces(Places):
    def _started_stop(self, launch: Launch) -> StopCode:
        queue = self._state.stream_of(launch).unfinished
        if all(each.descriptor.idempotent for each in queue):
            return super()._started_stop(launch)
        return StopCode.NONE


class AllSubmitted(EventQueue):
    """A launch is stopped only if every unfinished launch of its stream is idempotent."""

    places_type = _AllSubmittedPlaces


class _OneFlagPlaces(Places):
    def _exits(self, launch: Launch) -> bool:
        """Tell whether a launch sees the flag of another stream."""
        s = self._state
        flags = [s.view.flag(each) for each in s.streams if each.unfinished]
        return any(flags) and not s.view.flag(s.stream_of(launch))

    def _stop(self, resident: Resident, over: bool) -> StopCode:
        unstarted = not resident.is_started and not resident.stopping
        if unstarted and self._exits(resident.launch):
            return StopCode.SKIP
        return super()._stop(resident, over)

    def _final(self, resident: Resident, end: End) -> tuple[FinalFate, int] | None:
        if end.fate is Fate.SKIPPED and self._exits(resident.launch):
            return FinalFate.FINISHED, 0
        return super()._final(resident, end)


class OneFlag(EventQueue):
    """One flag for all streams: the urgent kernel sees the flag, too, and exits."""

    places_type = _OneFlagPlaces


class _ForgettingPlaces(Places):
    def _suspend(self, launch: Launch, end: End) -> None:
        if end.fate is Fate.KILLED:
            self._state.end_launch(launch)
        else:
            super()._suspend(launch, end)


class OnlyNotExecuted(EventQueue):
    """Only kernels that were not executed are submitted again (S4.2): a killed one is lost."""

    places_type = _ForgettingPlaces
