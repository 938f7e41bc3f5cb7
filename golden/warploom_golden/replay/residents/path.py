"""Event model of LaunchPath with its SMs: launches and commands in, records out.

The queue is the cycle model of KernelQueue. It is stepped in cycles in which something is under
way in it, and sleeps in between. Its pages are ``docs/launch/kernel_queue.md`` and
``docs/launch/launch_path.md``.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.machine import Machine
from warploom_golden.replay.residents.dispatcher import ResidentMachine
from warploom_golden.replay.residents.front import Checks, Indices
from warploom_golden.replay.residents.launches import (
    Answer,
    Code,
    Killed,
    Log,
    Lookup,
    SentLaunch,
    Start,
    Step,
    Word,
)
from warploom_golden.replay.residents.ports import Ports, SleepingQueue
from warploom_golden.replay.sm_behaviour import SmBehaviour
from warploom_spec import Config, LaunchDescriptor, timing
from warploom_spec.queue_packets import FINAL_RECORD_WORDS, QueueOpcode

#: The queue is stepped so many cycles on after something was under way.
SETTLES: Final = 4
#: From ``record_taken``'s pop, and from a record's last word to the first cycle of its pop.
_POP: Final = 1


class NoEventLeft(RuntimeError):
    """Launches wait for their final record, and no event can come any more."""


class Host(Protocol):
    """The sender of launches and commands."""

    @property
    def wake(self) -> int:
        """The next cycle in which the host acts by itself; `NEVER` if it only reacts."""

    def step(self, cycle: int, path: "ResidentPath") -> None:
        """Send what is at the ports in this cycle.

        The model calls this in every cycle in which anything may change.
        """


class ResidentPath:
    """LaunchCheck, KernelQueue, IndexGenerator, BlockDispatcher, RecordQueue, and SMs.

    Parameters
    ----------
    config : Config
        The configuration.
    seed : int
        Seed of the block lengths.
    sm : SmBehaviour or None
        How the stand-ins of the SMs behave; None: the default.
    knee : int or None
        With contention: warps that an SM runs at full speed. None: without contention.
    log : int
        How many offers, and how many reports, are logged.
    drained : int or None
        The caller of `pieces` takes the logs when so many offers, or reports, stand there.
    kill_every : int or None
        As for `ResidentMachine`.
    machine : Machine or None
        The SMs; None: what the configuration says.
    launch_timeout : int
        Cycles of a run; 0: no limit.
    late : int
        Its reset ends so many cycles after cycle 0: clock and boot begin then.
    queue : type of SleepingQueue
        The queue's class: a test gives one that breaks a rule.
    dense : bool
        Step every cycle, also those in which nothing can change: for tests.

    Attributes
    ----------
    dispatcher : ResidentMachine
        Dispatcher and SMs.
    log : Log
        All events of the launch path but offers and reports.
    cycle : int
        The next cycle to run.
    config : Config
        The configuration.
    """

    def __init__(
        self,
        config: Config,
        *,
        seed: int = 1,
        sm: SmBehaviour | None = None,
        knee: int | None = None,
        log: int = 0,
        drained: int | None = None,
        kill_every: int | None = None,
        machine: Machine | None = None,
        launch_timeout: int = 0,
        late: int = 0,
        queue: type[SleepingQueue] = SleepingQueue,
        dense: bool = False,
    ):
        self.config = config
        self.dispatcher = ResidentMachine(
            config, seed, sm, log, knee, drained, machine, kill_every=kill_every
        )
        self.queue = queue(config)
        self.log = Log()
        self.cycle = 0
        self._checks, self._indices = Checks(config), Indices(config)
        self._ports = Ports(config)
        self._clock, self._limit, self._dense = -late, launch_timeout, dense
        self._boot = timing(config).resident_boot + late
        # The queue is stepped in each cycle up to this one.
        self._awake = 0
        # What a host does: a launch of this cycle, what stands at ports, records that it popped.
        self._sent: SentLaunch | None = None
        self._command: int | None = None
        self._abort: int | None = None
        self._popped = 0
        # Inputs of later cycles.
        self._later: dict[int, dict[str, int]] = {}
        # By entry the launch there; words of the record that is being written.
        self._launches: dict[int, LaunchDescriptor] = {}
        self._words: dict[int, int] = {}

    # What a host does in a cycle

    @property
    def may_send(self) -> bool:
        """Whether a launch may transfer in this cycle, but for `has_room`."""
        # LaunchCheck stands still while a launch at its output is not taken.
        moves = self._checks.wake > self.cycle or self.queue.takes_checked
        return self.queue.may_send and moves

    def has_room(self, priority: int) -> bool:
        """Whether a priority has a free entry in this cycle."""
        return self.queue.has_room(priority)

    def send(self, launch: SentLaunch) -> None:
        """Let a launch transfer in this cycle."""
        assert self._sent is None, "two launches in one cycle"
        self._sent = launch

    @property
    def has_record(self) -> bool:
        """Whether a record may be popped in this cycle."""
        records = self.log.records
        return self._popped < len(records) and records[self._popped]["cycle"] < self.cycle

    def pop(self) -> dict[str, int]:
        """Pop the oldest record in this cycle."""
        record = self.log.records[self._popped]
        self._popped += 1
        self._let_later(self.cycle + _POP, "record_taken", 1)
        return record

    def command(self, opcode: QueueOpcode, mask: int) -> None:
        """Let a command stand at its port until it is taken."""
        assert self._command is None, "two commands at once"
        self._command = self._ports.command.pack({"opcode": int(opcode), "mask": mask})

    @property
    def takes_command(self) -> bool:
        """Whether no command stands at the port."""
        return self._command is None

    def abort(self, ticket: int) -> None:
        """Let an ABORT stand at its port until it is taken."""
        assert self._abort is None, "two ABORTs at once"
        self._abort = ticket

    @property
    def takes_abort(self) -> bool:
        """Whether no ABORT stands at the port."""
        return self._abort is None

    @property
    def cycles_to_offer(self) -> int:
        """Cycles from a pick to its offer."""
        return timing(self.config).resident_offer

    # Time

    def run(self, host: Host, until: int = NEVER) -> None:
        """Run on until no event can come any more, or until a cycle.

        Raises
        ------
        NoEventLeft
            If no event can come any more, and a launch or a PREEMPT has no final record.
        """
        for _ in self.pieces(host, until):
            pass

    def pieces(self, host: Host, until: int = NEVER) -> Iterator[int]:
        """Run as `run` does; yield the next cycle whenever the dispatcher's logs are to be taken.

        Raises
        ------
        NoEventLeft
            As `run`.
        """
        while self.cycle < until:
            cycle = self.cycle
            host.step(cycle, self)
            self._step()
            wake = max(cycle + 1, min(self._wake(host), until))
            reached = self.dispatcher.advance(cycle, wake)
            if reached < wake or self.dispatcher.ended is not None:
                self._stay_awake(reached)
            if reached < NEVER:
                self.queue.sleep(reached - cycle - 1)
            self.cycle = reached
            if self.dispatcher.is_full:
                yield self.cycle
        if until == NEVER and not self.queue.is_empty:
            raise NoEventLeft("nothing can happen any more although tickets have no final record")

    def _stay_awake(self, cycle: int) -> None:
        self._awake = max(self._awake, cycle + SETTLES)

    def _wake(self, host: Host) -> int:
        """Return the next cycle in which the queue must be stepped."""
        if self._dense or self.queue.restless:
            self._stay_awake(self.cycle)
        # A configuration that waits is asked again in each cycle.
        stands = self._indices.under_way or self._command is not None or self._abort is not None
        late = self._limit and self.queue.residents
        if stands or late or self.cycle < self._awake:
            return self.cycle + 1
        later = min(self._later, default=NEVER)
        # A launch at `start` waits for nothing but the boot.
        starts = NEVER if self.queue.starting is None else max(self._boot, self.cycle + 1)
        return min(self._checks.wake, host.wake, later, self._indices.wake, starts)

    def _let_later(self, cycle: int, name: str, value: int) -> None:
        self._later.setdefault(cycle, {})[name] = value

    # A cycle of the queue

    def _step(self) -> None:
        """Run the queue for a cycle, with all that is around it."""
        cycle, queue = self.cycle, self.queue
        inputs = self._ports.inputs(cycle + self._clock)
        inputs["start__ready"] = int(cycle >= self._boot)
        inputs["launch_timeout"] = self._limit
        if cycle in self._later:
            # What it says shows cycles later: a popped record leaves a place.
            inputs |= self._later.pop(cycle)
            self._stay_awake(cycle)
        checked = self._launch_inputs(inputs)
        self._host_inputs(inputs)
        self._dispatcher_inputs(inputs)
        if self.config.makes_indices:
            self._index_inputs(inputs)
        self._note_pulses()
        self._tell_dispatcher(inputs)
        queue.tick(inputs)
        if checked is not None:
            assert queue.inbox is not None
            self._launches[queue.inbox.entry] = checked.descriptor

    def _launch_inputs(self, inputs: dict[str, int]) -> SentLaunch | None:
        """Set what comes with launches; return the one that transfers at ``checked``."""
        cycle, word = self.cycle, self._checks.output(self.cycle)
        taken = None
        if word is not None:
            inputs["checked__valid"], inputs["checked__payload"] = 1, word
            self._stay_awake(cycle)
            if self.queue.takes_checked:
                taken = self._checks.take(cycle)
        if self._sent is not None:
            # It enters behind those that have stood still up to now.
            priority = self._sent.descriptor.priority
            inputs["sent"] = self._ports.sent.pack({"valid": 1, "priority": priority})
            self._checks.send(cycle, self._sent)
            self._sent = None
            self._stay_awake(cycle)
        return taken

    def _host_inputs(self, inputs: dict[str, int]) -> None:
        """Set what a host lets stand at the ports of commands and ABORTs."""
        if self._command is not None:
            inputs["command__valid"], inputs["command__payload"] = 1, self._command
            if self.queue.takes_command:
                self._command = None
                self._stay_awake(self.cycle)
        if self._abort is not None:
            inputs["abort__valid"], inputs["abort__payload"] = 1, self._abort
            if self.queue.takes_abort:
                self._abort = None

    def _dispatcher_inputs(self, inputs: dict[str, int]) -> None:
        """Set the levels of residents, and what is over."""
        dispatcher, residents = self.dispatcher, self.queue.residents
        if residents:
            for name in ("begun", "open", "busy", "yields"):
                inputs[name] = dispatcher.level(name, residents)
        inputs["no_sm"] = int(dispatcher.all_lost)
        end = dispatcher.ended
        if end is not None:
            fields = {"stream": end.row, "fate": int(end.fate), "code": int(end.code)}
            inputs["ended__valid"], inputs["ended__payload"] = 1, self._ports.ended.pack(fields)

    def _index_inputs(self, inputs: dict[str, int]) -> None:
        """Set what the index generator says, and let it hear what the queue says."""
        cycle, queue, indices = self.cycle, self.queue, self._indices
        accepted = indices.look_up(cycle)
        if accepted is not None and queue.preparing is not None:
            self.log.lookups.append(Lookup(queue.preparing.ticket, accepted))
        decided = indices.decision(cycle)
        if decided is not None and self._ports.decision_packet is not None:
            fields = {"hit": int(decided.hit), "entry": decided.entry}
            inputs["decision__valid"] = 1
            inputs["decision__payload"] = self._ports.decision_packet.pack(fields)
            self._stay_awake(cycle)
        inputs["needs_release"] = int(indices.needs_release(cycle))
        inputs["made"] = int(indices.made(cycle))
        if queue.cancels and queue.preparing is not None:
            self.log.cancels.append((cycle, queue.preparing.stream))
            indices.cancel(cycle)
        if queue.requested is not None:
            inputs["request__ready"] = 1
            indices.ask(cycle, self._launches[queue.requested.entry])
        if queue.released is not None:
            indices.release(cycle, queue.released)

    def _tell_dispatcher(self, inputs: dict[str, int]) -> None:
        """Let the dispatcher hear what the queue says in this cycle."""
        cycle, queue = self.cycle, self.queue
        starting = queue.starting
        if starting is not None and inputs["start__ready"]:
            launch = self._launches[starting.entry]
            self.dispatcher.start(cycle, starting.stream, launch, starting.ticket)
            entry = starting.entry
            self.log.starts.append(Start(cycle, starting.ticket, starting.stream, entry))
        if not self.log.levels or self.log.levels[-1][1:] != queue.levels:
            self.log.levels.append((cycle, *queue.levels))
        self.dispatcher.set_levels(cycle, *queue.levels)
        end = self.dispatcher.ended
        if end is not None and queue.takes_end(inputs):
            self.dispatcher.take_end()
            if end.begun:
                first = end.first_offer + self._clock & 0xFFFF_FFFF
                self._let_later(cycle + 2, "ended_first", first)
                self._let_later(cycle + 3, "ended_cycles", end.cycles)

    def _note_pulses(self) -> None:
        """Note what is at the queue's outputs in this cycle."""
        cycle, ports, log, pulses = self.cycle, self._ports, self.log, self.queue.pulses
        if pulses.answer:
            fields = ports.answer_packet.unpack(pulses.answer)
            names = ("ticket", "code", "argument", "count")
            log.answers.append(Answer(cycle, *(fields[name] for name in names)))
        if pulses.command_answer:
            log.commands.append(
                Code(cycle, ports.code_packet.unpack(pulses.command_answer)["code"])
            )
        aborted = self.queue.aborted(cycle)
        if aborted is not None:
            log.aborts.append(Code(cycle, int(aborted)))
        if pulses.killed:
            log.killed.append(Killed(cycle, ports.stream_packet.unpack(pulses.killed)["stream"]))
        if pulses.timeline:
            fields = ports.timeline_packet.unpack(pulses.timeline)
            log.timeline.append(Step(cycle, fields["stream"], fields["count"]))
        word = self.queue.word(cycle)
        if word:
            self._note_word(ports.word.unpack(word))

    def _note_word(self, fields: dict[str, int]) -> None:
        """Note a word of a final record."""
        own = (fields[name] for name in ("last", "word", "data"))
        self.log.words.append(Word(self.cycle, *own))
        self._words[fields["word"]] = fields["data"]
        if fields["last"]:
            words = [self._words.get(k, 0) for k in range(FINAL_RECORD_WORDS)]
            self.log.records.append(
                {"cycle": self.cycle, **self._ports.record_packet.unpack(words)}
            )
            self._words.clear()
