"""Jobs: heads are loaded, launches end in the list (rules 21 to 26)."""

from functools import partial

from warploom_golden.preemption.streams.event_launch import Launch
from warploom_golden.preemption.streams.event_state import EventState
from warploom_golden.preemption.streams.event_streams import Stream
from warploom_spec import ErrorCode
from warploom_spec.queue import FinalFate


class Jobs:
    """Looks at one stream a cycle, the lowest that wants it first.

    Parameters
    ----------
    state : EventState
        What all parts share.
    """

    def __init__(self, state: EventState):
        self._state = state
        # The launch that ends in this cycle, and what its record says; None: it has one.
        self._passing: tuple[Launch, tuple[FinalFate, int] | None] | None = None

    def step(self) -> None:
        """Run one cycle."""
        s = self._state
        self._end_passed()
        self._load_behind_begins()
        looked = s.picked
        if looked is not None:
            self._look(looked)
        self._load()
        wanting = (each for each in s.streams if each.unfinished and self._wants(each))
        picked = next(wanting, None)

        def pick() -> None:
            s.picked, s.looked = picked, looked is not None
            if picked is not None:
                picked.job_until, picked.loading = s.cycle + 1, False

        if picked is not None or looked is not None or s.looked:
            s.later(pick)

    def _load_behind_begins(self) -> None:
        """Load heads without waits that came behind one that began (rule 13)."""
        for stream in self._state.streams:
            if stream.began_at == self._state.cycle - 1 and not stream.items[0].waits:
                self._state.later(partial(setattr, stream, "loaded", True))

    def _end_passed(self) -> None:
        """Let the launch that passed in the cycle before end in this one."""
        s = self._state
        if self._passing is None:
            return
        launch, record = self._passing
        self._passing = None
        if record is not None:
            s.make_record(launch, *record)
        s.end_launch(launch)

    def _wants(self, stream: Stream) -> bool:
        """Tell whether a stream wants a job (rule 21)."""
        s = self._state
        if stream.job_until >= s.cycle:
            return False
        head = bool(stream.items) and not stream.handed
        if head and (not stream.loaded or s.view.is_purged(stream)):
            return True
        return self._to_end(stream) is not None

    def _to_end(self, stream: Stream) -> Launch | None:
        """Return the first suspended launch that is to be ended (rule 21 b)."""
        every = stream.broken or self._state.no_sm
        return next((each for each in stream.suspended if every or each.marked), None)

    def _look(self, stream: Stream) -> None:
        """Do the job of the stream that is looked at (rule 23)."""
        s = self._state
        suspended = self._to_end(stream)
        head = stream.items[0] if stream.items and not stream.handed else None
        if suspended is not None:
            if s.ended is None:
                self._end_suspended(stream, suspended)
        elif head is not None and s.view.is_purged(stream):
            if s.ended is None:
                self._pass(stream, head)
        elif head is not None and not stream.loaded and stream.entered_at != s.cycle - 1:
            stream.job_until, stream.loading = s.cycle + 2, True

    def _load(self) -> None:
        """Load the heads whose job is over with this cycle."""
        for stream in self._state.streams:
            if stream.loading and stream.job_until == self._state.cycle:

                def load(stream: Stream = stream) -> None:
                    stream.loaded, stream.loading = True, False

                self._state.later(load)

    def _fate(self, stream: Stream) -> tuple[FinalFate, int]:
        """Return what a record of rule 26 says."""
        if stream.broken:
            return FinalFate.FAILED, ErrorCode.STREAM_BROKEN
        if self._state.no_sm:
            return FinalFate.FAILED, ErrorCode.NO_SM
        return FinalFate.ABORTED, ErrorCode.OK

    def _pass(self, stream: Stream, head: Launch) -> None:
        """Let the head leave the list; it ends in the next cycle (rule 24)."""
        record = None if head.ended_in_list else self._fate(stream)
        self._state.let_leave(stream, head, begins=False)
        self._passing = head, record

    def _end_suspended(self, stream: Stream, launch: Launch) -> None:
        """Let a suspended launch be started no longer; it ends in the next cycle (rule 25)."""
        self._passing = launch, self._fate(stream)

        def leave() -> None:
            launch.started = False

        self._state.later(leave)
