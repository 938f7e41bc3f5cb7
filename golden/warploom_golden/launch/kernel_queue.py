"""Cycle model of KernelQueue: streams, waits, residents and preemption."""

from collections import deque
from collections.abc import Mapping

from warploom_golden.launch.queue_parts import commands
from warploom_golden.launch.queue_parts.engine import Engine
from warploom_golden.launch.queue_parts.entries import Kept
from warploom_golden.launch.queue_parts.events import Event, Service, finish
from warploom_golden.launch.queue_parts.packing import Packets
from warploom_golden.launch.queue_parts.parts import Parts, Pulses, Residence
from warploom_golden.launch.queue_parts.preempts import Seen
from warploom_golden.launch.queue_parts.preparation import Started
from warploom_golden.launch.queue_parts.search import Around
from warploom_golden.launch.queue_parts.times import Levels
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode

#: Cycles from ``fetch`` to ``words``.
FETCH = 2


class KernelQueue:
    """Cycle model of KernelQueue.

    Ports and rules: ``docs/launch/kernel_queue.md``. Numbers in docstrings and comments are the
    page's rules.

    Parameters
    ----------
    config : Config
        Priorities, streams, entries, and the widths of a launch.
    first_ticket, first_count : int
        The first ticket, and the streams' first accepted count and timeline, for tests of the
        wraps.
    """

    def __init__(self, config: Config, *, first_ticket: int = 1, first_count: int = 0):
        self._config = config
        self._first_ticket, self._first_count = first_ticket, first_count
        self._packets = Packets(config)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._kept = Kept(self._config, self._first_ticket)
        self._restart()

    def _restart(self) -> None:
        """Forget all but what `Kept` keeps (1)."""
        self._parts = Parts(self._config, self._packets, self._kept, self._first_count)
        self._engine = Engine()
        self._fetched: deque[int | None] = deque([None] * FETCH)

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle; of the inputs only ``valid`` signals matter."""
        parts, cycle, pulses = self._parts, self._parts.cycle, self._parts.pulses
        aborted = parts.search.answer(cycle)
        start = parts.preparation.launch if parts.preparation.starts else None
        values: dict[str, int | None] = {
            "pace": int(parts.entries.pace(cycle)),
            "room": parts.entries.room,
            "records_left": self._kept.records_left,
            "checked__ready": int(parts.inbox.ready),
            "answer": pulses.answer,
            "command__ready": int(parts.walk.ready),
            "command_answer": pulses.command_answer,
            "abort__ready": int(parts.search.ready(cycle)),
            "abort_answer": 0 if aborted is None else self._packets.code(aborted),
            "clear_stream__ready": int(self._clears()),
            "start__valid": int(start is not None),
            "start__payload": None if start is None else self._packets.start(start),
            "hold": parts.holds.hold,
            "stop": parts.holds.stop | pulses.stop,
            "ended__ready": int(self._engine.pick(parts, inputs) is Event.END),
            "words": self._fetched[0],
            "record": parts.writer.record(cycle),
            "timeline": pulses.timeline,
            "killed": pulses.killed,
            "idle": int(self._is_idle()),
        }
        if self._config.has_loops:
            values["loop_end"] = pulses.loop_end
        return values | (self._index_outputs() if self._config.makes_indices else {})

    def _index_outputs(self) -> dict[str, int | None]:
        prepares, release = self._parts.preparation, self._parts.pulses.release
        head = prepares.launch if prepares.requests else None
        return {
            "request__valid": int(head is not None),
            "request__payload": None if head is None else self._packets.request(head),
            "cancel": int(prepares.cancels),
            "decision__ready": 1,
            "release__valid": int(release is not None),
            "release__payload": release,
        }

    def _clears(self) -> bool:
        """Return whether ``clear_stream.ready`` is 1 (15)."""
        last = self._engine.finishing(self._parts.cycle)
        return last is not None and last.event is Event.COMMAND and last.clears

    def _is_idle(self) -> bool:
        """Return whether nothing is here (31)."""
        parts, cycle = self._parts, self._parts.cycle
        writes = parts.writer.busy(cycle) or bool(parts.writer.record(cycle))
        under_way = parts.preempts.pending or parts.search.under_way or not parts.walk.ready
        waits = parts.preparation.launch is not None or parts.inbox.launch is not None
        here = writes or under_way or waits or parts.pulses.release is not None
        return parts.entries.all_free and not here and cycle >= parts.entries.boot

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge: what reads the state comes first, the event's change last."""
        parts, engine = self._parts, self._engine
        last, picked = engine.finishing(parts.cycle), engine.pick(parts, inputs)
        served = engine.serving
        places, busy = parts.kept.places, parts.writer.busy(parts.cycle)
        command = self._command(inputs)
        resumed = 0 if command is None else command.resumed
        seen = self._seen(inputs, resumed) if parts.preempts.pending else None
        engine.go_on(parts, inputs)
        if picked is not None:
            engine.begin(parts, picked, inputs)
        elif last is not None:
            engine.serving = None
        ended = last.stream if last is not None and last.event is Event.END else None
        parts.times.step(self._levels(inputs), picked=picked is Event.LATE, ended=ended)
        clears = last is not None and last.clears
        self._fetch(inputs["fetch"])
        self._step_heads(inputs, None if served is None else served.stream)
        parts.looks.step(parts.flags, picked=picked is Event.LOOK)
        parts.pulses = Pulses()
        end = None if last is None else finish(parts, last)
        if seen is not None:
            parts.preempts.step(seen, end)
        self._step_walk(inputs, command, served=_is(last, Event.COMMAND) and not clears)
        self._step_ends(inputs, places, busy=busy, accepted=_is(last, Event.ACCEPT))
        parts.cycle += 1
        if inputs["restart"]:
            self._restart()

    def _command(self, inputs: Mapping[str, int]) -> commands.Command | None:
        """Return the command that transfers in this cycle (5)."""
        if not (inputs["command__valid"] and self._parts.walk.ready):
            return None
        return commands.judge(self._parts, inputs["command__payload"])

    def _seen(self, inputs: Mapping[str, int], resumed: int) -> Seen:
        """Return what a PREEMPT sees of the state (27, 28)."""
        parts = self._parts
        resident, hold, killable = parts.flags.resident, parts.holds.hold, parts.holds.killable
        return Seen(parts.cycle, parts.times.turn, resident, hold, killable, inputs, resumed)

    def _levels(self, inputs: Mapping[str, int]) -> Levels:
        """Return the levels of the visited stream (19)."""
        parts, turn = self._parts, self._parts.times.turn
        runs = parts.flags.resident & inputs["begun"]
        stands = parts.holds.hold | inputs["yields"]
        limit = inputs["launch_timeout"]
        return Levels(bool(runs >> turn & 1), bool(stands >> turn & 1), limit)

    def _fetch(self, entry: int) -> None:
        """Read the words of an entry; one that is not in use has none that mean anything (30)."""
        launch = self._parts.search.launches.get(entry)
        self._fetched.popleft()
        used = launch is not None and launch.in_use(self._parts.cycle)
        self._fetched.append(self._packets.words(launch) if launch and used else None)

    def _step_heads(self, inputs: Mapping[str, int], served: int | None) -> None:
        """Step holds, choice and preparation (13, 20 to 26)."""
        parts, prepares, flags = self._parts, self._parts.preparation, self._parts.flags
        started = prepares.starting(inputs)
        both = flags.resident & parts.holds.hold & inputs["begun"]
        for stream in parts.residences if both else ():
            parts.residences[stream].held_begun |= bool(both >> stream & 1)
        parts.holds.step(flags, parts.rows, inputs["begun"])
        room = prepares.launch is None or started is not None
        entered = parts.choice.step(flags, parts.rows, room=room, served=served)
        decided = None
        if self._config.makes_indices:
            released = parts.pulses.release is not None or bool(inputs["made"])
            prepares.try_again(flags, released=released)
            if inputs["decision__valid"]:
                decided = self._packets.history(inputs["decision__payload"])
        prepares.step(flags, inputs, decided)
        if entered is not None:
            flags.ready &= ~(1 << entered)
            prepares.enter(parts.rows[entered].head)
        if started is not None:
            self._start(started)

    def _start(self, started: Started) -> None:
        """A launch starts in this cycle (22, 24)."""
        parts, stream = self._parts, started.launch.stream
        kills = parts.rows[stream].kills
        parts.holds.start(started.launch, kills, sm_kill=self._config.sm_kill)
        parts.residences[stream] = Residence(started)
        parts.times.start(stream)

    def _step_walk(
        self, inputs: Mapping[str, int], command: commands.Command | None, *, served: bool
    ) -> None:
        """Step the walk, and let a command act (5, 9)."""
        parts = self._parts
        if parts.walk.step(served=served):
            parts.pulses.command_answer = self._packets.code(ErrorCode.OK)
        if command is not None:
            commands.act(parts, command, inputs["clock"])
        parts.walk.see(closed=bool(inputs["soft_reset_active"]), no_sm=bool(inputs["no_sm"]))

    def _step_ends(
        self, inputs: Mapping[str, int], places: int, *, busy: bool, accepted: bool
    ) -> None:
        """Step what an event's last step fills: entries, inbox, search, writer (2 to 4, 18)."""
        parts, cycle = self._parts, self._parts.cycle
        abort = inputs["abort__valid"], inputs["abort__payload"]
        parts.search.step(Around(cycle, *abort, busy=busy, given=parts.entries.given))
        parts.inbox.step(inputs, parts.entries, emptied=accepted)
        sent = self._packets.sent.unpack(inputs["sent"])
        parts.entries.step(cycle, sent["priority"] if sent["valid"] else None)
        parts.kept.records_left = int(places >= 2)
        parts.kept.places += inputs["record_taken"] - sent["valid"]
        assert parts.kept.places >= 0, "a launch is sent, and no record's place is free"
        parts.writer.step(cycle, inputs["clock"])


def _is(service: Service | None, event: Event) -> bool:
    """Return whether an event that has its last step is of this kind."""
    return service is not None and service.event is event
