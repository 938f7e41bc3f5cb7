"""The event model of the kernel queue: stepped only in cycles in which something may change."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from warploom_golden.preemption.streams.event_abort import Abort
from warploom_golden.preemption.streams.event_admission import Admission
from warploom_golden.preemption.streams.event_choice import Choice
from warploom_golden.preemption.streams.event_commands import Commands
from warploom_golden.preemption.streams.event_jobs import Jobs
from warploom_golden.preemption.streams.event_launch import SentLaunch
from warploom_golden.preemption.streams.event_line import Line
from warploom_golden.preemption.streams.event_log import Log
from warploom_golden.preemption.streams.event_places import Places
from warploom_golden.preemption.streams.event_records import EventRecords
from warploom_golden.preemption.streams.event_state import EventState
from warploom_golden.preemption.streams.event_streams import View
from warploom_golden.preemption.streams.stopped_dispatcher import StoppedDispatcher
from warploom_golden.replay.event_dispatcher import End
from warploom_spec import Config
from warploom_spec.queue_packets import QueueOpcode

#: Cycles that are stepped after one in which something changed. Some rules look one cycle back.
SETTLING: Final = 3


class EventQueue:
    """LaunchCheck's time, the kernel queue, and RecordQueue.

    What a method sends is at its port in the cycle that is stepped next.

    Parameters
    ----------
    config : Config
        Streams, priorities, entries, latencies.
    dispatcher : StoppedDispatcher
        What the launches run on.
    first_ticket : int
        The first accepted launch's ticket.
    first_clock : int
        The clock in cycle 0.
    window : int or None
        Of each priority only so many unfinished launches may run, the first ones. None: all, as the
        page says.

    Attributes
    ----------
    log : Log
        All events so far.
    """

    #: What a test may replace by places that break a rule.
    places_type: type[Places] = Places

    def __init__(
        self,
        config: Config,
        dispatcher: StoppedDispatcher,
        first_ticket: int = 1,
        first_clock: int = 0,
        window: int | None = None,
    ):
        self._window = window
        self._state = EventState(config, first_clock)
        self._dispatcher = dispatcher
        self._records = EventRecords()
        self._admission = Admission(self._state, first_ticket)
        self._commands = Commands(self._state, self._admission)
        self._jobs = Jobs(self._state)
        self._choice = Choice(self._state)
        self._line = Line(self._state, dispatcher)
        self._places = self.places_type(self._state, dispatcher)
        self._abort = Abort(self._state)
        self._cleared: set[int] = set()
        self._all_lost = False
        self._settling = SETTLING
        self.log: Log = self._state.log

    # --- what the host sends ---------------------------------------------------------------------
    def room(self, priority: int) -> bool:
        """Tell whether a launch of a priority that is sent in this cycle finds room."""
        return self._admission.room[priority]

    def send(self, launch: SentLaunch) -> None:
        """Let a launch transfer at ``launch``."""
        self._admission.send(launch)
        self._settling = SETTLING

    def command(self, opcode: QueueOpcode, streams: Iterable[int]) -> None:
        """Send PREEMPT, RESUME or ABORT_STREAMS for some streams."""
        self._commands.give(opcode, streams)
        self._settling = SETTLING

    @property
    def takes_abort(self) -> bool:
        """Whether ``abort.ready`` is 1."""
        return self._abort.ready

    def abort(self, ticket: int) -> None:
        """Let an ABORT transfer; ask `takes_abort` first."""
        self._abort.ask(ticket)
        self._settling = SETTLING

    def clear_stream(self, stream: int) -> None:
        """Clear a broken stream."""
        self._cleared.add(stream)
        self._settling = SETTLING

    @property
    def launch_timeout(self) -> int:
        """The cycles of one residence; 0: no limit."""
        return self._places.launch_timeout

    @launch_timeout.setter
    def launch_timeout(self, cycles: int) -> None:
        self._places.launch_timeout = cycles
        self._settling = SETTLING

    @property
    def shown_records(self) -> int:
        """How many records the host could have popped up to now, and popped."""
        return self._records.shown_count

    @property
    def has_record(self) -> bool:
        """Whether a record is shown: a pop in this cycle removes it."""
        return self._records.is_shown

    def pop(self) -> None:
        """Pop the record that is shown; without one nothing happens."""
        self._records.pop()
        self._settling = SETTLING

    @property
    def is_empty(self) -> bool:
        """Whether every accepted ticket and PREEMPT has its record."""
        streams = self._state.streams
        return self._state.preempt is None and not any(each.unfinished for each in streams)

    # --- one cycle -------------------------------------------------------------------------------
    def step(self, cycle: int, end: End | None) -> None:
        """Run one cycle; ``end`` is what is at ``ended`` in it."""
        s = self._state
        s.cycle, s.made = cycle, False
        self._clear_streams()
        if self._records.step(len(s.log.records)):
            self._admission.record_taken()
        s.acting = self._abort.acts_on()
        self._places.observe(end)
        s.view = View(s.streams, self._coming(), s.no_sm, cycle, self._window)
        # Before the line says what is out in this cycle: the choice asks what was (rule 29).
        self._choice.step()
        self._line.step(self._commands.aborted_streams)
        self._places.step()
        if self._places.owed is not None:
            self._line.owe("end", self._places.owed)
        self._jobs.step()
        self._abort.step()
        self._commands.step(self._choice.chosen, self._line.taken_back)
        self._commands.report_preempt()
        moved = self._admission.step()
        moved |= self._note_lost_sms()
        was_ending = s.ending is not None
        moved |= s.settle()
        s.acted, s.was_ending = s.acting, was_ending
        self._settling = SETTLING if moved or self._records.is_moving else self._settling - 1

    def _clear_streams(self) -> None:
        """Let streams that the host clears be broken no longer; a break in this cycle wins."""
        for number in self._cleared:
            stream = self._state.streams[number]
            self._state.later(partial(setattr, stream, "broken", False))
        self._cleared.clear()

    def _coming(self) -> set[int]:
        """Return the streams of which something is coming (rule 16)."""
        s = self._state
        coming = {each.launch.stream for each in s.residents() if each.stopping}
        coming |= {each.launch.stream for each in s.line if each.was_out}
        if s.ending is not None:
            coming.add(s.ending[0].launch.stream)
        if s.acting is not None:
            coming.add(s.acting.stream)
        return coming

    def _note_lost_sms(self) -> bool:
        """Load the register that says that no SM is left; tell whether anything changed."""
        all_lost = self._dispatcher.all_lost
        changed = all_lost != self._state.no_sm
        if changed:
            self._state.later(lambda: setattr(self._state, "no_sm", all_lost))
        return changed

    @property
    def wake(self) -> int:
        """The next cycle in which `step` must be called, if the dispatcher has no event before."""
        after = self._state.cycle + 1
        if self._settling > 0 or not self._abort.ready:
            return after
        return max(after, min(self._admission.wake, self._line.wake(), self._places.wake()))
