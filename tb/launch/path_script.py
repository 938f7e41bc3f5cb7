"""A script for LaunchPath: launches, commands, reports and pops, by cycle; and its recording."""

from collections import deque

from tb.support.dispatch_configs import config_of
from tb.support.queue_pulses import queue_pulses
from tb.support.record import made, record
from warploom_spec import BlockStatus, LaunchDescriptor, layouts, queue_packets, resident_packets
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import QueueOpcode

TINY = config_of("tiny")
#: One block of one warp: several fit on an SM of `tiny`.
LAUNCH = LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1))
#: Of a low launch that an urgent one kills.
KILLED = {"idempotent": 1, "mode": Mode.RESET}
LOW, URGENT = 0, 3


def queued_word(config, descriptor, waits=(), **fields):
    """Return a packed ``queued_launch``; its pairs are (stream, count)."""
    packet = queue_packets.queued_launch(config)
    values = dict.fromkeys(packet.offsets, 0)
    values |= layouts.launch_descriptor(config).unpack(descriptor.pack(config)) | fields
    for k in range(config.launch_waits):
        valid, (to, count) = (1, waits[k]) if k < len(waits) else (0, (0, 0))
        values |= {f"wait{k}_valid": valid, f"wait{k}_stream": to, f"wait{k}_count": count}
    return packet.pack(values)


