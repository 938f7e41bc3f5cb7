"""Golden model of the kernel queue: hands launches on, preempts them, makes their final records.

Rules: ``docs/preemption/preemption.md``. Each cycle's decisions see the state at the cycle's start.
What a command changes is seen in the next cycle.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, islice

from warploom_golden.launch.launch_check import refusals
from warploom_golden.oracles.index_reference import warps
from warploom_golden.preemption.completion_queue import CompletionQueue
from warploom_golden.preemption.index_path import IndexPath
from warploom_golden.preemption.launch import READY, Launch, State
from warploom_golden.preemption.parameters import QueueParameters
from warploom_golden.preemption.records import FinalRecord, Preemption, PutBack
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_dispatcher import End, EventDispatcher
from warploom_spec import Config, ErrorCode, Fate, LaunchDescriptor, Stop, timing
from warploom_spec.queue import PRIORITIES, FinalFate, Mode, QueueCode

#: A command's ticket (0: none) and code (0: accepted).
Answer = tuple[int, int]
#: The stop that the dispatcher gets for a started launch, by the launch's mode.
_STOPS = {Mode.RESET: Stop.KILL, Mode.DRAIN: Stop.DRAIN, Mode.WAIT: Stop.NONE}
#: The failures that break a launch's stream.
_BREAKING = (ErrorCode.SM_LOST, ErrorCode.NO_SM)


class KernelQueue:
    """The kernel queue: four queues by priority, in front of a dispatcher.

    Parameters
    ----------
    config : Config
        The configuration.
    dispatcher : EventDispatcher
        The dispatcher that takes the launches.
    parameters : QueueParameters
        Sizes of the kernel queue.

    Attributes
    ----------
    wake : int
        The next cycle in which `step` must be called, even if the dispatcher has no event.
    put_back : list of PutBack
        The stream ``put_back``: every launch that left the dispatcher unfinished, in order.
    searched : list of tuple of three int
        (cycle, ticket, code) of each ABORT's answer.
    starts : list of tuple of two int
        (ticket, cycle of the first offer) of each start; a launch may start more than once.
    path : IndexPath
        The path from the queues to the dispatcher.
    """

    def __init__(
        self,
        config: Config,
        dispatcher: EventDispatcher,
        parameters: QueueParameters,
    ):
        self._config = config
        self._dispatcher = dispatcher
        self._parameters = parameters
        self._queues: list[deque[Launch]] = [deque() for _ in range(PRIORITIES)]
        self._accepted = [0] * PRIORITIES
        self._by_command = [False] * PRIORITIES
        self._resuming = [False] * PRIORITIES
        self._preemptions: list[Preemption | None] = [None] * PRIORITIES
        self._in_places: list[Launch | None] = [None, None]
        self._broken: set[int] = set()
        self._completion = CompletionQueue(parameters)
        self._aborts: deque[int] = deque()
        self._search = -1
        # Functions that change the state at the end of this cycle, one for each command.
        self._effects: list[Callable[[], None]] = []
        self.wake = 0
        self.path = IndexPath(config)
        self.put_back: list[PutBack] = []
        self.starts: list[tuple[int, int]] = []
        self.searched: list[tuple[int, int, int]] = []

    @property
    def records(self) -> list[FinalRecord]:
        """The final records that were sent, in order."""
        return self._completion.records

    # --- state -----------------------------------------------------------------------------------
    def unfinished(self, priority: int) -> Iterator[Launch]:
        """Yield a queue's unfinished launches in order of acceptance."""
        return (each for each in self._queues[priority] if each.state is not State.FINISHED)

    def room(self, priority: int) -> bool:
        """Tell whether a queue has a free entry."""
        return len(self._queues[priority]) < self._parameters.queue_depth

    def is_busy(self, priority: int) -> bool:
        """Tell whether a queue has an unfinished launch and is not preempted by command."""
        return not self._by_command[priority] and bool(self._queues[priority])

    def is_preempted(self, priority: int) -> bool:
        """Tell whether a queue is preempted: by command, or because a higher queue is busy."""
        higher = any(self.is_busy(each) for each in range(priority + 1, PRIORITIES))
        return self._by_command[priority] or higher

    @property
    def is_empty(self) -> bool:
        """Whether every accepted ticket has its final record."""
        return not any(self._queues) and not any(self._preemptions)

    @property
    def _no_sm(self) -> bool:
        return self._dispatcher.lost_count == self._config.sms

    # --- commands --------------------------------------------------------------------------------
    def launch(self, launch: LaunchDescriptor) -> Answer:
        """Accept or refuse a launch from LaunchCheck; if accepted, queue it in the next cycle."""
        code = self._refusal(launch)
        if code:
            return 0, code
        ticket = self._completion.reserve()
        entry = Launch(ticket, launch, warps(launch.block, self._config.warp_size))

        def accept() -> None:
            priority = launch.priority
            depth = self._parameters.queue_depth
            entry.number = priority * depth + self._accepted[priority] % depth
            self._accepted[priority] += 1
            self._queues[priority].append(entry)

        self._effects.append(accept)
        return ticket, 0

    def _refusal(self, launch: LaunchDescriptor) -> int:
        """Return the code of the first reason to refuse a launch (rule 2); 0 to accept it."""
        content = next(refusals(launch.values(self._config), 0, self._config), None)
        if content is not None:
            return content[0]
        others = chain.from_iterable(
            self.unfinished(each) for each in range(PRIORITIES) if each != launch.priority
        )
        if any(each.descriptor.stream == launch.stream for each in others):
            return ErrorCode.STREAM_PRIORITY
        if launch.stream in self._broken:
            return ErrorCode.STREAM_BROKEN
        if self._no_sm:
            return ErrorCode.NO_SM
        if self._completion.is_full:
            return ErrorCode.COMPLETION_FULL
        return 0 if self.room(launch.priority) else ErrorCode.QUEUE_FULL

    def take_record(self) -> FinalRecord | None:
        """Take the oldest final record that is left, and free its entry; None if none is left."""
        return self._completion.take()

    def preempt(self, priority: int) -> Answer:
        """Preempt a queue by command (PREEMPT), from the next cycle on."""
        if self._preemptions[priority] is not None:
            return 0, QueueCode.PREEMPT_PENDING
        if self._completion.is_full:
            return 0, ErrorCode.COMPLETION_FULL
        ticket = self._completion.reserve()

        def begin() -> None:
            self._by_command[priority] = True
            self._preemptions[priority] = Preemption(ticket)

        self._effects.append(begin)
        return ticket, 0

    def resume(self, priority: int) -> Answer:
        """End a queue's preemption by command (RESUME): in the next cycle, or as in rule 17."""
        if not self._by_command[priority]:
            return 0, QueueCode.NOT_PREEMPTED
        self._effects.append(lambda: self._resume(priority))
        return 0, 0

    def _resume(self, priority: int) -> None:
        """Let a queue go on now, or note to do so when its PREEMPT is reported."""
        waits = self._preemptions[priority] is not None
        self._by_command[priority] = self._resuming[priority] = waits

    def abort(self, ticket: int) -> None:
        """Search for a ticket's launch, and end it (ABORT); the answer is in `searched`."""
        self._effects.append(lambda: self._aborts.append(ticket))

    def clear_stream(self, stream: int) -> None:
        """Let a broken stream take launches again."""
        self._effects.append(lambda: self._broken.discard(stream))

    # --- one cycle -------------------------------------------------------------------------------
    def step(self, cycle: int, end: End | None) -> None:
        """Run one cycle; ``end`` is the launch that left its place in the cycle before, or None."""
        moved = end is not None or bool(self._effects)
        flags = self._flags()
        top = next((each for each in reversed(range(PRIORITIES)) if self.is_busy(each)), None)
        if end is not None:
            self._end(cycle, end)
        self._note_starts()
        self._time_out(cycle)
        moved |= self._search_abort(cycle)
        self._preempt_queues(cycle, flags)
        moved |= self._take_place(cycle)
        self.path.step(cycle)
        moved |= top is not None and self._hand_on(cycle, top)
        moved |= self._report_preemptions(cycle)
        self._completion.send()
        for effect in self._effects:
            effect()
        self._effects.clear()
        moved |= self.path.is_busy(cycle)
        timeouts = (each.timeout_at for each in self._in_places if each and each.timeout_at)
        self.wake = (
            cycle + 1 if moved else min((at for at in timeouts if at > cycle), default=NEVER)
        )

    def _flags(self) -> list[bool]:
        """Return each queue's flag: 1 while the queue is preempted (rule 8)."""
        return [self.is_preempted(each) for each in range(PRIORITIES)]

    def _hand_on(self, cycle: int, top: int) -> bool:
        """Hand on, or fail, the first ready launch of the highest busy queue; tell whether."""
        launch = self._next(top)
        if launch is None:
            return False
        if self._no_sm:
            self._finish(cycle, launch, FinalFate.FAILED, ErrorCode.NO_SM)
        elif launch.descriptor.stream in self._broken:
            self._finish(cycle, launch, FinalFate.FAILED, ErrorCode.STREAM_BROKEN)
        else:
            return self._enter_path(cycle, launch)
        return True

    def _enter_path(self, cycle: int, launch: Launch) -> bool:
        """Send a launch on its way to the dispatcher; tell whether there was room."""
        if self._handed_count >= self._parameters.handed:
            return False
        launch.suspended, launch.state = launch.state, State.HANDED
        self.path.enter(launch, cycle)
        return True

    @property
    def _handed_count(self) -> int:
        """Launches that are handed on, not started, and not being taken back."""
        return sum(each.state is State.HANDED and not each.preempted for each in self._all())

    def _all(self) -> Iterator[Launch]:
        return chain.from_iterable(self.unfinished(each) for each in range(PRIORITIES))

    def _next(self, priority: int) -> Launch | None:
        """Return the first ready launch of a queue's window; None if one may still be put back."""
        window = list(islice(self.unfinished(priority), self._parameters.max_in_flight))
        if any(each.may_come_back for each in window):
            return None
        return next((each for each in window if each.state in READY), None)

    def _take_place(self, cycle: int) -> bool:
        """Let the first prepared launch take the lowest free place, once the dispatcher booted."""
        launch = self.path.prepared(cycle)
        if launch is None or None not in self._in_places:
            return False
        if cycle < timing(self._config).boot:
            return True
        number = self._in_places.index(None)
        self.path.leave(launch)
        launch.place = number
        self._in_places[number] = launch
        self._dispatcher.hand_over(
            cycle, number, launch.descriptor, launch.ticket, launch.next_block
        )
        return True

    def _note_starts(self) -> None:
        """Note which launches have started since the last cycle, and when their time is over."""
        limit = self._parameters.launch_timeout
        for number, launch in enumerate(self._in_places):
            if launch is None or launch.state is not State.HANDED:
                continue
            first_offer = self._dispatcher.started(number)
            if first_offer is not None:
                launch.state = State.STARTED
                self.starts.append((launch.ticket, first_offer))
                launch.timeout_at = first_offer + limit if limit else None

    # --- preemption ------------------------------------------------------------------------------
    def _preempt_queues(self, cycle: int, flags: list[bool]) -> None:
        """Take back the preempted queues' launches without a place; stop those in a place, once."""
        for launch in list(self.path.launches):
            if flags[launch.descriptor.priority]:
                self.path.leave(launch)
                self._put_back(cycle, launch, Fate.SKIPPED, launch.next_block)
        for resident in self._in_places:
            if resident and flags[resident.descriptor.priority] and not resident.preempted:
                self._preempt_launch(cycle, resident)

    def _preempt_launch(self, cycle: int, launch: Launch) -> None:
        """Stop a launch in a place as its mode says (rule 11)."""
        mode = self._effective_mode(launch)
        launch.preempted = True
        launch.stopping = mode is not Mode.WAIT
        launch.killing |= mode is Mode.RESET
        self._stop(cycle, launch, _STOPS[mode])

    def _effective_mode(self, launch: Launch) -> Mode:
        """Return how a launch is stopped once it has started: reset, drain or wait."""
        return launch.effective_mode(self._parameters.max_kills)

    def _stop(self, cycle: int, launch: Launch, how: Stop) -> None:
        """Send a stop to a launch in a place; if it has not started by then, it is taken back."""
        assert launch.place is not None
        self._dispatcher.stop(cycle, launch.place, how, take_back=True)

    def _put_back(
        self, cycle: int, launch: Launch, fate: Fate, next_block: int, end: End | None = None
    ) -> None:
        """Put a launch back into its queue, where it waits to be handed on again."""
        self.path.release(launch, cycle)
        self._count(launch, fate)
        launch.kills += fate is Fate.KILLED
        launch.leave(launch.state_after(fate), next_block)
        offered, held = (end.offered, end.held) if end else (0, 0)
        self.put_back.append(PutBack(cycle, launch.ticket, fate, next_block, offered, held))

    def _count(self, launch: Launch, fate: Fate) -> None:
        preemption = self._preemptions[launch.descriptor.priority]
        if preemption:
            preemption.count(fate)

    # --- ends ------------------------------------------------------------------------------------
    def _end(self, cycle: int, end: End) -> None:
        """Make the final record of a launch that left its place, or put the launch back."""
        launch = self._in_places[end.place]
        assert launch is not None
        self._in_places[end.place] = None
        drained_instead = Mode(launch.descriptor.mode) is Mode.RESET and launch.stopping
        if drained_instead and not launch.descriptor.idempotent and end.fate is not Fate.SKIPPED:
            launch.reset_as_drain = True
        if end.fate is Fate.FINISHED:
            self._finish(cycle, launch, FinalFate.FINISHED, 0, end.cycles)
        elif end.fate is Fate.FAILED:
            if end.code in _BREAKING:
                self._broken.add(launch.descriptor.stream)
            self._finish(cycle, launch, FinalFate.FAILED, end.code, end.cycles)
        elif launch.timed_out and end.fate is Fate.KILLED:
            self._finish(cycle, launch, FinalFate.FAILED, QueueCode.TIMEOUT, end.cycles)
        elif launch.aborted:
            self._finish(cycle, launch, FinalFate.ABORTED, 0, end.cycles)
        else:
            self._suspend(cycle, launch, end)

    def _suspend(self, cycle: int, launch: Launch, end: End) -> None:
        """Put back a launch that was stopped: a killed one goes on with block 0 (rule 15)."""
        next_block = 0 if end.fate is Fate.KILLED else end.next_block
        self._put_back(cycle, launch, end.fate, next_block, end)

    def _finish(
        self, cycle: int, launch: Launch, fate: FinalFate, code: int, cycles: int = 0
    ) -> None:
        """Make a launch's final record, and free its entry in the queue at the cycle's end."""
        if fate is FinalFate.FINISHED:
            self._count(launch, Fate.FINISHED)
        self._completion.make(
            FinalRecord(
                cycle=cycle,
                ticket=launch.ticket,
                fate=fate,
                code=code,
                kills=launch.kills,
                reset_as_drain=launch.reset_as_drain,
                cycles=cycles,
            )
        )
        self.path.release(launch, cycle)
        self._remove(launch)

    def _remove(self, launch: Launch) -> None:
        launch.leave(State.FINISHED, 0)
        queue = self._queues[launch.descriptor.priority]
        while queue and queue[0].state is State.FINISHED:
            queue.popleft()

    def _report_preemptions(self, cycle: int) -> bool:
        """Report each PREEMPT whose queue has no launch that is handed on or started."""
        moved = False
        for priority, preemption in enumerate(self._preemptions):
            in_flight = (State.HANDED, State.STARTED)
            if preemption and not any(e.state in in_flight for e in self.unfinished(priority)):
                self._completion.make(preemption.record(cycle))
                self._preemptions[priority] = None
                if self._resuming[priority]:
                    self._resume(priority)
                moved = True
        return moved

    # --- ABORT and launch_timeout ----------------------------------------------------------------
    def _search_abort(self, cycle: int) -> bool:
        """Look at one entry of the queues for the oldest ABORT's ticket."""
        if not self._aborts:
            return False
        self._search += 1
        ticket = self._aborts[0]
        found = next((each for each in self._all() if each.ticket == ticket), None)
        if found and found.number == self._search:
            self._end_by_abort(cycle, found)
            code = 0
        elif self._search == PRIORITIES * self._parameters.queue_depth - 1:
            code = QueueCode.TICKET_UNKNOWN
        else:
            return True
        self.searched.append((cycle, ticket, code))
        self._aborts.popleft()
        self._search = -1
        return True

    def _end_by_abort(self, cycle: int, launch: Launch) -> None:
        if launch.place is not None:
            launch.aborted = launch.killing = True
            self._stop(cycle, launch, Stop.KILL)
            return
        if launch.state is State.HANDED:
            self.path.leave(launch)
        self._finish(cycle, launch, FinalFate.ABORTED, 0)

    def _time_out(self, cycle: int) -> None:
        """Kill each launch that has run too long, unless it is being killed already."""
        for launch in self._in_places:
            if launch and launch.timeout_at is not None and cycle >= launch.timeout_at:
                launch.timeout_at = None
                if not launch.killing:
                    launch.timed_out = launch.killing = True
                    self._stop(cycle, launch, Stop.KILL)
