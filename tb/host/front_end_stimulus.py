"""What surrounds the core in a lockstep run: hosts on AXI4-Lite, SMs that read indices, cores."""

from collections import deque

from tb.host.axil_hosts import AxilHosts, cores_of_units
from tb.host.commands import ALL, READ, WRITE, Commands, a_read, a_write
from tb.support.dispatch_configs import config_of
from tb.support.index_cases import reads_of
from tb.support.launch_cases import legal_launch, sharp_launch, spoiled_launch
from tb.support.sm_behaviour import BehaviourSource
from tb.support.sm_cores import SmCores
from warploom_golden.oracles import AxilBus
from warploom_golden.oracles.index_reference import is_legal, warps
from warploom_spec import layouts
from warploom_spec.host_commands import (
    FIRST_RELATIVE_FLAG,
    INLINE_WORD,
    STEP_WORD,
    STREAM_COMMANDS,
    Opcode,
    launch_words,
)
from warploom_spec.host_map import (
    OFFSETS,
    SECTION_BASE,
    SECTION_BYTES,
    template_address,
    template_numbers,
)
from warploom_spec.host_registers import registers
from warploom_spec.queue_packets import FIRST_WAIT_WORD

COUNTS = 1 << 16
#: Fields of a template that a host lets change.
ARGUMENTS, INLINE = 1 << 2, 1 << 3
#: What a host writes into registers whose whole range would do nothing in a short run.
VALUES = {
    "LAUNCH_TIMEOUT": (0, 0, 0, 30, 100, 300),
    "IRQ_TIMEOUT": (0, 3, 20, 100),
    "IRQ_THRESHOLD": (0, 1, 2, 4, 30),
}
#: How often, of 100 writes of registers, one of these is written.
WRITTEN_OFTEN = {
    "RECORD_POP": 40,
    "CLEAR_STREAM": 10,
    "UNIT_RESET": 4,
    "CONTROL": 8,
    "IRQ_STATUS": 10,
    "LAUNCH_TIMEOUT": 10,
    "IRQ_TIMEOUT": 4,
    "IRQ_THRESHOLD": 4,
}
#: Words of a launch that a host writes anew for the next one.
WRITTEN_ANEW = ("T0", "T1", "T5", "T6", "T10", f"T{FIRST_WAIT_WORD}", f"T{FIRST_WAIT_WORD + 1}")
#: Registers that are read more often than others.
READ_OFTEN = ("STATE", "RECORD0", "RECORD1", "RECORD3", "ROOM", "CLOCK_LOW", "IRQ_STATUS")


