"""What surrounds the core in a lockstep run: hosts on AXI4-Lite, SMs that read indices, cores."""

from collections import deque

from tb.host.axil_hosts import AxilHosts, cores_of_units
from tb.host.commands import ALL, READ, WRITE, Commands, a_write
from tb.support.dispatch_configs import config_of
from tb.support.index_cases import reads_of
from tb.support.launch_cases import legal_launch, sharp_launch, spoiled_launch
from tb.support.sm_behaviour import BehaviourSource
from tb.support.sm_cores import SmCores
from warploom_golden.oracles.index_reference import is_legal, warps
from warploom_spec import layouts
from warploom_spec.host_commands import Opcode, launch_words
from warploom_spec.host_registers import registers

#: How often a host writes a register that acts, of 100 register writes.
ACTS = {"RECORD_POP": 40, "CLEAR_STREAM": 10, "UNIT_RESET": 4, "CONTROL": 8, "IRQ_STATUS": 10}


class CoreHost(Commands):
    """Commands in the sections, and accesses of the registers.

    Parameters
    ----------
    config : Config
        Its map, its widths.
    rng : random.Random
        For all choices.
    streams : int
        Streams that launches name.
    """

    #: The map's registers, and how often one is written.
    registers = staticmethod(registers)
    acts = ACTS

    def __init__(self, config, rng, streams=3):
        super().__init__(config, rng)
        self._streams = streams
        self._words = {word.name: word for word in self.registers(config)}
        self.regions = deque(maxlen=3)
        #: The latest ticket among the launch words at the SMs' ports.
        self.ticket = 0

    def write(self):
        rng = self._rng
        if rng.random() < 0.25 and not self._program:
            return self._register_write()
        return super().write()

    def _register_write(self):
        """Return a write of a register, mostly whole and legal."""
        rng = self._rng
        acts = [name for name in self.acts if rng.random() < self.acts[name] / 100]
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
        return {field.name: self._rng.getrandbits(field.bits) for field in word.fields}

    def _command(self):
        """Return a launch or an abort mostly; else as in front of units alone."""
        kind = self._rng.random()
        sections = self._config.sections
        if kind < 0.4:
            section = self._section = self._rng.randrange(sections)
            return self._finished(section, self._launch())
        if kind < 0.6:
            section = self._section = self._rng.randrange(sections)
            ticket = max(0, self.ticket + self._rng.choice((-1, 0, 0, 1, 1, 2, 3)))
            return [
                a_write(section, "T0", int(Opcode.ABORT)),
                a_write(section, "T1", ticket),
                a_write(section, "DOORBELL", 1),
            ]
        return super()._command()

    def _launch(self):
        rng, config = self._rng, self._config
        fields = legal_launch(rng, config, self._streams, False, None, None)
        kind = rng.random()
        if kind < 0.05:
            fields = spoiled_launch(rng, config, fields)
        elif kind < 0.15:
            fields = sharp_launch(rng, config, fields)
        elif kind < 0.2:
            return super()._launch()
        dims = (fields["dx"], fields["dy"], fields["dz"])
        if is_legal(dims, config):
            self.regions.append((fields["index_address"], warps(dims, config.warp_size)))
        return self._words_of(fields)

    def _words_of(self, fields):
        """Return the words of a launch."""
        return self._packed(launch_words(self._config), fields)

    def _packed(self, layout, fields, flags=0):
        """Return the words of a launch that its layout has fields in."""
        head = {"opcode": int(Opcode.LAUNCH), "flags": flags, "parameter": 0}
        given = {name: fields.get(name, 0) for name in layout.by_name if name not in head}
        words = layout.pack(head | given)
        used = {0, *(piece.word for field in layout.fields for piece in field.pieces())}
        return {f"T{k}": words[k] for k in used}

    def read(self):
        rng = self._rng
        if rng.random() < 0.4:
            often = [self._words[name] for name in ("STATE", "RECORD0", "RECORD1")]
            word = rng.choice((*often, rng.choice(list(self._words.values()))))
            return READ.pack({"valid": 1, "address": word.offset // 4})
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
        self._cycle = -1
        self._launch_words = layouts.launch_words(config)
        self._ends = [AxilHosts(context, self._host), *cores_of_units(context, config)]
        for n in range(config.sms if config.makes_indices else 0):
            reads = reads_of(context.case.rng(f"reads{n}"), config, self._host.regions)
            self._ends.append(context.driver(f"read__{n}", reads))

    def next(self, outputs):
        """Return all inputs of the next cycle."""
        self._cycle += 1
        if outputs is None:
            self._host.restart()
            self._host.ticket = 0
        else:
            tickets = [self._launch_words.unpack(outputs[f"words__{p}"])["ticket"] for p in (0, 1)]
            self._host.ticket = max(tickets)
        self._behaviours.next()
        inputs = self._sms.next(self._cycle, outputs, self._behaviours)
        for end in self._ends:
            inputs |= end.next(outputs)
        return inputs


class ResettingSurroundings(Surroundings):
    """A host that soft-resets the core after each command."""

    host = ResettingHost


class HearingSurroundings(Surroundings):
    """The same with a host that hears the answers of its accesses."""

    def __init__(self, context):
        super().__init__(context)
        self._inputs = None

    def next(self, outputs):
        """Return all inputs of the next cycle."""
        if outputs is not None:
            self._host.hear(self._inputs, outputs)
        self._inputs = super().next(outputs)
        return self._inputs
