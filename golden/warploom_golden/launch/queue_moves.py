"""What the end of a cycle changes in KernelQueue's line, places and end register."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_golden.launch.queue_cycle import RESIDENT_MOST, AbortStep, Cycle, Job
from warploom_golden.launch.queue_launch import Abort, Ended, Flight, Launch, Passing, Where
from warploom_golden.launch.queue_packing import (
    Outcome,
    Packets,
    cause,
    keep_residence,
    outcome,
    progress,
)
from warploom_golden.launch.queue_state import State
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode, Fate, Stop
from warploom_spec.layouts import PLACES
from warploom_spec.queue import FinalFate, QueueCode
from warploom_spec.queue_packets import STOP_SKIP

#: Cycles from the one that sends a skip to the one that judges it (45), and one more.
SKIP_JUDGED = 4
#: Cycles in which an orphan's decision may come.
ORPHAN_CYCLES = 2


@dataclass(frozen=True)
class Plan:
    """What happens in a cycle, asked before its end changes anything.

    Attributes
    ----------
    out : list of Launch
        Launches of the line that are out (33).
    taken_back, transfers, presents : Launch or None
        Of the line (35, 38, 36).
    chosen : (Launch, bool) or None
        The chosen launch, and whether its stream is ahead (31).
    stage_moves : bool
        The stage moves to the line (32).
    sends : str or None
        Which pending reference is sent (41).
    place : int or None
        The place that the launch that transfers gets (40).
    bounded : bool
        It is aborted already (42).
    stops : list of (int, bool)
        What is sent for each place, and whether its launch is dealt with (43).
    times_out : list of bool
        Whether a time-out's kill is sent for it (46).
    job : Job or None
        What a look does (23).
    ends : Launch or None
        The suspended launch that it ends.
    purged_as : (FinalFate, int)
        Fate and code of what it ends (26).
    picked : int or None
        The stream whose job is picked (22).
    abort : AbortStep or None
        What an ABORT that acts does (62).
    """

    out: list[Launch]
    taken_back: Launch | None
    transfers: Launch | None
    presents: Launch | None
    chosen: tuple[Launch, bool] | None
    stage_moves: bool
    sends: str | None
    place: int | None
    bounded: bool
    stops: list[tuple[int, bool]]
    times_out: list[bool]
    job: Job | None
    ends: Launch | None
    purged_as: tuple[FinalFate, int]
    picked: int | None
    abort: AbortStep | None

    @classmethod
    def of(cls, cycle: Cycle, state: State) -> "Plan":
        """Ask a cycle for everything that its end changes."""
        stops: list[tuple[int, bool]] = [(Stop.NONE, False)] * PLACES
        times_out = [False] * PLACES
        for place, launch in enumerate(state.places):
            if launch is not None and not cycle.is_at_ended(place):
                stops[place] = cycle.stop_of(place, launch)
                times_out[place] = cycle.times_out(place, launch)
        looked = None if state.looking is None else state.streams[state.looking]
        broken = looked is not None and looked.broken
        transfers = cycle.transfers
        return cls(
            out=[launch for launch in state.line if cycle.is_out(launch)],
            taken_back=cycle.taken_back,
            transfers=transfers,
            presents=cycle.request_transfers,
            chosen=cycle.chosen,
            stage_moves=cycle.stage_moves,
            sends=cycle.sends,
            place=None if transfers is None else cycle.free_place(),
            bounded=transfers is not None and cycle.is_bounded(transfers),
            stops=stops,
            times_out=times_out,
            job=cycle.looks(),
            ends=None if looked is None else cycle.ends_suspended(looked),
            purged_as=cause(broken=broken, no_sm=cycle.no_sm),
            picked=cycle.picks(),
            abort=cycle.aborts(),
        )


class Moves:
    """Changes the state by a cycle's plan.

    Parameters
    ----------
    config : Config
        For the packets.
    packets : Packets
        Packs outputs.
    state : State
        What is changed.
    cycle : Cycle
        The cycle that ends.
    inputs : mapping
        Its inputs.

    Attributes
    ----------
    record : int
        The record that is made in the cycle, or 0.
    freed : list of int
        Priorities of the entries that become free.
    broken : int or None
        The stream that breaks (48 b).
    """

    def __init__(
        self,
        config: Config,
        packets: Packets,
        state: State,
        cycle: Cycle,
        inputs: Mapping[str, int],
    ):
        self._config = config
        self._packets = packets
        self._state = state
        self._cycle = cycle
        self._inputs = inputs
        self._clock = inputs["clock"]
        self._plan = Plan.of(cycle, state)
        self._met = state.meets()
        self.record = 0
        self.broken: int | None = None
        self.freed: list[int] = []

    def make(self) -> None:
        """Change everything but commands and acceptance."""
        self._state.put_back = 0
        for stream in self._state.streams:
            stream.left = False
        self._send_reference()
        # First, because it looks at entries that may become free in this cycle.
        self._serve_abort()
        self._handle_end()
        self._handle_passing()
        self._look()
        self._report_preempt()
        self._begin()
        self._stop()
        self._decide()
        self._present()
        self._move_line()
        self._enter_end_register()
        self._hand_over()
        self._choose()

    # Ends

    def _end(self, launch: Launch) -> None:
        """Let a launch end: its entry is free, and its stream counts it (24, 25, 49)."""
        self._state.entries[launch.entry] = None
        self._state.streams[launch.stream].unfinished.remove(launch)
        self.freed.append(launch.priority)

    def _make_record(self, launch: Launch, fate: FinalFate, code: int = 0) -> None:
        assert not self.record, "two records in one cycle"
        self.record = self._packets.record(launch, fate, code, self._clock)

    def _handle_end(self) -> None:
        """Handle the end register's launch (47 to 52)."""
        ended, state = self._state.ended, self._state
        if ended is None:
            return
        launch = ended.launch
        keep_residence(ended)
        result = outcome(ended, self._config.sm_kill)
        if result.final is None:
            self._put_back(ended)
        else:
            self._end_finally(launch, result.final, result)
        if result.code == ErrorCode.SM_LOST and result.final is FinalFate.FAILED:
            self.broken = launch.stream
        launch.met = False
        if launch.prepared and self._config.makes_indices:
            state.pending_end = launch.history

    def _put_back(self, ended: Ended) -> None:
        launch, fate = ended.launch, Fate(ended.end["fate"])
        launch.kills, launch.next_block, launch.next_number = progress(ended)
        launch.go_back()
        self._state.put_back = self._packets.put_back(launch.ticket, fate, launch.next_block)
        self._count(launch, fate)

    def _count(self, launch: Launch, fate: Fate) -> None:
        """Count a met launch that comes back (57)."""
        if launch.met and self._state.preempt is not None:
            self._state.preempt.fates[fate] += 1
        launch.met = False

    def _end_finally(self, launch: Launch, fate: FinalFate, result: Outcome) -> None:
        self._make_record(launch, fate, result.code)
        if launch.met and fate is FinalFate.FINISHED and self._state.preempt is not None:
            self._state.preempt.finished += 1
        if launch.started:
            self._state.streams[launch.stream].started.remove(launch)
            self._end(launch)
        else:
            launch.where, launch.ended_in_list = Where.LIST, True

    def _handle_passing(self) -> None:
        """End what a job let pass in the cycle before (24, 25)."""
        passing, self._state.passing = self._state.passing, None
        if passing is None:
            return
        if passing.record is not None:
            self._make_record(passing.launch, *passing.record)
        self._end(passing.launch)

    def _look(self) -> None:
        """Do what a look does, and pick the next stream (22 to 25)."""
        state, plan = self._state, self._plan
        for stream in state.streams:
            if stream.began and not stream.waiting[0].waits:
                stream.loaded = True
            stream.began = stream.entered = False
        for number in list(state.loads):
            state.loads[number] -= 1
            if not state.loads[number]:
                del state.loads[number]
                state.streams[number].loaded = True
        if state.looking is not None:
            stream = state.streams[state.looking]
            if plan.job is Job.END_SUSPENDED and plan.ends is not None:
                stream.started.remove(plan.ends)
                state.passing = Passing(plan.ends, plan.purged_as)
            elif plan.job is Job.PASS:
                head = stream.waiting[0]
                stream.leave_list()
                state.passing = Passing(head, None if head.ended_in_list else plan.purged_as)
            elif plan.job is Job.LOAD:
                state.loads[state.looking] = 2
        state.looked = state.looking is not None
        state.looking = plan.picked

    def _serve_abort(self) -> None:
        """Move the ABORT that is served (61, 62)."""
        state, step = self._state, self._plan.abort
        state.abort_answer = 0
        state.abort_acted_on = None
        abort = state.abort
        if abort is None:
            if self._inputs["abort__valid"]:
                fields = self._packets.abort.unpack(self._inputs["abort__payload"])
                state.abort = Abort(fields["ticket"])
        elif abort.acts_on is None:
            self._search(abort)
        else:
            if not abort.answered:
                code = QueueCode.TICKET_UNKNOWN if step is AbortStep.GONE else ErrorCode.OK
                state.abort_answer = self._packets.code(code)
            abort.answered = True
            state.abort_acted_on = abort.acts_on
            self._act(abort.acts_on, step)
            if step is not AbortStep.WAITS:
                state.abort = None

    def _search(self, abort: Abort) -> None:
        """Look at the places, then at one entry a cycle."""
        state = self._state
        if abort.entry == len(state.entries):
            state.abort_answer = self._packets.code(QueueCode.TICKET_UNKNOWN)
            state.abort = None
            return
        asked = state.places if abort.entry < 0 else [state.entries[abort.entry]]
        found = (launch for launch in asked if launch is not None and launch.ticket == abort.ticket)
        abort.acts_on = next(found, None)
        abort.entry += 1

    def _act(self, launch: Launch, step: AbortStep | None) -> None:
        if step is AbortStep.IN_PLACE:
            launch.aborted = True
        elif step is AbortStep.SUSPENDED:
            self._make_record(launch, FinalFate.ABORTED)
            self._state.streams[launch.stream].started.remove(launch)
            self._end(launch)
        elif step is AbortStep.LISTED:
            self._make_record(launch, FinalFate.ABORTED)
            launch.ended_in_list = True

    # Places

    def _begin(self) -> None:
        """Let launches begin whose first block is decided (37)."""
        for place, launch in enumerate(self._state.places):
            if launch is None or launch.begun or not self._cycle.is_started(place):
                continue
            launch.begun, launch.begun_at = True, self._clock
            if not launch.again:
                stream = self._state.streams[launch.stream]
                stream.leave_list()
                stream.began = stream.left
                stream.started.append(launch)
                launch.started = True

    def _stop(self) -> None:
        """Send stops and count residences (43 to 46)."""
        stops = [stop for stop, _ in self._plan.stops]
        self._state.stop = self._packets.stop(stops)
        for place, launch in enumerate(self._state.places):
            if launch is None:
                continue
            self._judge_skip(place, launch)
            if self._cycle.runs(place):
                launch.resident = min(launch.resident + 1, RESIDENT_MOST)
            stop, dealt = self._plan.stops[place]
            launch.killing |= stop == Stop.KILL
            launch.draining |= stop == Stop.DRAIN
            if stop == STOP_SKIP:
                launch.skipping, launch.skip_looks = True, SKIP_JUDGED
            launch.dealt |= dealt
            launch.timed_out |= self._plan.times_out[place]
            launch.aborted |= self._state.closed

    def _judge_skip(self, place: int, launch: Launch) -> None:
        """Forget a skip that has failed (45)."""
        if launch.skip_looks:
            launch.skip_looks -= 1
            if not launch.skip_looks and self._cycle.is_started(place):
                launch.skipping = False

    def _enter_end_register(self) -> None:
        """Let the record at ``ended`` into the end register (47)."""
        state, end = self._state, self._cycle.end
        state.was_full = state.ended is not None
        state.ended = None
        if end is not None:
            launch = state.places[end["place"]]
            assert launch is not None, f"place {end['place']} has no launch"
            launch.where = Where.END
            state.ended = Ended(launch, end, self._inputs["ended_number"])
            state.places[end["place"]] = None

    def _hand_over(self) -> None:
        """Let the front take a place (40, 42)."""
        launch, place = self._plan.transfers, self._plan.place
        if launch is not None and place is not None:
            launch.take_place(aborted=self._plan.bounded)
            self._state.places[place] = launch

    # Line, configurations and references

    def _send_reference(self) -> None:
        """Send one of the pending references (41)."""
        self._state.release = None
        if self._plan.sends is not None:
            self._state.release = getattr(self._state, self._plan.sends)
            setattr(self._state, self._plan.sends, None)

    def _decide(self) -> None:
        """Let a decision prepare its launch, or end an orphan's flight (36)."""
        flight, entry = self._state.flight, self._cycle.decided
        self._state.cancel = False
        if flight is None:
            return
        if flight.launch is None:
            flight.age += 1
            self._state.pending_flight = entry
        elif entry is not None:
            flight.launch.prepared, flight.launch.history = True, entry
        if entry is not None or flight.age == ORPHAN_CYCLES:
            self._state.flight = None

    def _present(self) -> None:
        """Let a configuration transfer at ``request`` (36)."""
        if self._plan.presents is not None:
            self._plan.presents.presented = True
            self._state.flight = Flight(self._plan.presents)

    def _move_line(self) -> None:
        """Take back, hand over and let the stage in (32 to 35, 38)."""
        state, front = self._state, self._state.front
        for launch in state.line:
            launch.out = launch in self._plan.out
        leaving = [self._plan.transfers, self._plan.taken_back]
        state.line = [launch for launch in state.line if launch not in leaving]
        if self._plan.taken_back is not None:
            self._take_back(self._plan.taken_back)
        if self._plan.stage_moves and state.stage is not None:
            state.stage.enter_line(prepared=not self._config.makes_indices)
            state.line.append(state.stage)
            state.stage = None
        state.front_is_read = front is None or state.front is front

    def _take_back(self, launch: Launch) -> None:
        """Take a launch out of the line (35, 36, 41)."""
        state = self._state
        launch.go_back()
        state.put_back = self._packets.put_back(launch.ticket, Fate.SKIPPED, launch.start)
        self._count(launch, Fate.SKIPPED)
        if launch.prepared and self._config.makes_indices:
            state.pending_line = launch.history
        if state.flight is not None and state.flight.launch is launch:
            state.flight.launch = None
            state.cancel = True

    def _choose(self) -> None:
        """Let the chosen launch into the stage (31)."""
        if self._plan.chosen is not None:
            launch, ahead = self._plan.chosen
            launch.be_chosen(ahead)
            self._state.stage = launch
            self._state.last = launch.stream

    def _report_preempt(self) -> None:
        """Make the PREEMPT's record once nothing that it met is to come back (58)."""
        preempt = self._state.preempt
        if preempt is not None and not self.record and not self._met:
            self.record = self._packets.preempt_record(preempt, self._clock)
            self._state.preempt = None
