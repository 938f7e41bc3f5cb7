"""A script for KernelQueue and its model: what happens, by cycle, and what they then show."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.queue_pulses import queue_pulses
from tb.support.record import made, record
from warploom.launch.kernel_queue import KernelQueue
from warploom_golden.launch import KernelQueue as Model
from warploom_spec import layouts, queue_packets, resident_packets
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import QueueOpcode

#: Each test of a module: of the model, and of the RTL, which lockstep holds to it by default, too.
RTL_AND_MODEL = pytest.mark.parametrize(
    "block",
    [pytest.param(KernelQueue, marks=pytest.mark.thorough), Model],
    ids=["rtl", "model"],
)
#: `tiny` with sixteen streams, so that a round of them takes longer than an event.
TINY = config_of("tiny,stream_bits=4")
#: The history entry that each decision names.
HISTORY = 1
#: Cycles from a configuration's transfer to its decision.
DECIDED = 4
PLAIN = {"priority": 0, "idempotent": 0, "mode": Mode.AUTO}
LEVELS = ("begun", "busy", "open", "yields")
FOR_EVER = 10**6
#: Inputs that are 0 where a script says nothing else.
QUIET = (
    *("sent", "checked__valid", "checked__payload", "command__valid", "command__payload"),
    *("abort__valid", "abort__payload", "clear_stream__valid", "clear_stream__payload"),
    *("launch_timeout", "no_sm", "needs_release", "decision__valid", "decision__payload", "made"),
    *("ended__valid", "ended__payload", "ended_first", "ended_cycles", "fetch", "record_taken"),
    *("soft_reset_active", "restart"),
)


class Script:
    """Inputs of KernelQueue by cycle; what no method says is 0, and each ready signal is 1.

    The clock's value is the cycle's number. A configuration is decided `DECIDED` cycles after its
    transfer, with history entry `HISTORY`. What is offered on a stream stays until it is taken.

    Parameters
    ----------
    config : Config
        The machine.
    """

    def __init__(self, config=TINY):
        self.config = config
        self._launch = resident_packets.resident_launch(config)
        self._command = resident_packets.resident_command(config)
        self._end = resident_packets.resident_end(config)
        self._given, self._levels, self._offers = {}, [], []
        self._beside = {}
        self._decisions, self._decides = set(), True
        self._decision = layouts.index_decision(config).pack({"hit": 1, "entry": HISTORY})
        self._cycle, self._inputs = 0, {}

    def at(self, cycle, **values):
        """Set inputs of one cycle."""
        self._given.setdefault(cycle, {}).update(values)
        return self

    def during(self, first, last, **values):
        """Set inputs from a first to a last cycle."""
        for cycle in range(first, last + 1):
            self.at(cycle, **values)
        return self

    def level(self, name, stream, first, last=FOR_EVER):
        """Let a stream's bit of a level be 1 from a first to a last cycle."""
        self._levels.append((name, stream, first, last))
        return self

    def undecided(self):
        """Let no configuration be decided but by `at`."""
        self._decides = False
        return self

    def launch(self, taken, stream, *waits, **fields):
        """Let a launch transfer at ``checked``; its pairs are (stream, count)."""
        values = dict.fromkeys(self._launch.offsets, 0) | PLAIN | fields | {"stream": stream}
        for k, (awaited, count) in enumerate(waits):
            values |= {f"wait{k}_valid": 1, f"wait{k}_stream": awaited, f"wait{k}_count": count}
        self.at(taken - 5, sent=1 | values["priority"] << 1)
        return self._offer(taken - 1, "checked", self._launch.pack(values))

    def resident(self, taken, stream, begun=None, ended=None, **fields):
        """Let a launch become resident in ``taken`` + 13, if nothing is in its way, and begin."""
        self.launch(taken, stream, **fields)
        last = FOR_EVER if ended is None else ended
        self.level("open", stream, taken + 13, last)
        return self if begun is None else self.level("begun", stream, begun, last)

    def end(self, cycle, stream, fate, code=0, first=0, cycles=0):
        """Offer a run's end from a cycle on; first offer and cycles come with its transfer."""
        word = self._end.pack({"stream": stream, "fate": fate, "code": code})
        self._beside[word] = first, cycles
        return self._offer(cycle, "ended", word)

    def command(self, cycle, opcode, *streams):
        """Send a command for some streams."""
        mask = sum(1 << stream for stream in streams)
        return self._offer(cycle, "command", self._command.pack({"opcode": opcode, "mask": mask}))

    def preempt(self, cycle, *streams):
        """Send PREEMPT."""
        return self.command(cycle, QueueOpcode.PREEMPT, *streams)

    def resume(self, cycle, *streams):
        """Send RESUME."""
        return self.command(cycle, QueueOpcode.RESUME, *streams)

    def abort(self, cycle, ticket):
        """Offer an ABORT from a cycle on."""
        return self._offer(cycle, "abort", ticket)

    def clear(self, cycle, stream):
        """Offer ``clear_stream`` from a cycle on."""
        return self._offer(cycle, "clear_stream", stream)

    def at_once(self, cycle):
        """Offer all that is offered up to now from one cycle on."""
        self._offers = [(cycle, name, payload) for _, name, payload in self._offers]
        return self

    def _offer(self, cycle, name, payload):
        self._offers.append((cycle, name, payload))
        self._offers.sort(key=lambda offer: offer[0])
        return self

    def decide(self, cycle):
        """Let a decision come in one cycle."""
        self._decisions.add(cycle)
        return self

    def run(self, block, cycles, **first):
        """Return what RTL or model shows; ``first`` are its first numbers."""
        return Seen(record(made(block, self.config, **first), self, cycles), self.config)

    def next(self, outputs):
        """Return the next cycle's inputs."""
        now = self._cycle
        self._cycle += 1
        if outputs is not None:
            self._see(outputs, now - 1)
        values = dict.fromkeys((*QUIET, *LEVELS), 0) | {"clock": now}
        values |= dict.fromkeys(("request__ready", "start__ready", "release__ready"), 1)
        if now in self._decisions:
            values |= {"decision__valid": 1, "decision__payload": self._decision}
        for name, stream, first, last in self._levels:
            values[name] |= (first <= now <= last) << stream
        for cycle, name, payload in reversed(self._offers):
            if cycle <= now:
                values |= {f"{name}__valid": 1, f"{name}__payload": payload}
        self._inputs = values | self._given.get(now, {})
        return self._inputs

    def _see(self, outputs, cycle):
        if self._decides and outputs.get("request__valid") and self._inputs["request__ready"]:
            self._decisions.add(cycle + DECIDED)
        for offer in list(self._offers):
            _, name, payload = offer
            taken = self._inputs[f"{name}__valid"] and outputs[f"{name}__ready"]
            if taken and self._inputs[f"{name}__payload"] == payload and offer[0] <= cycle:
                self._offers.remove(offer)
                if name == "ended":
                    first, cycles = self._beside[payload]
                    self.at(cycle + 2, ended_first=first).at(cycle + 3, ended_cycles=cycles)


