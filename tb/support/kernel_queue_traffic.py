"""What is around KernelQueue: host, LaunchCheck, index filter and dispatcher, at random."""

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import Config, layouts, queue_packets, resident_packets
from warploom_spec.errors import ErrorCode, Fate
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import WAIT_BITS, QueueOpcode

Values = Mapping[str, int]
#: Cycles from ``sent`` to ``checked``, at least.
CHECKED = 5
#: Cycles from the last block's return to ``ended``.
END = 6
#: Those that are killed come more often.
_MODES = (*Mode, Mode.AUTO, Mode.RESET)
#: How far behind its stream's newest launch one is that is waited for.
_BACK = (0, 0, 0, 1, 2, 5, 30_000)
#: Cycles without anything new after which `idle` says that there is nothing.
_SHOWN = 4
_STREAMS = "checked", "command", "abort", "clear_stream"


@dataclass(frozen=True)
class Mood:
    """How often things happen, each the chance in a cycle or of a launch.

    Attributes
    ----------
    launch, preempt, resume, abort_streams, abort, clear : float
        Of the host, in a cycle.
    take : float
        That the host pops a record, in a cycle.
    wait : float
        Of each pair of a launch.
    same_priority : float
        That a launch has its stream's priority.
    references : int
        What heads may refer to in all before the filter needs a release.
    filter_ready, start_ready, place : float
        Of the index filter and the dispatcher, in a cycle.
    lengths : tuple of int
        Blocks of a run.
    fault : float
        Of a block.
    reset, lose : float
        That a soft reset begins, and that all SMs are lost for a while, in a cycle.
    limits : tuple of int
        What ``launch_timeout`` may be.
    wild : float
        That a level is what nobody expects, in a cycle: then a ledger has nothing to hold to.
    """

    launch: float = 0.15
    preempt: float = 0.01
    resume: float = 0.01
    abort_streams: float = 0.002
    abort: float = 0.01
    clear: float = 0.02
    take: float = 0.2
    wait: float = 0.3
    same_priority: float = 0.98
    references: int = 4
    filter_ready: float = 0.7
    start_ready: float = 0.8
    place: float = 0.2
    lengths: tuple[int, ...] = (1, 2, 5, 40)
    fault: float = 0.03
    reset: float = 0.0
    lose: float = 0.0
    limits: tuple[int, ...] = (0, 200, 1000)
    wild: float = 0.0


class Filter:
    """An index filter with few references."""

    def __init__(self, config: Config, mood: Mood, rng: random.Random):
        self._decision = layouts.index_decision(config)
        self._rng, self._mood = rng, mood
        self.references = [0] * config.history_entries
        self._asked = self._cancelled = False

    def inputs(self) -> dict[str, int]:
        """Return the inputs of a cycle."""
        rng, mood = self._rng, self._mood
        full = sum(self.references) >= mood.references
        values = {"request__ready": int(rng.random() < mood.filter_ready), "release__ready": 1}
        values |= {"decision__valid": 0, "decision__payload": 0, "needs_release": 0}
        values["made"] = int(rng.random() < 0.01)
        if self._asked and not full and rng.random() < 0.3:
            entry = rng.randrange(len(self.references))
            self.references[entry] += 1
            word = self._decision.pack({"hit": rng.randrange(2), "entry": entry})
            values |= {"decision__valid": 1, "decision__payload": word}
            self._asked = False
        elif (self._asked and full) or rng.random() < mood.wild:
            values["needs_release"] = 1
        if self._cancelled:
            self._asked = self._cancelled = False
        return values

    def see(self, inputs: Values, outputs: Values) -> None:
        """Note what a cycle showed."""
        if outputs["request__valid"] and inputs["request__ready"]:
            assert not self._asked, "two requests at once"
            self._asked = True
        self._cancelled = bool(outputs["cancel"]) and self._asked
        if outputs["release__valid"]:
            self.references[outputs["release__payload"]] -= 1
            assert min(self.references) >= 0, "an entry is given back twice"


@dataclass
class Run:
    """A resident launch; `over` counts cycles since its last block has come back."""

    left: int
    out: int = 0
    stopped: bool = False
    fault: int = 0
    over: int = 0


