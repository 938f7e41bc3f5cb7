"""What surrounds the core of version 2: hosts that preempt, resume, and let launches wait."""

from tb.host.commands import READ, a_read
from tb.host.front_end_stimulus import ACTS, CoreHost, HearingSurroundings
from warploom_golden.oracles import AxilBus
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES
from warploom_spec.queue_host import QueueHostOpcode, queued_launch_words, queued_registers
from warploom_spec.queue_packets import FIRST_WAIT_WORD

COUNTS = 1 << 16
#: What a host writes into registers whose whole range would do nothing in a short run.
VALUES = {
    "LAUNCH_TIMEOUT": (0, 0, 0, 30, 100, 300),
    "IRQ_TIMEOUT": (0, 3, 20, 100),
    "IRQ_THRESHOLD": (0, 1, 2, 4, 30),
}
#: How often, of 100 writes of registers, one that acts is written.
WRITTEN_OFTEN = {**ACTS, "LAUNCH_TIMEOUT": 10, "IRQ_TIMEOUT": 4, "IRQ_THRESHOLD": 4}
#: Words of a launch that a host writes anew for the next one.
WRITTEN_ANEW = ("T0", "T1", "T5", "T6", "T10", f"T{FIRST_WAIT_WORD}", f"T{FIRST_WAIT_WORD + 1}")
#: Registers that are read more often than others.
READ_OFTEN = ("STATE", "RECORD0", "RECORD1", "RECORD3", "ROOM", "CLOCK_LOW", "IRQ_STATUS")


class QueuedCoreHost(CoreHost):
    """Launches with modes and pairs, commands for streams, and accesses of the registers.

    Numbers of launches in their streams are heard from RESULT1, so that most pairs are of launches
    that were accepted.
    """

    registers = staticmethod(queued_registers)
    acts = WRITTEN_OFTEN

    def __init__(self, config, rng):
        self._bus = AxilBus(config)
        self._stream_of = [0] * config.sections
        self._accepted = [0] * (1 << config.stream_bits)
        super().__init__(config, rng)

    def restart(self):
        """Forget what is under way."""
        super().restart()
        self._bus.reset()
        self._launched = set()
        self._accepted = [0] * len(self._accepted)

    def hear(self, inputs, outputs):
        """See the accesses that are answered in a cycle."""
        for access in self._bus.see(inputs, outputs):
            self.heard(access)

    def heard(self, access):
        """Take in the number of a launch that was accepted."""
        section, offset = divmod(access.address - SECTION_BASE, SECTION_BYTES)
        known = not access.is_write and access.okay and 0 <= section < self._config.sections
        if known and offset == OFFSETS["RESULT1"] and access.data >> 16:
            self._accepted[self._stream_of[section]] = access.data >> 16

    def _values(self, word):
        values = super()._values(word)
        if word.name in VALUES and self._rng.random() < 0.95:
            values["value"] = self._rng.choice(VALUES[word.name])
        return values

    def _command(self):
        kind = self._rng.random()
        if kind < 0.2:
            return self._mask_command()
        if kind < 0.55:
            section = self._section = self._rng.randrange(self._config.sections)
            return self._finished(section, self._launch())
        return super()._command()

    def _launch(self):
        """Return a launch's words; mostly only some where the section had one before."""
        words = super()._launch()
        if self._section in self._launched and self._rng.random() < 0.75:
            return {name: word for name, word in words.items() if name in WRITTEN_ANEW}
        self._launched.add(self._section)
        return words

    def _mask_command(self):
        rng = self._rng
        section = self._section = rng.randrange(self._config.sections)
        resume = QueueHostOpcode.RESUME
        opcode = rng.choice((*QueueHostOpcode, QueueHostOpcode.PREEMPT, resume, resume, resume))
        mask = rng.choice((1 << rng.randrange(self._streams), rng.getrandbits(self._streams)))
        if opcode == resume and rng.random() < 0.6:
            mask = (1 << self._streams) - 1
        if rng.random() < 0.05:
            mask = rng.getrandbits(32)
        return self._finished(section, {"T0": int(opcode), "T1": mask})

    def _words_of(self, fields):
        """Return the words of a launch that waits for others now and then."""
        rng = self._rng
        self._stream_of[self._section] = fields["stream"]
        flags = sum((rng.random() < 0.3) << k for k in range(self._config.launch_waits))
        waits = {}
        for k in range(self._config.launch_waits):
            stream = rng.randrange(self._streams)
            behind = rng.choice((0, 0, 1, 2)) if rng.random() < 0.95 else rng.choice((-1, 0x4000))
            waits[f"wait{k}_stream"] = stream
            waits[f"wait{k}_count"] = (self._accepted[stream] - behind) % COUNTS
        mode = rng.choice((0, 1, 1, 2, 3, 4)) if rng.random() < 0.95 else rng.randrange(8)
        idempotent = int(rng.random() < 0.8)
        layout = queued_launch_words(self._config)
        return self._packed(
            layout, {**fields, **waits, "mode": mode, "idempotent": idempotent}, flags
        )

    def read(self):
        rng = self._rng
        draw = rng.random()
        if draw < 0.2:
            return READ.pack(
                {"valid": 1, "address": self._words[rng.choice(READ_OFTEN)].offset // 4}
            )
        if draw < 0.3:
            return a_read(self._some_section(), "RESULT1")
        return super().read()


class QueuedSurroundings(HearingSurroundings):
    """Such hosts, SMs and cores around a core of version 2."""

    host = QueuedCoreHost
