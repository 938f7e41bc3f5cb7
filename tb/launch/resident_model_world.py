"""What is around ResidentQueue: host, LaunchCheck, index filter and dispatcher, at random."""

from collections import deque
from dataclasses import dataclass

from warploom_spec import layouts, resident_packets
from warploom_spec.errors import ErrorCode, Fate
from warploom_spec.queue_packets import WAIT_BITS, QueueOpcode

#: Cycles from ``sent`` to ``checked``, at least.
CHECKED = 5
#: Cycles from the last block's return to ``ended``.
END = 6
#: What a request may refer to, in all.
REFERENCES = 4
#: Odds of what a host does in a cycle; it stops when it winds up.
ODDS = {
    "launch": 0.15,
    "preempt": 0.004,
    "resume": 0.01,
    "streams": 0.002,
    "abort": 0.01,
    "clear": 0.02,
}


@dataclass
class Run:
    """A resident launch."""

    left: int
    out: int = 0
    begun: bool = False
    stopped: bool = False
    fault: int = 0
    over: int = 0


class Filter:
    """An index filter with few references."""

    def __init__(self, config, rng):
        self._decision = layouts.index_decision(config)
        self._rng = rng
        self.references = [0] * config.history_entries
        self._asked = self._cancelled = False

    def inputs(self):
        """Return the inputs of a cycle."""
        full = sum(self.references) >= REFERENCES
        values = {"request__ready": int(self._rng.random() < 0.7), "release__ready": 1}
        values |= {"decision__valid": 0, "decision__payload": 0, "needs_release": 0}
        values["made"] = int(self._rng.random() < 0.01)
        if self._asked and not full and self._rng.random() < 0.3:
            entry = self._rng.randrange(len(self.references))
            self.references[entry] += 1
            word = self._decision.pack({"hit": 1, "entry": entry})
            values |= {"decision__valid": 1, "decision__payload": word}
            self._asked = False
        elif self._asked and full:
            values["needs_release"] = 1
        if self._cancelled:
            self._asked = self._cancelled = False
        return values

    def see(self, inputs, outputs):
        """Note what a cycle showed."""
        if outputs["request__valid"] and inputs["request__ready"]:
            assert not self._asked, "two requests at once"
            self._asked = True
        self._cancelled = bool(outputs["cancel"]) and self._asked
        if outputs["release__valid"]:
            self.references[outputs["release__payload"]] -= 1
            assert min(self.references) >= 0, "an entry is given back twice"


class Dispatcher:
    """Places blocks of residents at random; one that is held or stopped gets none."""

    def __init__(self, config, rng):
        self._rng = rng
        self._packet = resident_packets.resident_end(config)
        self._start = resident_packets.resident_start(config)
        self.runs = {}
        self._ends, self._first, self._cycles = deque(), {}, {}
        self.sms = True

    def inputs(self, now):
        """Return the inputs of a cycle."""
        levels = dict.fromkeys(("begun", "busy", "open", "yields"), 0)
        for stream, run in self.runs.items():
            levels["begun"] |= run.begun << stream
            levels["busy"] |= (run.out > 0) << stream
            levels["open"] |= (run.left > 0 and not run.stopped) << stream
        ended = self._ends[0] if self._ends else None
        return levels | {
            "no_sm": int(not self.sms),
            "start__ready": int(self._rng.random() < 0.8),
            "ended__valid": int(ended is not None),
            "ended__payload": 0 if ended is None else ended[0],
            "ended_first": self._first.pop(now, 0),
            "ended_cycles": self._cycles.pop(now, 0),
        }

    def see(self, inputs, outputs):
        """Note what a cycle showed."""
        if inputs["ended__valid"] and outputs["ended__ready"]:
            now, (_, beside) = inputs["clock"], self._ends.popleft()
            self._first[now + 2], self._cycles[now + 3] = beside
        for stream, run in list(self.runs.items()):
            self._go_on(stream, run, outputs["hold"] >> stream & 1, outputs["stop"] >> stream & 1)
        if outputs["start__valid"] and inputs["start__ready"]:
            stream = self._start.unpack(outputs["start__payload"])["stream"]
            assert stream not in self.runs, "two residents in a stream"
            self.runs[stream] = Run(self._rng.choice((1, 2, 5, 40)))

    def _go_on(self, stream, run, held, stopped):
        run.stopped = run.stopped or bool(stopped) or bool(run.fault) or not self.sms
        if run.left and not held and not run.stopped and self._rng.random() < 0.2:
            run.left, run.out, run.begun = run.left - 1, run.out + 1, True
        elif run.out and self._rng.random() < 0.3:
            run.out -= 1
            if self._rng.random() < 0.01:
                run.fault = self._rng.choice((ErrorCode.BLOCK_FAULT, ErrorCode.SM_LOST))
        if not run.out and (run.stopped or not run.left):
            run.over += 1
        if run.over == END:
            self._end(stream, run)

    def _end(self, stream, run):
        del self.runs[stream]
        fate = Fate.FAILED if run.fault else Fate.KILLED if run.left else Fate.FINISHED
        word = self._packet.pack({"stream": stream, "fate": fate, "code": run.fault})
        self._ends.append((word, (self._rng.getrandbits(32), self._rng.getrandbits(32))))