class CoreHost(Commands):
    """Launches with modes and pairs, other commands, and accesses of the registers.

    Numbers of launches in their streams are heard from RESULT1, so that most pairs are of launches
    that were accepted.

    Parameters
    ----------
    config : Config
        Its map, its widths.
    rng : random.Random
        For all choices.
    streams : int
        Streams that launches name.
    """

    def __init__(self, config, rng, streams=3):
        self._bus = AxilBus(config)
        self._stream_of = [0] * config.sections
        self._accepted = [0] * (1 << config.stream_bits)
        super().__init__(config, rng)
        self._streams = streams
        self._words = {word.name: word for word in registers(config)}
        self.regions = deque(maxlen=3)
        #: The latest ticket among the launch words at the SMs' ports.
        self.ticket = 0

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

    def write(self):
        rng = self._rng
        if rng.random() < 0.25 and not self._program:
            return self._register_write()
        return super().write()

    def _register_write(self):
        """Return a write of a register, mostly whole and legal."""
        rng = self._rng
        acts = [name for name, often in WRITTEN_OFTEN.items() if rng.random() < often / 100]
        name = acts[0] if acts else rng.choice(list(self._words))
        word = self._words[name]
        fields = self._values(word)
        if name == "CLEAR_STREAM":
            fields["stream"] %= self._streams if rng.random() < 0.9 else 256
        if name.startswith("SM_ENABLE") and rng.random() < 0.7:
            fields = {field.name: -1 for field in word.fields}
        if name in ("RECORD_POP", "CONTROL"):
            fields = dict.fromkeys(fields, int(rng.random() < 0.9))
        data = rng.getrandbits(32) if rng.random() < 0.1 else 0
        for field in word.fields:
            mask = (1 << field.bits) - 1
            data = data & ~(mask << field.low) | (fields[field.name] & mask) << field.low
        strobes = ALL if rng.random() < 0.9 else rng.getrandbits(4)
        packed = {"valid": 1, "address": word.offset // 4, "data": data, "strobes": strobes}
        return WRITE.pack(packed)

    def _values(self, word):
        """Return a value for each field of a register."""
        values = {field.name: self._rng.getrandbits(field.bits) for field in word.fields}
        if word.name in VALUES and self._rng.random() < 0.95:
            values["value"] = self._rng.choice(VALUES[word.name])
        return values

    def _command(self):
        """Return a launch, a command for streams or an abort mostly; else as for units alone."""
        kind = self._rng.random()
        sections = self._config.sections
        if kind < 0.2:
            section = self._section = self._rng.randrange(sections)
            return self._mask_command(section)
        if self._config.has_loops and kind < 0.35:
            return self._loop()
        if kind < 0.75:
            section = self._section = self._rng.randrange(sections)
            return self._finished(section, self.launch())
        if kind < 0.85:
            section = self._section = self._rng.randrange(sections)
            ticket = max(0, self.ticket + self._rng.choice((-1, 0, 0, 1, 1, 2, 3)))
            return [
                a_write(section, "T0", int(Opcode.ABORT)),
                a_write(section, "T1", ticket),
                a_write(section, "DOORBELL", 1),
            ]
        return super()._command()

    def _mask_command(self, section):
        """Return a command for streams, mostly a RESUME that lets some go on."""
        rng = self._rng
        resume = Opcode.RESUME
        opcode = rng.choice((*STREAM_COMMANDS, Opcode.PREEMPT, resume, resume, resume))
        mask = rng.choice((1 << rng.randrange(self._streams), rng.getrandbits(self._streams)))
        if opcode == resume and rng.random() < 0.6:
            mask = (1 << self._streams) - 1
        if rng.random() < 0.05:
            mask = rng.getrandbits(32)
        return self._finished(section, {"T0": int(opcode), "T1": mask})

    def _loop(self):
        """Return a LOOP over one slot or two; mostly what they launch is written before."""
        rng, config = self._rng, self._config
        section = self._section = rng.randrange(config.first_loop_section, config.sections)
        first, length = rng.randrange(config.loop_templates), rng.choice((1, 1, 2))
        slots = [(first + k) % config.loop_templates for k in range(length)]
        writes = []
        for slot in slots if rng.random() < 0.7 else ():
            writes += self._template(slot)
        words = [Opcode.LOOP, rng.choice((0, 1, 2, 3, 5)), first | slots[-1] << 8]
        words[2] |= rng.choice((0, 1, 2, 200)) << 16
        self._launched.discard(section)
        writes += [a_write(section, f"T{k}", int(word)) for k, word in enumerate(words)]
        return [*writes, a_write(section, "DOORBELL", 1)]

    def _template(self, slot):
        """Return the writes of a template of which some fields change."""
        rng = self._rng
        changes = rng.choice((0, ARGUMENTS, ARGUMENTS, ARGUMENTS | INLINE))
        other = changes & rng.choice((0, 0, ARGUMENTS))
        words = self._new_launch() | {f"T{STEP_WORD}": changes | other << 16}
        numbers = template_numbers(self._config)
        halves = [(False, int(name[1:]), word) for name, word in words.items()]
        halves += [(True, k, rng.getrandbits(32)) for k in (3, 4, INLINE_WORD, INLINE_WORD + 1)]
        return [
            WRITE.pack(
                {
                    "valid": 1,
                    "address": template_address(slot, number, steps=second) // 4,
                    "data": word,
                    "strobes": ALL,
                }
            )
            for second, number, word in halves
            if number in numbers
        ]

    def launch(self):
        """Return a launch's words; mostly only some where the section had one before."""
        words = self._new_launch()
        if self._section in self._launched and self._rng.random() < 0.75:
            return {name: word for name, word in words.items() if name in WRITTEN_ANEW}
        self._launched.add(self._section)
        return words

    def _new_launch(self):
        rng, config = self._rng, self._config
        fields = legal_launch(rng, config, self._streams, False, None, None)
        kind = rng.random()
        if kind < 0.05:
            fields = spoiled_launch(rng, config, fields)
        elif kind < 0.15:
            fields = sharp_launch(rng, config, fields)
        elif kind < 0.2:
            return super().launch()
        dims = (fields["dx"], fields["dy"], fields["dz"])
        if is_legal(dims, config):
            self.regions.append((fields["index_address"], warps(dims, config.warp_size)))
        return self._words_of(fields)

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
        fields = {**fields, **waits, "mode": mode, "idempotent": idempotent}
        if self._config.has_loops:
            fields["quiet"] = rng.getrandbits(1)
            flags |= self._relative(fields)
        return self._packed(launch_words(self._config), fields, flags)

    def _relative(self, fields):
        """Let some pairs of a launch be relative; return their flags."""
        flags = 0
        for k in range(self._config.launch_waits):
            if self._rng.random() < 0.4:
                fields[f"wait{k}_count"] = self._rng.choice((0, 0, 1, 2, 0x9000))
                flags |= 1 << FIRST_RELATIVE_FLAG + k
        return flags

    def _packed(self, layout, fields, flags=0):
        """Return the words of a launch that its layout has fields in."""
        head = {"opcode": int(Opcode.LAUNCH), "flags": flags, "parameter": 0}
        given = {name: fields.get(name, 0) for name in layout.by_name if name not in head}
        words = layout.pack(head | given)
        used = {0, *(piece.word for field in layout.fields for piece in field.pieces())}
        return {f"T{k}": words[k] for k in used}

    def read(self):
        rng = self._rng
        draw = rng.random()
        if draw < 0.1:
            return a_read(self._some_section(), "RESULT1")
        if draw < 0.5:
            name = rng.choice((*READ_OFTEN, rng.choice(list(self._words))))
            return READ.pack({"valid": 1, "address": self._words[name].offset // 4})
        return super().read()


class ResettingHost(CoreHost):
    """Commands that are each followed by a soft reset at once."""

    def _command(self):
        control = self._words["CONTROL"].offset // 4
        reset = {"valid": 1, "address": control, "data": 1, "strobes": ALL}
        return [*super()._command(), WRITE.pack(reset)]


class Surroundings:
    """Hosts, SMs and cores around a core. Option: ``profile`` of the SMs' behaviour."""

    host = CoreHost

    def __init__(self, context):
        config = config_of(context.params["config"])
        self._host = self.host(config, context.case.rng("commands"))
        self._behaviours = BehaviourSource(
            context.case.rng("behaviour"), context.options.get("profile", "few_stops")
        )
        self._sms = SmCores(config, context.case.rng("sms"))
        self._cycle, self._inputs = -1, None
        self._launch_words = layouts.launch_words(config)
        self._ends = [AxilHosts(context, self._host), *cores_of_units(context, config)]
        for n in range(config.sms if config.makes_indices else 0):
            reads = reads_of(context.case.rng(f"reads{n}"), config, self._host.regions)
            self._ends.append(context.driver(f"read__{n}", reads))

    def next(self, outputs):
        """Return all inputs of the next cycle."""
        self._cycle += 1
        if outputs is not None:
            self._host.hear(self._inputs, outputs)
        if outputs is None:
            self._host.restart()
            self._host.ticket = 0
        else:
            if outputs["offer"]:
                self._host.ticket = self._launch_words.unpack(outputs["words"])["ticket"]
        self._behaviours.next()
        inputs = self._sms.next(self._cycle, outputs, self._behaviours)
        for end in self._ends:
            inputs |= end.next(outputs)
        self._inputs = inputs
        return inputs


class ResettingSurroundings(Surroundings):
    """A host that soft-resets the core after each command."""

    host = ResettingHost
