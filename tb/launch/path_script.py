"""A script for LaunchPath: launches, commands, reports and pops, by cycle."""

from random import Random

from tb.launch.queue_script import CommandScript, Pulses, pairs_of
from tb.support.dispatch_configs import config_of
from tb.support.record import made, record
from tb.support.sm_behaviour import SmBehaviour
from tb.support.sm_cores import SmCores
from warploom_spec import BlockStatus, LaunchDescriptor, layouts, queue_packets
from warploom_spec.queue import Mode

TINY = config_of("tiny")
#: One block of one warp: several fit on an SM of `tiny`.
LAUNCH = LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1))
#: Of a low launch that an urgent one kills.
KILLED = {"idempotent": 1, "mode": Mode.RESET}


class Script(CommandScript):
    """Inputs of LaunchPath by cycle; each offer is taken at once.

    What no method says is 0; `enable` is all ones.

    Parameters
    ----------
    config : Config
        The machine.
    """

    def __init__(self, config=TINY):
        super().__init__(config)
        self._launch = queue_packets.queued_launch(config)
        self._clear = queue_packets.queue_stream(config)
        self._report = layouts.block_report(config)
        streams = ["launch", "abort", *(f"report__{n}" for n in range(config.sms))]
        values = {"tables": 0, "command": 0, "clear_stream": 0, "launch_timeout": 0, "pop": 0}
        values |= {"soft_reset_active": 0, "restart": 0, "enable": (1 << config.sms) - 1}
        values |= {f"offer__{n}__ready": 1 for n in range(config.sms)}
        if config.makes_indices:
            values["data__ready"] = 1
            streams.append("read")
        for stream in streams:
            values |= {f"{stream}__valid": 0, f"{stream}__payload": 0}
        self._usual = values

    def launch(self, cycle, stream, *waits, descriptor=LAUNCH, **fields):
        """Let a launch transfer at ``launch``; its pairs are (stream, count)."""
        packed = descriptor.pack(self.config)
        values = layouts.launch_descriptor(self.config).unpack(packed)
        word = self._launch.pack(
            values | {"stream": stream} | fields | pairs_of(self.config, waits)
        )
        return self.at(cycle, launch__valid=1, launch__payload=word)

    def report(self, cycle, sm, slot=0, status=BlockStatus.OK):
        """Let an SM report a block."""
        word = self._report.pack({"slot": slot, "status": status})
        return self.at(cycle, **{f"report__{sm}__valid": 1, f"report__{sm}__payload": word})

    def killed(self, cycle, sm, slot=0):
        """Let an SM report a block that was killed."""
        return self.report(cycle, sm, slot, BlockStatus.KILLED)

    def pop(self, *cycles):
        """Let the host read the oldest record."""
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
        del outputs
        cycle = self._cycle
        self._cycle += 1
        return self._usual | self._given.get(cycle, {})

    def run(self, kind, cycles, **options):
        """Return what the block or its model does."""
        return Seen(record(made(kind, self.config, **options), self, cycles), self.config)


class Seen(Pulses):
    """What a recording of a script shows, by cycle."""

    def __init__(self, recording, config):
        super().__init__(recording, config)
        self._sms = range(config.sms)
        self._offer = layouts.block_offer(config)

    def offers(self):
        """Return SM, place and slot of each offer that is taken, by cycle."""
        found = {}
        for sm in self._sms:
            for cycle, word in self.recording.transfers(f"offer__{sm}"):
                fields = self._offer.unpack(word)
                assert cycle not in found, "two offers in one cycle"
                found[cycle] = (sm, fields["place"], fields["slot"])
        return found

    def blocks(self, place=None):
        """Return block and number of each offer that is taken, by cycle; of one place or both."""
        found = {}
        for sm in self._sms:
            for cycle, word in self.recording.transfers(f"offer__{sm}"):
                fields = self._offer.unpack(word)
                if place in (None, fields["place"]):
                    names = "bx", "by", "bz", "block_number"
                    found[cycle] = tuple(fields[name] for name in names)
        return dict(sorted(found.items()))

    def cycles(self, name):
        """Return the cycles in which an output is not 0."""
        return self.recording.cycles(name)

    def changes(self, name):
        """Return an output's value in cycle 0, and each cycle in which it has another one."""
        values = self.recording.port(name)
        return {c: v for c, v in enumerate(values) if not c or v != values[c - 1]}


class LiveScript(Script):
    """A script whose SMs report each block by themselves, and that may reset softly.

    Parameters
    ----------
    length, answer : int
        Cycles of a block, and from a kill to the report of each block that it ends.
    reset_at : int or None
        First cycle of a soft reset, which ends two cycles after `idle` at the earliest.
    config : Config
        The machine.

    Attributes
    ----------
    restarted : int or None
        The first cycle after the soft reset.
    """

    def __init__(self, length=6, answer=2, reset_at=None, config=TINY):
        super().__init__(config)
        self.now = SmBehaviour(length=(length, length), answer=(answer, answer))
        self.period = 0
        self._cores = SmCores(config, Random(0))
        self._reset_at = reset_at
        self._active = self._restart = 0
        self.restarted = None

    def next(self, outputs):
        """Return the next cycle's inputs."""
        cycle = self._cycle
        values = super().next(outputs) | self._cores.next(cycle, outputs, self)
        if self._restart:
            self._active = self._restart = 0
            self.restarted = cycle
        elif self._active:
            calm = not values["launch__valid"]
            self._restart = int(bool(outputs["idle"]) and calm and cycle > self._reset_at + 7)
        elif cycle == self._reset_at:
            self._active = 1
        if self._reset_at is not None:
            values |= {"soft_reset_active": self._active, "restart": self._restart}
        return values