class Dispatcher:
    """Places blocks of residents at random; one that is held or stopped gets none."""

    def __init__(self, config: Config, mood: Mood, rng: random.Random):
        self._rng, self._mood = rng, mood
        self._packet = resident_packets.resident_end(config)
        self._start = resident_packets.resident_start(config)
        self._streams = 1 << config.stream_bits
        self._cycle = 0
        #: A stream's bit stays to its next start.
        self._begun = 0
        self.runs: dict[int, Run] = {}
        self._ends: deque[tuple[int, int]] = deque()
        self._first: dict[int, int] = {}
        self._cycles: dict[int, int] = {}
        self.sms = True

    def inputs(self) -> dict[str, int]:
        """Return the inputs of a cycle."""
        rng, mood = self._rng, self._mood
        levels = dict.fromkeys(("busy", "open", "yields"), 0)
        for stream, run in self.runs.items():
            levels["busy"] |= (run.out > 0) << stream
            levels["open"] |= (run.left > 0 and not run.stopped) << stream
            levels["yields"] |= (rng.random() < 0.1) << stream
        if mood.wild:
            for name in levels:
                if rng.random() < mood.wild:
                    levels[name] ^= 1 << rng.randrange(self._streams)
        ended = self._ends[0][1] if self._ends else None
        return levels | {
            "begun": self._begun,
            "no_sm": int(not self.sms),
            "start__ready": int(rng.random() < mood.start_ready),
            "ended__valid": int(ended is not None),
            "ended__payload": ended or 0,
            "ended_first": self._first.pop(self._cycle, rng.getrandbits(32)),
            "ended_cycles": self._cycles.pop(self._cycle, rng.getrandbits(32)),
        }

    def see(self, inputs: Values, outputs: Values) -> None:
        """Note what a cycle showed."""
        if inputs["ended__valid"] and outputs["ended__ready"]:
            del self.runs[self._ends.popleft()[0]]
        for stream, run in self.runs.items():
            self._go_on(stream, run, outputs["hold"] >> stream & 1, outputs["stop"] >> stream & 1)
        if outputs["start__valid"] and inputs["start__ready"]:
            stream = self._start.unpack(outputs["start__payload"])["stream"]
            assert stream not in self.runs, "two residents in a stream"
            self.runs[stream] = Run(self._rng.choice(self._mood.lengths))
            self._begun &= ~(1 << stream)
        self._cycle += 1

    def _go_on(self, stream: int, run: Run, held: int, stopped: int) -> None:
        rng = self._rng
        run.stopped = run.stopped or bool(stopped) or bool(run.fault) or not self.sms
        if run.left and not held and not run.stopped and rng.random() < self._mood.place:
            run.left, run.out = run.left - 1, run.out + 1
            self._begun |= 1 << stream
        elif run.out and rng.random() < 0.3:
            run.out -= 1
            if rng.random() < self._mood.fault:
                run.fault = rng.choice((ErrorCode.BLOCK_FAULT, ErrorCode.SM_LOST))
        if not run.out and (run.stopped or not run.left):
            run.over += 1
        if run.over == END:
            self._end(stream, run)

    def _end(self, stream: int, run: Run) -> None:
        fate = Fate.FAILED if run.fault else Fate.KILLED if run.left else Fate.FINISHED
        word = self._packet.pack({"stream": stream, "fate": fate, "code": run.fault})
        self._ends.append((stream, word))


