"""The line: configurations, hand-over, taking back, references (rules 33 to 41)."""

from dataclasses import dataclass

from warploom_golden.preemption.streams.event_launch import InLine, Launch, Resident, Where
from warploom_golden.preemption.streams.event_log import Decision, Handed, Lookup
from warploom_golden.preemption.streams.event_state import EventState
from warploom_golden.preemption.streams.stopped_dispatcher import StoppedDispatcher
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_filter import Accepted, EventFilter
from warploom_spec import Fate, timing
from warploom_spec.queue import Mode

#: Cycles for which an orphan's decision may still come after its launch was taken back.
_ORPHAN = 2


@dataclass(eq=False)
class Flight:
    """A configuration in flight.

    Attributes
    ----------
    waiting : InLine
        Its launch.
    transferred : int
        The cycle of its transfer at ``request``.
    accepted : Accepted or None
        What the filter said.
    orphaned : int
        The cycle in which its launch was taken back; `NEVER` if it was not.
    """

    waiting: InLine
    transferred: int
    accepted: Accepted | None = None
    orphaned: int = NEVER


class Line:
    """The line, which gives launches to the dispatcher.

    Parameters
    ----------
    state : EventState
        What all parts share.
    dispatcher : StoppedDispatcher
        What takes them.

    Attributes
    ----------
    taken_back : Launch or None
        The launch that is taken back in this cycle.
    handed_over : Launch or None
        The launch that transfers to the dispatcher in this cycle.
    """

    def __init__(self, state: EventState, dispatcher: StoppedDispatcher):
        self._state, self._dispatcher = state, dispatcher
        self._timing = timing(state.config)
        self._filter = EventFilter(state.config) if state.config.makes_indices else None
        self._flight: Flight | None = None
        self._front_before: InLine | None = None
        # History entries of references that are pending.
        self._pending: dict[str, int] = {}
        self.taken_back: Launch | None = None
        self.handed_over: Launch | None = None

    def step(self, aborted_streams: set[int]) -> None:
        """Run one cycle.

        Parameters
        ----------
        aborted_streams : set of int
            Streams that an ABORT_STREAMS of this cycle names.
        """
        s = self._state
        out = {each.launch: self._is_out(each) for each in s.line}
        sent = self._give_back()
        decided = self._look_up()
        requests = self._request(out)
        transfers = self._hand_over(aborted_streams)
        self._take_back(out, transfers, decided, requests, line_free=sent)
        self._front_before = s.line[0] if s.line else None
        changed = [each for each in s.line if each.was_out != out[each.launch]]

        def note_out() -> None:
            for each in changed:
                each.was_out = not each.was_out

        if changed:
            # The choice in this cycle still asks for the cycle before.
            s.later(note_out)

    # --- out -------------------------------------------------------------------------------------
    def _is_out(self, waiting: InLine) -> bool:
        """Tell whether a launch in the line is out (rule 33)."""
        s, launch = self._state, waiting.launch
        stream = s.stream_of(launch)
        return (
            waiting.was_out
            or s.view.flag(stream)
            or stream.broken
            or s.no_sm
            or (launch.marked if launch.started else stream.boundary is not None)
            or s.acted is launch
            or s.is_displaced(launch)
        )

    # --- configurations --------------------------------------------------------------------------
    def _look_up(self) -> InLine | None:
        """Step the flight; return the launch whose configuration is decided in this cycle."""
        s, flight = self._state, self._flight
        if flight is None or self._filter is None:
            return None
        if flight.accepted is not None and flight.accepted.decision == s.cycle:
            self._decide(flight, flight.accepted)
            return flight.waiting
        if s.cycle == flight.orphaned + _ORPHAN:
            s.later(self._end_flight)
        asked = flight.transferred + self._timing.filter_lookup
        if flight.accepted is None and asked <= s.cycle <= flight.orphaned + 1:
            launch = flight.waiting.launch
            flight.accepted = self._filter.accept(
                s.cycle, launch.descriptor.index_address, launch.descriptor.block, launch.warps
            )
        return None

    def _end_flight(self) -> None:
        self._flight = None

    def _decide(self, flight: Flight, accepted: Accepted) -> None:
        s = self._state
        s.log.decisions.append(Decision(s.cycle, accepted.hit, accepted.entry))
        s.log.lookups.append(Lookup(flight.waiting.launch.ticket, accepted))
        s.later(self._end_flight)
        if flight.orphaned != NEVER:
            self.owe("flight", accepted.entry)
            return
        waiting = flight.waiting
        waiting.history = accepted.entry

        def prepare() -> None:
            waiting.prepared = True

        s.later(prepare)

    def _request(self, out: dict[Launch, bool]) -> Flight | None:
        """Present the next configuration; it transfers at once (rule 36)."""
        s = self._state
        if self._filter is None or self._flight is not None or "flight" in self._pending:
            return None
        waiting = next((each for each in s.line if not each.presented and not each.was_out), None)
        if waiting is None:
            return None
        flight = Flight(waiting, s.cycle)

        def fly() -> None:
            waiting.presented = True
            self._flight = flight

        s.later(fly)
        return flight

    # --- references ------------------------------------------------------------------------------
    def owe(self, kind: str, entry: int) -> None:
        """Let a reference be pending from the next cycle on."""

        def pend() -> None:
            assert kind not in self._pending
            self._pending[kind] = entry

        self._state.later(pend)

    def _give_back(self) -> bool:
        """Send one reference (rule 41); tell whether none of the line's stays pending."""
        kind = next((each for each in ("end", "line", "flight") if each in self._pending), None)
        if kind is None:
            return True
        assert self._filter is not None
        self._filter.release(self._state.cycle + 1, self._pending[kind])
        self._state.later(lambda: self._forget(kind))
        return kind == "line" or "line" not in self._pending

    def _forget(self, kind: str) -> None:
        del self._pending[kind]

    # --- hand-over -------------------------------------------------------------------------------
    def _hand_over(self, aborted_streams: set[int]) -> bool:
        """Give the front to the dispatcher if both can (rules 38 and 40); tell whether."""
        s = self._state
        self.handed_over = None
        if not s.line or self._front_before not in (s.line[0], None):
            return False
        front = s.line[0]
        place = self._free_place()
        booted = s.cycle >= self._timing.boot
        if place is None or not booted or not front.prepared or front.was_out:
            return False
        launch = front.launch
        self.handed_over = launch
        stream = s.stream_of(launch)
        aborted = launch.marked if launch.started else stream.boundary is not None
        resident = Resident(
            launch, place, front.history, aborted=aborted or launch.stream in aborted_streams
        )
        self._dispatcher.hand_over(
            s.cycle,
            place,
            launch.descriptor,
            launch.ticket,
            launch.next_block,
            ordered=not launch.started,
            yields=launch.mode == Mode.YIELD,
        )
        s.log.handed.append(Handed(s.cycle, launch.ticket, place, launch.next_block))

        def take_place() -> None:
            s.line.remove(front)
            s.places[place] = resident
            launch.where = Where.PLACE

        s.later(take_place)
        return True

    def _free_place(self) -> int | None:
        """Return the lowest place without a launch, or whose record is at ``ended``."""
        s = self._state
        leaving = s.ended[0] if s.ended else None
        free = (n for n, each in enumerate(s.places) if each is None or each is leaving)
        return next(free, None)

    # --- taking back -----------------------------------------------------------------------------
    def _take_back(
        self,
        out: dict[Launch, bool],
        transfers: bool,
        decided: InLine | None,
        requests: Flight | None,
        line_free: bool,
    ) -> None:
        """Take one launch back that is out (rule 35)."""
        s = self._state
        self.taken_back = None
        candidates = s.line[1:] if transfers else s.line
        waiting = next((each for each in candidates if out[each.launch]), None)
        if waiting is None or s.ending is not None or not line_free:
            return
        launch = self.taken_back = waiting.launch
        if waiting.prepared or decided is waiting:
            if waiting.history is not None:
                self.owe("line", waiting.history)
        else:
            flight = requests or self._flight
            if flight is not None and flight.waiting is waiting:
                flight.orphaned = s.cycle
        s.put_back(launch, Fate.SKIPPED, launch.next_block)

        def leave() -> None:
            s.line.remove(waiting)
            launch.where = Where.SUSPENDED if launch.started else Where.LIST
            if not launch.started:
                s.stream_of(launch).handed = False

        s.later(leave)

    # --- time ------------------------------------------------------------------------------------
    def wake(self) -> int:
        """Return the next cycle in which the line may move by itself."""
        s, flight = self._state, self._flight
        if self._pending:
            return s.cycle + 1
        ready = bool(s.line) and s.line[0].prepared
        boot = self._timing.boot if ready and s.cycle < self._timing.boot else NEVER
        if flight is None or self._filter is None:
            return boot
        looks_up = s.cycle < flight.transferred + self._timing.filter_lookup
        if flight.accepted or flight.orphaned != NEVER or looks_up:
            return s.cycle + 1
        return s.cycle + 1 if s.cycle <= self._filter.settled else boot