class Host:
    """Launches, commands, aborts; LaunchCheck stands between it and the queue.

    Attributes
    ----------
    asked : deque
        Fields of the launches that were not answered yet.
    accepted : list of int
        Of each stream, and the tickets of all.
    held : int
        Streams that are held.
    winds_up : bool
        Nothing new is launched, and nothing stays held.
    """

    def __init__(self, config, rng, first_count):
        self._config, self._rng = config, rng
        self._sent = resident_packets.resident_sent(config)
        self._launch = resident_packets.resident_launch(config)
        self._command = resident_packets.resident_command(config)
        self._streams = 1 << config.stream_bits
        self._priorities = [rng.randrange(1 << config.priority_bits) for _ in range(self._streams)]
        self._checks, self._standing, self._unread = deque(), {}, 0
        self.accepted, self.tickets = [first_count] * self._streams, [1]
        self.asked = deque()
        self.held = 0
        self.winds_up = False

    def inputs(self, now, shown):
        """Return the inputs of a cycle; ``shown`` are the registers in it."""
        rng, values = self._rng, {"sent": 0, "record_taken": 0, "clock": now}
        may = shown["pace"] and shown["records_left"] and not self.winds_up
        if may and rng.random() < ODDS["launch"]:
            values["sent"] = self._send(now, shown["room"])
        if self._unread and rng.random() < 0.2:
            self._unread -= 1
            values["record_taken"] = 1
        self._choose()
        if self._checks and self._checks[0][0] <= now:
            self._standing["checked"] = self._checks[0][1]
        for name in ("checked", "command", "abort", "clear_stream"):
            values[f"{name}__valid"] = int(name in self._standing)
            values[f"{name}__payload"] = self._standing.get(name, 0)
        return values

    def _send(self, now, room):
        rng = self._rng
        stream = rng.randrange(self._streams)
        priority = (
            self._priorities[stream]
            if rng.random() < 0.98
            else rng.randrange(1 << self._config.priority_bits)
        )
        if not room >> priority & 1:
            return 0
        fields = dict.fromkeys(self._launch.offsets, 0)
        fields |= {"stream": stream, "priority": priority, "mode": rng.randrange(5)}
        fields |= {"idempotent": rng.randrange(2), "error": 9 * (rng.random() < 0.03)}
        for k in range(self._config.launch_waits):
            if rng.random() < 0.3:
                awaited = rng.randrange(self._streams)
                count = self.accepted[awaited] - rng.choice((0, 0, 0, 1, 2, 5))
                count += rng.random() < 0.02
                fields |= {f"wait{k}_valid": 1, f"wait{k}_stream": awaited}
                fields[f"wait{k}_count"] = count % (1 << WAIT_BITS)
        self._checks.append((now + CHECKED, self._launch.pack(fields)))
        self.asked.append(fields)
        return self._sent.pack({"valid": 1, "priority": priority})

    def _choose(self):
        rng, standing = self._rng, self._standing
        if "command" not in standing and (command := self._next_command()):
            opcode, mask = command
            standing["command"] = self._command.pack({"opcode": opcode, "mask": mask})
        if "abort" not in standing and rng.random() < ODDS["abort"] and not self.winds_up:
            standing["abort"] = rng.choice(self.tickets[-8:])
        if "clear_stream" not in standing and rng.random() < ODDS["clear"]:
            standing["clear_stream"] = rng.randrange(self._streams)

    def _next_command(self):
        rng = self._rng
        mask = rng.getrandbits(self._streams) & rng.getrandbits(self._streams)
        if self.winds_up:
            return (QueueOpcode.RESUME, self.held) if self.held else None
        if rng.random() < ODDS["preempt"]:
            return QueueOpcode.PREEMPT, mask
        if rng.random() < ODDS["resume"]:
            return QueueOpcode.RESUME, self.held
        return (QueueOpcode.ABORT_STREAMS, mask) if rng.random() < ODDS["streams"] else None

    def see(self, inputs, outputs):
        """Note what a cycle showed; return what transferred, by port."""
        taken = {}
        for name in list(self._standing):
            if inputs[f"{name}__valid"] and outputs[f"{name}__ready"]:
                taken[name] = self._standing.pop(name)
                if name == "checked":
                    self._checks.popleft()
        self._unread += outputs["record"] & 3 == 3
        return taken