class Host:
    """Launches, commands, aborts; LaunchCheck stands between it and the queue.

    Attributes
    ----------
    winds_up : bool
        Nothing new is launched, and nothing stays held.
    """

    def __init__(self, config: Config, mood: Mood, rng: random.Random, first_count: int):
        self._config, self._mood, self._rng = config, mood, rng
        self._sent = resident_packets.resident_sent(config)
        self._launch = resident_packets.resident_launch(config)
        self._command = resident_packets.resident_command(config)
        self._answer = queue_packets.queue_answer(config)
        # What an SM has sets how much a block takes.
        most = {field.name: field.bits for field in resident_packets.resident_start(config).present}
        self._bits = {
            field.name: min(field.bits, most.get(field.name, field.bits))
            for field in self._launch.present
        }
        self._streams = 1 << config.stream_bits
        self._first_count = first_count
        self._unread, self._tickets = 0, [1]
        self.winds_up = False
        self.restart()

    def restart(self) -> None:
        """Begin anew; records are still there."""
        self._priorities = [
            self._rng.randrange(1 << self._config.priority_bits) for _ in range(self._streams)
        ]
        self._checks: deque[tuple[int, int]] = deque()
        self._asked: deque[int] = deque()
        self._standing: dict[str, int] = {}
        self._accepted = [self._first_count] * self._streams
        #: Cycles since the last command.
        self._since = 2
        self._held = 0

    @property
    def quiet(self) -> bool:
        """Whether it offers nothing, and nothing is on its way."""
        return not self._standing and not self._checks and not self._asked

    def inputs(self, now: int, shown: Values, before: Values) -> dict[str, int]:
        """Return the inputs of a cycle; ``shown`` are the last one's outputs, ``before`` inputs."""
        rng, mood, values = self._rng, self._mood, {"sent": 0, "record_taken": 0}
        may = shown["pace"] and shown["records_left"] and not before["sent"] and self._since != 2
        if may and not self.winds_up and rng.random() < mood.launch:
            values["sent"] = self._send(now, shown["room"])
        if self._unread and rng.random() < mood.take:
            self._unread -= 1
            values["record_taken"] = 1
        self._choose()
        if self._checks and self._checks[0][0] <= now:
            self._standing["checked"] = self._checks[0][1]
        for name in _STREAMS:
            values[f"{name}__valid"] = int(name in self._standing)
            values[f"{name}__payload"] = self._standing.get(name, 0)
        return values

    def _send(self, now: int, room: int) -> int:
        rng, config = self._rng, self._config
        stream, other = rng.randrange(self._streams), rng.randrange(1 << config.priority_bits)
        same = rng.random() < self._mood.same_priority
        priority = self._priorities[stream] if same else other
        if not room >> priority & 1:
            return 0
        fields = {name: rng.getrandbits(bits) for name, bits in self._bits.items()}
        fields |= {"stream": stream, "priority": priority, "mode": rng.choice(_MODES)}
        fields["idempotent"] = int(rng.random() < 0.7)
        fields["error"] = rng.choice((9, 17)) if rng.random() < 0.03 else 0
        for k in range(config.launch_waits):
            fields[f"wait{k}_valid"] = int(rng.random() < self._mood.wait)
            awaited = fields[f"wait{k}_stream"]
            back = rng.choice(_BACK) - (rng.random() < 0.06)
            relative = fields.get(f"wait{k}_relative", 0)
            count = back if relative else self._accepted[awaited] - back
            fields[f"wait{k}_count"] = count % (1 << WAIT_BITS)
        if config.has_loops:
            fields["loop"] = rng.randint(0, config.loop_sections)
        self._checks.append((now + CHECKED, self._launch.pack(fields)))
        self._asked.append(stream)
        return self._sent.pack({"valid": 1, "priority": priority})

    def _choose(self) -> None:
        rng, mood, standing = self._rng, self._mood, self._standing
        if "command" not in standing and (command := self._next_command()):
            opcode, mask = command
            standing["command"] = self._command.pack({"opcode": opcode, "mask": mask})
        if self.winds_up:
            return
        if "abort" not in standing and rng.random() < mood.abort:
            standing["abort"] = rng.choice(self._tickets[-8:])
        if "clear_stream" not in standing and rng.random() < mood.clear:
            standing["clear_stream"] = rng.randrange(self._streams)

    def _next_command(self) -> tuple[int, int] | None:
        rng, mood = self._rng, self._mood
        mask = rng.getrandbits(self._streams)
        if self.winds_up:
            return (QueueOpcode.RESUME, self._held) if self._held else None
        if rng.random() < mood.preempt:
            return QueueOpcode.PREEMPT, mask
        if rng.random() < mood.resume:
            return QueueOpcode.RESUME, rng.choice((self._held, mask))
        if rng.random() < mood.abort_streams:
            some = mask & rng.getrandbits(self._streams)
            return rng.choice((QueueOpcode.ABORT_STREAMS, QueueOpcode.ABORT_STREAMS + 1)), some
        return None

    def see(self, inputs: Values, outputs: Values) -> None:
        """Note what a cycle showed."""
        self._since += 1
        for name in list(self._standing):
            if inputs[f"{name}__valid"] and outputs[f"{name}__ready"]:
                payload = self._standing.pop(name)
                if name == "checked":
                    self._checks.popleft()
                elif name == "command":
                    self._see_command(payload)
        if outputs["answer"]:
            self._see_answer(self._answer.unpack(outputs["answer"]))
        self._unread += outputs["record"] & 3 == 3

    def _see_command(self, payload: int) -> None:
        """Note who may be held now."""
        self._since = 1
        command = self._command.unpack(payload)
        if command["opcode"] == QueueOpcode.PREEMPT:
            self._held |= command["mask"]
        elif command["opcode"] == QueueOpcode.RESUME:
            self._held &= ~command["mask"]

    def _see_answer(self, answer: Values) -> None:
        stream = self._asked.popleft()
        if not answer["code"]:
            self._accepted[stream] += 1
            self._tickets.append(answer["ticket"])