class Script:
    """Inputs of LaunchPath by cycle; what waits on a stream is valid until it is taken.

    A launch waits for `room` and `records_left`. What no method says is 0; `enable` is all ones.

    Parameters
    ----------
    config : Config
        The machine.
    length : int or None
        Cycles from each offer to the block's report; None: only `report` reports.
    answer : int
        With ``length``: cycles from ``kill`` to the report of a block that it ends.

    Attributes
    ----------
    endless : set of int
        Streams whose blocks end only if they are killed.
    """

    def __init__(self, config=TINY, *, length=None, answer=2):
        self.config = config
        self._length, self._answer = length, answer
        self._report = layouts.block_report(config)
        self._block = resident_packets.resident_block(config)
        self._command = resident_packets.resident_command(config)
        self._given = {}
        self._sent = {name: deque() for name in ("launch", "command", "abort", "clear_stream")}
        self._sent |= {f"report__{n}": deque() for n in range(config.sms)}
        #: Of each SM: stream, slot, cycle of the report, and whether it is killed.
        self._running = [[] for _ in range(config.sms)]
        values = dict.fromkeys(("tables", "launch_timeout", "pop"), 0)
        values |= {"soft_reset_active": 0, "restart": 0, "enable": (1 << config.sms) - 1}
        if config.makes_indices:
            values |= {"data__ready": 1, "read__valid": 0, "read__payload": 0}
        if config.has_order_table:
            values |= {"order_swap__valid": 0, "order_swap__payload": 0}
        self._usual = values
        self._cycle, self._inputs = 0, {}
        self._priorities, self._room = deque(), 0
        self.endless = set()

    def at(self, cycle, **values):
        """Set inputs of one cycle."""
        self._given.setdefault(cycle, {}).update(values)
        return self

    def send(self, name, cycle, word):
        """Let a word stand at a stream from a cycle on, behind what was sent before."""
        self._sent[name].append((cycle, word))
        return self

    def launch(self, cycle, stream, *waits, descriptor=LAUNCH, **fields):
        """Send a launch; its pairs are (stream, count)."""
        word = queued_word(self.config, descriptor, waits, stream=stream, **fields)
        self._priorities.append(queue_packets.queued_launch(self.config).unpack(word)["priority"])
        return self.send("launch", cycle, word)

    def command(self, cycle, opcode, *streams):
        """Send a command for some streams."""
        mask = sum(1 << stream for stream in streams)
        return self.send("command", cycle, self._command.pack({"opcode": opcode, "mask": mask}))

    def preempt(self, cycle, *streams):
        """Send PREEMPT."""
        return self.command(cycle, QueueOpcode.PREEMPT, *streams)

    def resume(self, cycle, *streams):
        """Send RESUME."""
        return self.command(cycle, QueueOpcode.RESUME, *streams)

    def abort(self, cycle, ticket):
        """Send an ABORT."""
        return self.send("abort", cycle, ticket)

    def report(self, cycle, sm, slot=0, status=BlockStatus.OK):
        """Let an SM report a block."""
        word = self._report.pack({"slot": slot, "status": status})
        return self.send(f"report__{sm}", cycle, word)

    def killed(self, cycle, sm, slot=0):
        """Let an SM report a block that was killed."""
        return self.report(cycle, sm, slot, BlockStatus.KILLED)

    def pop(self, *cycles):
        """Let the host pop the oldest record."""
        for cycle in cycles:
            self.at(cycle, pop=1)
        return self

    def soft_reset(self, first, last):
        """Let a soft reset run from a first to a last cycle, its ``restart``."""
        for cycle in range(first, last + 1):
            self.at(cycle, soft_reset_active=1)
        return self.at(last, restart=1)

    def next(self, outputs):
        """Return the next cycle's inputs."""
        if outputs is not None:
            self._see(outputs)
        now = self._cycle
        self._cycle += 1
        for sm, running in enumerate(self._running):
            for one in [one for one in running if one[2] <= now]:
                running.remove(one)
                self.report(now, sm, one[1], one[3])
        values = dict(self._usual)
        for name, waiting in self._sent.items():
            valid = bool(waiting) and waiting[0][0] <= now
            if valid and name == "launch":
                valid = bool(self._room >> self._priorities[0] & 1)
            values[f"{name}__valid"] = int(valid)
            values[f"{name}__payload"] = waiting[0][1] if valid else 0
        self._inputs = values | self._given.get(now, {})
        return self._inputs

    def _see(self, outputs):
        """Note what was taken in the last cycle, what was offered and what is killed."""
        for name, waiting in self._sent.items():
            if self._inputs[f"{name}__valid"] and outputs[f"{name}__ready"]:
                waiting.popleft()
                if name == "launch":
                    self._priorities.popleft()
        self._room = outputs["room"] if outputs["records_left"] else 0
        if self._length is None:
            return
        last = self._cycle - 1
        if outputs["offer"]:
            block = self._block.unpack(outputs["block"])
            ends = 1 << 40 if block["stream"] in self.endless else last + self._length
            one = [block["stream"], block["slot"], ends, BlockStatus.OK]
            self._running[outputs["offer"].bit_length() - 1].append(one)
        for running in self._running:
            for one in running:
                if outputs["kill"] >> one[0] & 1 and one[2] > last + self._answer:
                    one[2:] = last + self._answer, BlockStatus.KILLED

    def run(self, kind, cycles, **options):
        """Return what the block or its model does."""
        return Seen(record(made(kind, self.config, **options), self, cycles), self.config)


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
        self._block = resident_packets.resident_block(config)
        self._words = layouts.launch_words(config)
        self._word = resident_packets.record_word(config)
        self._record = queue_packets.final_record_words(config)
        self._packets = {
            **queue_pulses(config),
            "dispatch_error": layouts.error_record(config),
        }

    def pulses(self, name, *fields):
        """Return the wanted fields of a pulse, by cycle; of one field its value."""
        found = {}
        for cycle, word in enumerate(self.recording.port(name)):
            if word:
                values = self._packets[name].unpack(word)
                wanted = tuple(values[field] for field in fields)
                found[cycle] = wanted[0] if len(wanted) == 1 else wanted
        return found

    def records(self, *fields):
        """Return the wanted fields of each final record, by the cycle of its last word."""
        found, words = {}, [0] * queue_packets.FINAL_RECORD_WORDS
        for cycle, said in enumerate(self.recording.port("record")):
            if said:
                values = self._word.unpack(said)
                words[values["word"]] = values["data"]
                if values["last"]:
                    record_fields = self._record.unpack(words)
                    wanted = tuple(record_fields[field] for field in fields)
                    found[cycle] = wanted[0] if len(wanted) == 1 else wanted
                    words = [0] * queue_packets.FINAL_RECORD_WORDS
        return found

    def first_words(self):
        """Return the cycles of the records' first words."""
        found, between = [], True
        for cycle, said in enumerate(self.recording.port("record")):
            if said:
                if between:
                    found.append(cycle)
                between = bool(self._word.unpack(said)["last"])
        return found

    def offers(self):
        """Return SM, stream and slot of each offer, by cycle."""
        found = {}
        for cycle, sms in enumerate(self.recording.port("offer")):
            if sms:
                assert sms.bit_count() == 1, "two offers in one cycle"
                block = self._block.unpack(self.recording.port("block")[cycle])
                found[cycle] = (sms.bit_length() - 1, block["stream"], block["slot"])
        return found

    def blocks(self, stream):
        """Return x and number of each block of a stream that is offered, by cycle."""
        found = {}
        for cycle, (_, whose, _) in self.offers().items():
            if whose == stream:
                block = self._block.unpack(self.recording.port("block")[cycle])
                found[cycle] = block["bx"], block["block_number"]
        return found

    def tickets(self):
        """Return the ticket in the launch words of each offer, by cycle."""
        words = self.recording.port("words")
        return {cycle: self._words.unpack(words[cycle])["ticket"] for cycle in self.offers()}

    def transfers(self, stream):
        """Return the cycles in which a stream transfers."""
        return [cycle for cycle, _ in self.recording.transfers(stream)]

    def cycles(self, name):
        """Return the cycles in which an output is not 0."""
        return self.recording.cycles(name)

    def changes(self, name):
        """Return an output's value in cycle 0, and each cycle in which it has another one."""
        values = self.recording.port(name)
        return {c: v for c, v in enumerate(values) if not c or v != values[c - 1]}
