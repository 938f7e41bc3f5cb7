"""Launches in places: begins, stops, time-outs, ends (rules 37, 42 to 52)."""

from functools import partial

from warploom_golden.preemption.streams.event_launch import Launch, Resident, StopCode, Where
from warploom_golden.preemption.streams.event_log import Begin, StopSent
from warploom_golden.preemption.streams.event_state import EventState
from warploom_golden.preemption.streams.stopped_dispatcher import StoppedDispatcher
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_dispatcher import End
from warploom_spec import ErrorCode, Fate
from warploom_spec.queue import FinalFate, Mode, QueueCode
from warploom_spec.queue_packets import KILLS_BITS

#: From the cycle in which a skip is sent to the one in which it is known whether it has failed.
_SKIP_CHECK = 4
_MOST_KILLS = (1 << KILLS_BITS) - 1


class Places:
    """The launches in the dispatcher's places, and the end register.

    Parameters
    ----------
    state : EventState
        What all parts share.
    dispatcher : StoppedDispatcher
        What the launches run on.

    Attributes
    ----------
    launch_timeout : int
        The limit that the host sets; 0: none.
    owed : int or None
        History entry of the reference that the end of this cycle gives back.
    """

    def __init__(self, state: EventState, dispatcher: StoppedDispatcher):
        self._state, self._dispatcher = state, dispatcher
        self._last = -1
        self.launch_timeout = 0
        self._limit = 0
        self.owed: int | None = None

    # --- what the dispatcher says ----------------------------------------------------------------
    def observe(self, end: End | None) -> None:
        """Take the dispatcher's outputs of this cycle: ``ended``, ``started``, ``yields``."""
        s = self._state
        s.ended = None
        if end is not None:
            resident = s.places[end.place]
            assert resident is not None
            s.ended = resident, end
        for each in s.residents():
            each.run += (s.cycle - self._last) * each.runs
            if end is None or each.place != end.place:
                first_offer = self._dispatcher.started(each.place)
                each.is_started = first_offer is not None and first_offer <= s.cycle
                each.runs = each.is_started and not self._dispatcher.yields(each.place)
            if each.is_started and not each.begun:
                self._begin(each)
        self._last = s.cycle
        count, last = self._dispatcher.went_on
        if count > len(s.log.went_on):
            # Between two steps it is once at most: only a launch that is handed over is yielded to.
            s.log.went_on.append(last)
        if s.ended or s.ending:
            s.later(self._load_end)

    def _load_end(self) -> None:
        """Let what is at ``ended`` enter the end register."""
        s = self._state
        s.ending = s.ended
        if s.ended is not None:
            resident = s.ended[0]
            s.places[resident.place] = None
            resident.launch.where = Where.END

    def _begin(self, resident: Resident) -> None:
        """Let a residence begin (rule 37)."""
        s, launch = self._state, resident.launch
        s.log.begins.append(Begin(s.cycle, launch.ticket))
        clock = s.clock

        def begin() -> None:
            resident.begun, resident.first_offer = True, clock
            launch.started = True

        s.later(begin)
        if not launch.started:
            s.let_leave(s.stream_of(launch), launch, begins=True)

    # --- stops -----------------------------------------------------------------------------------
    def step(self) -> None:
        """Send the stops of this cycle, and handle the end register."""
        s = self._state
        leaving = s.ended[0] if s.ended else None
        for each in s.residents():
            if each is leaving:
                continue
            over = self._is_over(each)
            stop = self._stop(each, over)
            if stop is not StopCode.NONE:
                self._send(each, stop, timed_out=over and not each.aborted)
            elif each.skipping and each.skip_check == s.cycle and each.is_started:
                s.later(partial(setattr, each, "skipping", False))
        self._limit = self.launch_timeout
        self.owed = None
        if s.ending is not None:
            self._end(*s.ending)

    def _is_over(self, resident: Resident) -> bool:
        """Tell whether a residence's time is over (rule 46)."""
        return resident.runs and bool(self._limit) and resident.run + 1 >= self._limit

    def _stop(self, resident: Resident, over: bool) -> StopCode:
        """Return the stop that is sent to a place in this cycle (rule 43)."""
        s, launch = self._state, resident.launch
        stream = s.stream_of(launch)
        if not resident.killing and (resident.aborted or over):
            return StopCode.KILL
        if resident.stopping:
            return StopCode.NONE
        flag = s.view.flag(stream)
        if resident.is_started:
            if not flag or resident.dealt:
                return StopCode.NONE
            stop = self._started_stop(launch)
            if stop is not StopCode.NONE or launch.mode == Mode.WAIT:
                s.later(lambda: setattr(resident, "dealt", True))
            return stop
        if flag:
            stop = self._unstarted_stop(launch)
            if stop is not StopCode.SKIP:
                s.later(lambda: setattr(resident, "dealt", True))
            return stop
        bounded = stream.boundary is not None and not launch.started
        if stream.broken or bounded or s.is_displaced(launch):
            return StopCode.SKIP
        return StopCode.NONE

    def _started_stop(self, launch: Launch) -> StopCode:
        """Return what a started launch's mode says."""
        return launch.started_stop(self._state.stream_of(launch).held)

    def _unstarted_stop(self, launch: Launch) -> StopCode:
        """Return what an unstarted launch's mode says."""
        return launch.unstarted_stop()

    def _send(self, resident: Resident, stop: StopCode, timed_out: bool) -> None:
        """Send a stop, which is at the dispatcher's port in the next cycle."""
        s = self._state
        s.log.stops.append(StopSent(s.cycle + 1, resident.place, int(stop)))
        self._dispatcher.stop_place(s.cycle + 1, resident.place, stop)

        def sent() -> None:
            if stop is StopCode.KILL:
                resident.killing = True
                resident.timed_out |= timed_out
            elif stop is StopCode.DRAIN:
                resident.draining = True
            else:
                resident.skipping = True
                resident.skip_check = s.cycle + _SKIP_CHECK

        s.later(sent)

    # --- ends ------------------------------------------------------------------------------------
    def _end(self, resident: Resident, end: End) -> None:
        """Handle what is in the end register (rules 48 to 52)."""
        s, launch = self._state, resident.launch
        self.owed = resident.history
        self._keep_residence(resident, end)
        final = self._final(resident, end)
        if final is None:
            self._suspend(launch, end)
            return
        fate, code = final
        if code == ErrorCode.SM_LOST:
            stream = s.stream_of(launch)
            s.later(lambda: setattr(stream, "broken", True))
        s.count(launch, Fate.FINISHED if fate is FinalFate.FINISHED else Fate.FAILED)
        s.make_record(launch, fate, code)
        if launch.started:
            s.end_launch(launch)
        else:
            s.later(lambda: self._return_to_list(launch, ended=True))

    def _keep_residence(self, resident: Resident, end: End) -> None:
        """Keep a residence with its launch (rule 52); nobody else reads it in this cycle."""
        launch = resident.launch
        if resident.begun:
            launch.cycles, launch.first_offer = end.cycles, resident.first_offer
            launch.offered = True
        resets = launch.mode == Mode.RESET and not launch.descriptor.idempotent
        if end.fate is not Fate.SKIPPED and resets and resident.draining:
            launch.reset_as_drain = True

    def _final(self, resident: Resident, end: End) -> tuple[FinalFate, int] | None:
        """Return a final record's fate and code; None if the launch is put back (rule 48)."""
        if end.fate is Fate.FINISHED:
            return FinalFate.FINISHED, ErrorCode.OK
        if end.fate is Fate.FAILED:
            return FinalFate.FAILED, end.code
        killed = end.fate is Fate.KILLED
        if not self._state.config.sm_kill:
            killed |= end.fate is Fate.DRAINED
        if resident.timed_out and killed:
            return FinalFate.FAILED, QueueCode.TIMEOUT
        return (FinalFate.ABORTED, ErrorCode.OK) if resident.aborted else None

    def _suspend(self, launch: Launch, end: End) -> None:
        """Put a launch back (rules 48 e to g, 50)."""
        s = self._state
        following = {
            Fate.KILLED: 0,
            Fate.DRAINED: end.next_block,
            Fate.SKIPPED: launch.next_block,
        }[end.fate]
        s.put_back(launch, end.fate, following, end)

        def suspend() -> None:
            if end.fate is Fate.KILLED:
                launch.kills = min(launch.kills + 1, _MOST_KILLS)
            if launch.started:
                launch.where, launch.next_block = Where.SUSPENDED, following
            else:
                self._return_to_list(launch, ended=False)

        s.later(suspend)

    def _return_to_list(self, launch: Launch, ended: bool) -> None:
        """Let a launch that has not started be in its stream's list alone."""
        launch.where, launch.ended_in_list = Where.LIST, ended
        self._state.stream_of(launch).handed = False

    # --- time ------------------------------------------------------------------------------------
    def wake(self) -> int:
        """Return the next cycle in which a place may do something by itself."""
        return min((self._wake(each) for each in self._state.residents()), default=NEVER)

    def _wake(self, resident: Resident) -> int:
        s, wake = self._state, NEVER
        first_offer = self._dispatcher.started(resident.place)
        if first_offer is not None and not resident.begun:
            wake = max(first_offer, s.cycle + 1)
        if resident.skipping and resident.skip_check > s.cycle:
            wake = min(wake, resident.skip_check)
        if resident.runs and self.launch_timeout and not resident.killing:
            over = s.cycle + max(self.launch_timeout - resident.run - 1, 1)
            wake = min(wake, over)
        return wake