class QueueTraffic:
    """Inputs of each cycle, by what the last one showed.

    Parameters
    ----------
    config : Config
        The machine.
    mood : Mood
        How often things happen.
    rng : random.Random
        For everything.
    first_count : int
        The machine's first count.

    Attributes
    ----------
    winds_up : bool
        Nothing new is launched, nothing stays held, and no soft reset begins.
    """

    def __init__(self, config: Config, mood: Mood, rng: random.Random, first_count: int = 0):
        self._config, self._mood, self._rng = config, mood, rng
        self._host = Host(config, mood, rng, first_count)
        self._restarted()
        self._entries = (config.queue_depth << config.priority_bits) - 1
        self._streams = 1 << config.stream_bits
        self._now, self._clock, self._limit = -1, rng.getrandbits(32), mood.limits[0]
        self._resetting = self._lost = 0
        self._quiet = 0
        self._inputs: dict[str, int] = {}
        self.winds_up = False

    def _restarted(self) -> None:
        self._filter = Filter(self._config, self._mood, self._rng)
        self._dispatcher = Dispatcher(self._config, self._mood, self._rng)
        self._host.restart()

    @property
    def references(self) -> int:
        """What is referred to in the filter, in all."""
        return sum(self._filter.references)

    def reset_softly(self) -> None:
        """Begin a soft reset; a restart comes in an idle cycle."""
        self._resetting = 1

    def lose_all(self, cycles: int) -> None:
        """Lose all SMs for some cycles."""
        self._lost = cycles

    def next(self, outputs: Values | None) -> dict[str, int]:
        """Return the next cycle's inputs; ``outputs`` are those of the last cycle."""
        rng, shown = self._rng, dict.fromkeys(("pace", "records_left", "room", "idle"), 0)
        levels = "sent", "restart", "soft_reset_active", "no_sm"
        before = self._inputs or dict.fromkeys(levels, 0)
        if outputs is not None:
            self._see(outputs)
            shown = {name: outputs[name] for name in shown}
        if before["restart"]:
            shown = dict.fromkeys(shown, 0)
            self._restarted()
        self._now += 1
        self._begin_or_end()
        values = self._host.inputs(self._now, shown, before)
        values |= self._filter.inputs() | self._dispatcher.inputs()
        values |= {"fetch": rng.randint(0, self._entries), "launch_timeout": self._limit}
        values["clock"] = (self._clock + self._now) % (1 << 32)
        closed = bool(self._resetting or rng.random() < self._mood.wild / 50)
        # What was taken, and a level that rose, shows as not idle some cycles later.
        same = (closed, values["no_sm"]) == (before["soft_reset_active"], before["no_sm"])
        offers = values["sent"] or not self._host.quiet
        self._quiet = self._quiet + 1 if same and not offers else 0
        restart = self._resetting > 0 and shown["idle"] and self._quiet >= _SHOWN
        values |= {"soft_reset_active": int(closed), "restart": int(restart)}
        if restart:
            # The level may stay for some cycles.
            self._resetting = -rng.choice((0, 0, 1, 3, 40))
        self._inputs = values
        return values

    def _see(self, outputs: Values) -> None:
        for one in (self._filter, self._dispatcher, self._host):
            if isinstance(one, Filter) and not self._config.makes_indices:
                continue
            one.see(self._inputs, outputs)
        assert not (outputs["idle"] and self.references), "idle, and entries are referred to"

    def _begin_or_end(self) -> None:
        """Begin and end what lasts longer: soft resets, a time without SMs, limits."""
        rng, mood = self._rng, self._mood
        if self._resetting < 0:
            self._resetting += 1
        elif not self._resetting and not self.winds_up and rng.random() < mood.reset:
            self._resetting = 1
        elif 0 < self._resetting < 400:
            self._resetting += 1
        self._lost = max(0, self._lost - 1)
        if not self._lost and not self.winds_up and rng.random() < mood.lose:
            self._lost = rng.choice((1, 20, 200))
        self._dispatcher.sms = not self._lost
        # In a soft reset launches come on for a while.
        self._host.winds_up = self.winds_up or self._resetting > 100
        if rng.random() < 0.002:
            self._limit = rng.choice(mood.limits)
