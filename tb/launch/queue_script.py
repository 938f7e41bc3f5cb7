"""A script for KernelQueue: launches, commands and what the dispatcher says, by cycle."""

from tb.support.record import made, record
from warploom_spec import PRESETS, Fate, layouts, queue_packets
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import QueueOpcode

DEFAULT = PRESETS["default"]
#: Cycles from a configuration's transfer to its decision.
DECIDED = 4
#: Of a launch where a script says nothing else.
PLAIN = {"priority": 0, "after_previous": 1, "idempotent": 0, "mode": Mode.AUTO}
LOW, URGENT = 0, 3


class CommandScript:
    """Inputs by cycle of a block with KernelQueue's ports for commands."""

    def __init__(self, config):
        self.config = config
        self._command = queue_packets.queue_command(config)
        self._given = {}
        self._cycle = 0

    def at(self, cycle, **values):
        """Set inputs of one cycle."""
        self._given.setdefault(cycle, {}).update(values)
        return self

    def command(self, cycle, opcode, *streams):
        """Send a command for some streams."""
        mask = sum(1 << stream for stream in streams)
        word = self._command.pack({"valid": 1, "opcode": opcode, "mask": mask})
        return self.at(cycle, command=word)

    def preempt(self, cycle, *streams):
        """Send PREEMPT."""
        return self.command(cycle, QueueOpcode.PREEMPT, *streams)

    def resume(self, cycle, *streams):
        """Send RESUME."""
        return self.command(cycle, QueueOpcode.RESUME, *streams)

    def abort(self, cycle, ticket):
        """Offer an ABORT in one cycle."""
        return self.at(cycle, abort__valid=1, abort__payload=ticket)


def pairs_of(config, waits):
    """Return a launch's fields for its pairs (stream, count)."""
    pairs = {}
    for k in range(config.launch_waits):
        valid, (to, count) = (1, waits[k]) if k < len(waits) else (0, (0, 0))
        pairs |= {f"wait{k}_valid": valid, f"wait{k}_stream": to, f"wait{k}_count": count}
    return pairs


class Script(CommandScript):
    """Inputs of KernelQueue by cycle; what no method says is 0, and each ready signal is 1.

    The clock's value is the cycle's number. A configuration is decided `DECIDED` cycles after its
    transfer.

    Parameters
    ----------
    config : Config
        The machine.
    """

    def __init__(self, config=DEFAULT):
        super().__init__(config)
        self._packets = {
            "sent": queue_packets.queue_sent(config),
            "checked": queue_packets.queue_launch(config),
        }
        self._end = layouts.dispatch_end(config)
        self._levels = {"started": [], "yields": []}
        self._decisions = set()

    def launch(self, accepted, stream, *waits, **fields):
        """Let a launch be at ``checked``; its pairs are (stream, count)."""
        values = PLAIN | fields
        order = {
            "valid": 1,
            "stream": stream,
            "priority": values["priority"],
            **pairs_of(self.config, waits),
        }
        self.at(accepted - 5, sent=self._packets["sent"].pack(order))
        packet = self._packets["checked"]
        names = [field.name for field in packet.fields if field.bits]
        checked = dict.fromkeys(names, 0) | values | order
        return self.at(accepted, checked=packet.pack(checked))

    def level(self, name, place, first, last):
        """Let a place's bit of ``started`` or ``yields`` be 1 from a first to a last cycle."""
        self._levels[name].append((place, first, last))
        return self

    def end(self, cycle, place, ticket, fate, stream=0, number=0, **fields):
        """Let a place's record be at ``ended``, and a number beside it."""
        values = dict.fromkeys(self._end.offsets, 0)
        values |= {"place": place, "ticket": ticket, "fate": fate, "stream": stream, **fields}
        word = self._end.pack(values)
        return self.at(cycle, ended__valid=1, ended__payload=word, ended_number=number)

    def run(self, kind, cycles, **first):
        """Return a recording of the block or its model; ``first`` are its first numbers."""
        return record(made(kind, self.config, **first), self, cycles)

    def next(self, outputs):
        """Return the next cycle's inputs."""
        now = self._cycle
        self._cycle += 1
        if outputs is not None and outputs.get("request__valid"):
            self._decisions.add(now - 1 + DECIDED)
        if outputs is not None and outputs.get("cancel"):
            self._decisions.clear()
        values = dict.fromkeys(INPUTS, 0) | {"clock": now}
        values |= dict.fromkeys(("request__ready", "release__ready", "launch__ready"), 1)
        values["decision__valid"] = int(now in self._decisions)
        for name, spans in self._levels.items():
            values[name] = sum(1 << place for place, first, last in spans if first <= now <= last)
        return values | self._given.get(now, {})


INPUTS = (
    "sent",
    "checked",
    "command",
    "abort__valid",
    "abort__payload",
    "clear_stream",
    "launch_timeout",
    "no_sm",
    "decision__valid",
    "decision__payload",
    "ended__valid",
    "ended__payload",
    "ended_number",
    "record_taken",
    "soft_reset_active",
    "restart",
)


class Pulses:
    """What a recording shows of KernelQueue's pulses, by cycle.

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
            "answer": queue_packets.queue_answer(config),
            "command_answer": queue_packets.queue_code(config),
            "abort_answer": queue_packets.queue_code(config),
            "record": queue_packets.final_record(config),
            "put_back": queue_packets.put_back(config),
            "timeline": queue_packets.timeline_step(config),
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


class Seen(Pulses):
    """What a recording of a script shows, by cycle."""

    def __init__(self, recording, config=DEFAULT):
        super().__init__(recording, config)
        self._packets |= {
            "stop": layouts.dispatch_stop(config),
            "launch": layouts.dispatch_launch(config),
        }

    def stops(self):
        """Return the stops of both places, by cycle."""
        return self.pulses("stop", "place0", "place1")

    def transfers(self, stream):
        """Return the cycles in which a stream transfers."""
        return [cycle for cycle, _ in self.recording.transfers(stream)]

    def valid(self, stream):
        """Return the cycles in which a stream's ``valid`` is 1."""
        return self.recording.cycles(f"{stream}__valid")

    def numbers(self):
        """Return where each launch that transfers begins, and the number of that block."""
        packet, beside = self._packets["launch"], self.recording.port("launch_number")
        found = {}
        for cycle, word in self.recording.transfers("launch"):
            launch = packet.unpack(word)
            found[cycle] = (*(launch[f"start_{axis}"] for axis in "xyz"), beside[cycle])
        return found

    def launched(self):
        """Return the tickets that transfer at ``launch``, by cycle."""
        packet = self._packets["launch"]
        return {
            cycle: packet.unpack(word)["ticket"]
            for cycle, word in self.recording.transfers("launch")
        }


def low_in_place(mode=Mode.RESET, *, idempotent=1, ended=None, begins=36):
    """Return a script: a launch of stream 0 has place 0 from 29 on, and begins later.

    It is at ``checked`` in 20: chosen in 21, presented in 23, decided in 27, handed over in 28.
    """
    script = Script().launch(20, 0, priority=LOW, mode=mode, idempotent=idempotent)
    return script.level("started", 0, begins, 10**6 if ended is None else ended)


__all__ = [
    "DECIDED",
    "DEFAULT",
    "LOW",
    "URGENT",
    "Fate",
    "Script",
    "Seen",
    "low_in_place",
]