class Seen:
    """What a recording of a script shows, by cycle.

    Parameters
    ----------
    recording : Recording
        The run.
    config : Config
        The machine.
    """

    def __init__(self, recording, config):
        self.recording = recording
        self._packets = {
            **queue_pulses(config),
            "start": resident_packets.resident_start(config),
            "words": layouts.launch_words(config),
        }
        self._record = queue_packets.final_record_words(config)

    def port(self, name):
        """Return a port's value in each cycle."""
        return self.recording.port(name)

    def cycles(self, name):
        """Return the cycles in which a port is not 0."""
        return self.recording.cycles(name)

    def span(self, name, stream=0):
        """Return first and last cycle of each time in which a stream's bit of a port is 1."""
        bits = [bool(value >> stream & 1) for value in self.port(name)]
        rises = [c for c, bit in enumerate(bits) if bit and not (c and bits[c - 1])]
        falls = [c for c, bit in enumerate(bits) if bit and not (c + 1 < len(bits) and bits[c + 1])]
        return list(zip(rises, falls, strict=True))

    def pulses(self, name, *fields):
        """Return the wanted fields of a pulse, by cycle; of one field its value."""
        return {
            c: self.fields(name, word, fields) for c, word in enumerate(self.port(name)) if word
        }

    def transfers(self, name, *fields):
        """Return the wanted fields of a stream's transfers, by cycle."""
        return {c: self.fields(name, word, fields) for c, word in self.recording.transfers(name)}

    def fields(self, name, word, fields):
        """Return the wanted fields of a port's word; of one field its value."""
        values = self._packets[name].unpack(word)
        wanted = tuple(values[field] for field in fields)
        return wanted[0] if len(wanted) == 1 else wanted

    def records(self, *fields):
        """Return the wanted fields of each record, by the cycle of its first word."""
        found, words, first = {}, {}, None
        for cycle, (number, data, last) in self.pulses("record", "word", "data", "last").items():
            first = cycle if first is None else first
            words[number] = data
            if last:
                values = self._record.unpack([words.get(k, 0) for k in range(8)])
                wanted = tuple(values[field] for field in fields)
                found[first] = wanted[0] if len(wanted) == 1 else wanted
                words, first = {}, None
        return found
