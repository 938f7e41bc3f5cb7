"""What hosts write and read: commands and their doorbells, among accesses that are refused."""

from warploom_spec import host_packets, preset
from warploom_spec.host_commands import (
    RESERVED_FIELD,
    STREAM_COMMANDS,
    WAIT_WORDS,
    Opcode,
    launch_words,
)
from warploom_spec.host_map import OFFSETS, RESULT_WORDS, section_address
from warploom_spec.queue_packets import queued_launch

# The bus is the same in every configuration.
WRITE, READ = host_packets.bus_write(preset("tiny")), host_packets.bus_read(preset("tiny"))
ANSWER = host_packets.bus_answer(preset("tiny"))
ALL = 0b1111


def word_address(section, name):
    return section_address(section, name) // 4


def a_write(section, name, data, strobes=ALL):
    address = word_address(section, name)
    return WRITE.pack({"valid": 1, "address": address, "data": data, "strobes": strobes})


def a_read(section, name):
    return READ.pack({"valid": 1, "address": word_address(section, name)})


class Commands:
    """Words of ``bus_write`` and ``bus_read``: the next write and read of the hosts.

    Parameters
    ----------
    config : Config
        Sections, units and cores.
    rng : random.Random
        For all choices.
    """

    def __init__(self, config, rng):
        self._config, self._rng = config, rng
        self.restart()

    def restart(self):
        """Forget the command that is being written."""
        self._program = []
        self._section = 0
        self._launches_left = 0

    def _some_section(self):
        """Return a section, mostly the one of the command that is being written."""
        if self._rng.random() < 0.6:
            return self._section
        return self._rng.randrange(self._config.sections)

    def write(self):
        if self._rng.random() < 0.2:
            return self._noise()
        if not self._program:
            self._program = self._command()
        return self._program.pop(0)

    def _noise(self):
        """Return a write that is often refused, or does nothing."""
        rng = self._rng
        strobes = rng.choice((ALL, ALL, rng.getrandbits(4), 0))
        if rng.random() < 0.2:
            word = rng.randrange(0x400 - 8, 0x400 + 0x80 * (self._config.sections + 1))
            address = rng.choice((word, rng.getrandbits(14)))
            data = rng.getrandbits(32)
            fields = {"valid": 1, "address": address, "data": data, "strobes": strobes}
            return WRITE.pack(fields)
        name = rng.choice(("DOORBELL", rng.choice(list(OFFSETS)), f"T{rng.randrange(8)}"))
        data = rng.choice((0, 2, 1 << 31, rng.getrandbits(32)))
        if name == "T2":
            # Parts and larger small enough to be run, now and then.
            data &= 0xFFFF0707
        return a_write(self._some_section(), name, data, strobes)

    def _command(self):
        """Return a command's writes; the doorbell is rung last, now and then twice.

        Now and then only launches come for a while, so that every section has one.
        """
        rng = self._rng
        if rng.random() < 0.01:
            self._launches_left = 4 * self._config.sections
        if self._launches_left:
            self._launches_left -= 1
            section = self._section = rng.randrange(self._config.sections)
            return self._finished(section, self.launch())
        sections = rng.choice((self._config.units, self._config.units, self._config.sections))
        section = self._section = rng.randrange(sections)
        opcode = rng.choice(
            (*Opcode, *(Opcode.RUN,) * 13, *(Opcode.LAUNCH,) * 2, Opcode.ABORT, Opcode.DISCONNECT)
            + (3, 255)
        )
        if rng.random() < 0.25:
            return self._stream_commands()
        if self._config.has_loops and rng.random() < 0.3:
            return self._loop()
        if rng.random() < 0.1:
            # Nearly a command.
            opcode = rng.choice(list(Opcode)) ^ 1 << rng.randrange(8)
        if opcode == Opcode.LAUNCH:
            return self._finished(section, self.launch())
        most = self._config.cores_per_unit
        parts = rng.choice((0, 1, most - 1, most, most + 1, rng.randint(1, most), 255))
        larger = rng.choice((0, parts, rng.randint(0, parts), rng.getrandbits(8)))
        words = {
            "T0": opcode | rng.getrandbits(8) << 8 | rng.getrandbits(16) << 16,
            "T2": parts | larger << 8 | rng.getrandbits(16) << 16,
            "T3": rng.choice((0, 1, rng.getrandbits(32))),
        }
        for name in ("T1", "T4", "T5", "T6", "T7"):
            if rng.random() < 0.3:
                words[name] = rng.getrandbits(32)
        return self._finished(section, words)

    def _loop(self):
        """Return a LOOP, now and then of a section that cannot loop, or of no such slot."""
        rng, config = self._rng, self._config
        first = 0 if rng.random() < 0.1 else config.first_loop_section
        section = self._section = rng.randrange(first, config.sections)
        slots = [rng.randrange(config.loop_templates) for _ in range(2)]
        if rng.random() < 0.05:
            slots[rng.randrange(2)] |= config.loop_templates << rng.randrange(2)
        words = {"T0": Opcode.LOOP | rng.getrandbits(24) << 8, "T1": rng.getrandbits(32)}
        words["T2"] = slots[0] | slots[1] << 8 | rng.getrandbits(16) << 16
        return self._finished(section, words)

    def _stream_commands(self):
        """Return a command for streams; now and then two sections ring one after the other."""
        rng, section = self._rng, self._section
        writes = self._mask_command(section)
        if rng.random() < 0.3:
            other = (section + 1) % self._config.sections
            first, second = writes[:2], self._mask_command(other)[:3]
            writes = [*first, *second[:2], a_write(section, "DOORBELL", 1), second[2]]
        return writes

    def _mask_command(self, section):
        """Return a command for a mask of streams, some of which do not exist."""
        rng = self._rng
        streams = 1 << self._config.stream_bits
        mask = rng.choice((rng.getrandbits(streams), 1 << rng.randrange(32), 1 << streams, 0))
        opcode = rng.choice(STREAM_COMMANDS)
        words = {"T0": opcode | rng.getrandbits(24) << 8, "T1": mask & (1 << 32) - 1}
        return self._finished(section, words)

    def _finished(self, section, words):
        """Return the writes of a task register in any order, and of the doorbell."""
        writes = [a_write(section, name, data) for name, data in words.items()]
        self._rng.shuffle(writes)
        return writes + [a_write(section, "DOORBELL", 1)] * self._rng.choice((1, 1, 2))

    def launch(self):
        """Return the words of a launch, now and then with a value too large for its field."""
        rng, layout = self._rng, launch_words(self._config)
        fields = [f for f in queued_launch(self._config).fields if f.name in layout.by_name]
        values = {field.name: rng.getrandbits(field.bits) for field in fields}
        if RESERVED_FIELD in layout.by_name:
            values[RESERVED_FIELD] = rng.random() < 0.05
        if rng.random() < 0.3:
            narrow = [f for f in fields if f.bits < layout.by_name[f.name].bits]
            for field in rng.sample(narrow, rng.choice((1, 1, 2))):
                values[field.name] |= 1 << rng.randrange(
                    field.bits, layout.by_name[field.name].bits
                )
        for k in range(WAIT_WORDS):
            # Pairs that do not count may name anything.
            values |= {f"wait{k}_stream": rng.getrandbits(8), f"wait{k}_count": rng.getrandbits(16)}
            if rng.random() < 0.9:
                values[f"wait{k}_stream"] %= 1 << self._config.stream_bits
        flags = rng.getrandbits(self._config.launch_waits) | rng.getrandbits(4) << 4
        if rng.random() < 0.1:
            flags |= 1 << rng.randrange(WAIT_WORDS)
        words = layout.pack(values | {"opcode": Opcode.LAUNCH, "flags": flags, "parameter": 0})
        used = {0, *(piece.word for field in layout.fields for piece in field.pieces())}
        return {f"T{k}": words[k] for k in used}

    def read(self):
        rng = self._rng
        if rng.random() < 0.1:
            return READ.pack({"valid": 1, "address": rng.getrandbits(14)})
        words = ("DOORBELL", "STATUS", "ERROR", "ERROR", "RESULT0", rng.choice(list(OFFSETS)))
        words += ("RESULT2", "RESULT3") * self._config.has_loops
        results = ("RESULT1", f"RESULT{8 + rng.randrange(RESULT_WORDS)}")
        name = rng.choice((*words, *results))
        return a_read(self._some_section(), name)
