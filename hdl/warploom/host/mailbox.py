"""A doorbell and a task register for each worker."""

from functools import reduce
from operator import or_
from typing import Any, Final, assert_never

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.host._launch_answers import LaunchAnswers
from warploom.host._outcome import Outcome
from warploom.lib.bits import number_of
from warploom.lib.unnamed import UNNAMED, unnamed_write_port
from warploom_spec import Config, host_packets, layouts
from warploom_spec.host_commands import (
    COMMANDS,
    FLAG_SKIP_PRIMARY,
    LAUNCH_COMMANDS,
    TASK_WORDS,
    UNIT_COMMANDS,
    Opcode,
    abort_words,
    launch_words,
    run_words,
)
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES, SECTION_WORDS

#: Sections that complete, with code and argument.
_Answer = tuple[Signal, Value, Value]
_OFFSET_BITS: Final = (SECTION_BYTES // 4 - 1).bit_length()
_FIRST_TASK_WORD: Final = OFFSETS["T0"] // 4


def _offsets(access: str) -> list[int]:
    """Return the word offsets with one kind of access."""
    return [word.offset // 4 for word in SECTION_WORDS if word.access == access]


class Mailbox(wiring.Component):
    """Answer the sections' commands, or hand them to their units and to the launch path.

    Parameters
    ----------
    config : Config
        ``sections``, ``units``, ``cores_per_unit``, widths of a launch.
    launches : bool, optional
        Whether there is a launch path behind it; without one the ports from ``launch`` on are
        absent.
    """

    write: "data.View[data.StructLayout]"
    write_refused: Signal
    read: "data.View[data.StructLayout]"
    answer: "data.View[data.StructLayout]"
    run: "list[data.View[data.StructLayout]]"
    done: "list[data.View[data.StructLayout]]"
    result: "list[data.View[data.StructLayout]]"
    missing: Signal
    unit_reset: Signal
    disconnected: Signal

    def __init__(self, config: Config, *, launches: bool = True) -> None:
        self._config, self._launches = config, launches
        self._bits = max(1, (config.sections - 1).bit_length())
        units = config.units
        launch_path = {
            # A launch, one cycle after its doorbell's write commits; combinational in `closed`.
            "launch": Out(layouts.launch_descriptor(config).layout()),
            "launch_valid": Out(1),
            # Pulses: the doorbell of the oldest section that waits for this answer is 0 in the next
            # cycle.
            "launch_answer": In(layouts.launch_answer(config).layout()),
            # An abort, two cycles after its doorbell's write commits, at the earliest.
            "stop": Out(stream.Signature(layouts.launch_stop(config).layout())),
            "stop_answer": In(host_packets.stop_answer(config).layout()),
            # A soft reset is running: accesses are refused, commands end with `RESET`. An answer of
            # the launch path in the same cycle wins.
            "closed": In(1),
            # Some doorbell is 1 (state).
            "waiting": Out(1),
        }
        super().__init__(
            {
                # A write that commits now.
                "write": In(host_packets.bus_write(config).layout()),
                # Combinational in `write`, `closed` and the state.
                "write_refused": Out(1),
                # A read that is sampled now.
                "read": In(host_packets.bus_read(config).layout()),
                # A cycle after `read`, with the state in `read`'s cycle.
                "answer": Out(host_packets.bus_answer(config).layout()),
                # Pulses, two cycles after a doorbell's write commits.
                "run": Out(host_packets.unit_run(config).layout()).array(units),
                # Pulses: the section's doorbell is 0 in the next cycle.
                "done": In(host_packets.unit_done(config).layout()).array(units),
                # Pulses; one in the cycle of `done` still counts. The words read 0 until the
                # doorbell is 0.
                "result": In(host_packets.unit_result(config).layout()).array(units),
                # A core of the unit is missing; the unit is reset.
                "missing": In(units),
                "unit_reset": In(units),
                # The unit's section runs no commands.
                "disconnected": Out(units),
                **(launch_path if launches else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        sections = self._config.sections
        closed: Value = self.closed if self._launches else C(0, 1)
        doorbell = Signal(sections)
        rings, completes, serving = (
            Signal(sections, name=name) for name in ("rings", "completes", "serving")
        )
        section, words = self._write(m, doorbell, rings, closed)
        # The section whose doorbell is being written: its task is read in the same cycle.
        number = Signal(self._bits)
        m.d.sync += [serving.eq(rings), number.eq(section)]
        judged = Signal(sections)
        m.d.comb += judged.eq(serving & ~closed.replicate(sections))
        task = self._task(m, section, words)
        code, argument, finishes, sendable = self._judge(m, judged, task)
        m.d.comb += completes.eq(judged & finishes.replicate(sections))
        answers: list[_Answer] = [(completes, code, argument)]
        awaits: Value = C(0, sections)
        ticket: Value = C(0, 32)
        if self._launches:
            waits = self._send(m, judged.any() & sendable, number, task)
            launched = self.launch_answer
            answers += [
                (waits.launched, launched.code, launched.argument),
                (waits.aborted, self.stop_answer.code, C(0, 1)),
            ]
            awaits = waits.awaits
            ticket = self._keep_tickets(m, rings, waits.launched)
            m.d.comb += self.waiting.eq(doorbell.any())
        interrupted = Signal(sections)
        m.d.comb += interrupted.eq(doorbell & ~awaits & closed.replicate(sections))
        ended = Cat(done.valid & ~closed for done in self.done)
        m.d.sync += doorbell.eq(
            (doorbell | rings)
            & ~(reduce(or_, [mask for mask, _, _ in answers]) | interrupted | ended)
        )
        outcomes = self._keep_outcomes(m, doorbell, rings, interrupted, closed, answers)
        self._read(m, outcomes, ticket, closed)
        return m

    def _keep_outcomes(
        self,
        m: Module,
        doorbell: Signal,
        rings: Signal,
        interrupted: Signal,
        closed: Value,
        answers: "list[_Answer]",
    ) -> list[Outcome]:
        """Add the words of all sections but their tickets."""
        config = self._config
        outcomes = []
        for k in range(config.sections):
            outcome = Outcome(config, has_unit=k < config.units)
            m.submodules[f"outcome_{k}"] = outcome
            m.d.comb += [
                outcome.clear.eq(rings[k]),
                outcome.interrupted.eq(interrupted[k]),
                outcome.offset.eq(self.read.address[:_OFFSET_BITS]),
                outcome.doorbell.eq(doorbell[k]),
            ]
            for mask, code, argument in answers:
                with m.If(mask[k]):
                    m.d.comb += [
                        outcome.answered.eq(1),
                        outcome.code.eq(code),
                        outcome.argument.eq(argument),
                    ]
            if k < config.units:
                with m.If(~closed):
                    m.d.comb += [outcome.done.eq(self.done[k]), outcome.result.eq(self.result[k])]
            outcomes.append(outcome)
        return outcomes

    def _keep_tickets(self, m: Module, rings: Signal, launched: Signal) -> Value:
        """Keep the tickets of the sections' launches; return that of the section that is read."""
        tickets: memory.Memory = memory.Memory(shape=32, depth=1 << self._bits, init=[])
        m.submodules.tickets = tickets
        writer = unnamed_write_port(tickets)
        reader = tickets.read_port(domain="comb")
        held = Signal(self._config.sections, name="ticket_held")
        m.d.comb += [
            writer.addr.eq(number_of(launched)),
            writer.data.eq(self.launch_answer.ticket),
            writer.en.eq(launched.any()),
            reader.addr.eq(self._address(self.read.address)[1]),
        ]
        m.d.sync += held.eq((held | launched) & ~rings)
        return Mux(Array(held)[reader.addr], reader.data, 0)

    def _address(self, address: Value) -> tuple[Value, Value, Value]:
        """Return whether a word address is in a section, the section, and the word's offset."""
        first = SECTION_BASE // SECTION_BYTES
        upper = address[_OFFSET_BITS:]
        inside = (upper >= first) & (upper < first + self._config.sections)
        return inside, (upper - first)[: self._bits], address[:_OFFSET_BITS]

    def _write(
        self, m: Module, doorbell: Signal, rings: Signal, closed: Value
    ) -> tuple[Value, "dict[int, memory.Memory]"]:
        """Answer and perform a write; return its section, and the memories of the task's words."""
        write = self.write
        inside, section, offset = self._address(write.address)
        rung = Signal()
        whole = write.strobes.all()
        is_doorbell = offset == OFFSETS["DOORBELL"] // 4
        writable = is_doorbell | Cat(offset == o for o in _offsets("wo")).any()
        m.d.comb += [
            rung.eq(Array(doorbell)[section]),
            self.write_refused.eq(
                write.valid
                & (
                    closed
                    | ~inside
                    | ~writable
                    | (
                        write.strobes.any()
                        & (rung | (is_doorbell & (~whole | write.data[1:].any())))
                    )
                )
            ),
        ]
        performed = Signal()
        m.d.comb += performed.eq(write.valid & ~self.write_refused)
        for k in range(self._config.sections):
            m.d.comb += rings[k].eq(
                performed & is_doorbell & (section == k) & whole & write.data[0]
            )
        words = {}
        for k in self._used_words():
            word: memory.Memory = memory.Memory(shape=32, depth=1 << self._bits, init=[])
            m.submodules[f"task_word_{k}"] = word
            port = word.write_port(granularity=8)
            m.d.comb += [
                port.addr.eq(section),
                port.data.eq(write.data),
                port.en.eq(Mux(performed & (offset == _FIRST_TASK_WORD + k), write.strobes, 0)),
            ]
            words[k] = word
        return section, words

    def _used_words(self) -> list[int]:
        """Return the words of the task register that some command here looks at."""
        layouts_here = (make for opcode, make in COMMANDS.items() if self._knows(opcode))
        fields = [field for make in layouts_here for field in make(self._config).fields]
        return sorted({piece.word for field in fields for piece in field.pieces()})

    def _knows(self, opcode: Opcode) -> bool:
        """Return whether a command is known here: without a launch path some are not."""
        return self._launches or opcode not in LAUNCH_COMMANDS

    def _task(self, m: Module, section: Value, words: "dict[int, memory.Memory]") -> Signal:
        """Return the task register of the section that was written to in the cycle before."""
        task = Signal(32 * TASK_WORDS)
        for k, word in words.items():
            port = word.read_port()
            m.d.comb += [port.addr.eq(section), task.word_select(k, 32).eq(port.data)]
        return task

    def _judge(
        self, m: Module, judged: Signal, task: Signal
    ) -> tuple[Signal, Signal, Signal, Value]:
        """Judge the command of the section in ``judged`` (one-hot); hand a task to its unit.

        Returns code and argument, whether the command completes at once, and whether a LAUNCH or an
        ABORT would be sent: only the refusals that can meet one are looked at, because LaunchPath
        counts a launch in the same cycle.
        """
        config = self._config
        run: Any = data.View(run_words(config).layout(), task)
        skip_primary = run.flags[0] & FLAG_SKIP_PRIMARY
        # The parts are min(parts, larger) if small is 0. Whether there are too many, or none, is
        # asked of both at once: no comparison waits for the minimum.
        cores = config.cores_per_unit
        only_larger = ~run.small.any()
        used = Mux(only_larger & (run.larger < run.parts), run.larger, run.parts)
        many = [Mux(skip_primary, n >= cores, n > cores) for n in (run.parts, run.larger)]
        too_many = many[0] & (~only_larger | many[1])
        any_part = run.parts.any() & (~only_larger | run.larger.any())
        mine = judged[: config.units]
        is_opcode = {opcode: run.opcode == int(opcode) for opcode in Opcode}
        is_run, leaves = is_opcode[Opcode.RUN], is_opcode[Opcode.DISCONNECT]
        elsewhere: Value = C(0, 1)
        too_large: Value = C(0, 1)
        argument = Signal(host_packets.FAILURE_BITS, name="verdict_argument")
        if self._launches:
            elsewhere = reduce(or_, (is_opcode[opcode] for opcode in LAUNCH_COMMANDS))
            too_large = is_opcode[Opcode.LAUNCH] & self._too_large(m, task, argument)
        here = (is_opcode[opcode] for opcode in Opcode if opcode not in LAUNCH_COMMANDS)
        known = reduce(or_, here) | elsewhere
        needs_unit = reduce(or_, (is_opcode[opcode] for opcode in UNIT_COMMANDS))
        disconnected = (mine & self.disconnected).any()

        def own(opcode: Opcode) -> tuple[tuple[Value, HostError], ...]:
            """Return what refuses this command beside what refuses any."""
            match opcode:
                case Opcode.NOP | Opcode.ABORT | Opcode.DISCONNECT:
                    return ()
                case Opcode.RUN:
                    return (
                        (is_run & (mine & self.missing).any(), HostError.CORE_MISSING),
                        (is_run & too_many, HostError.BAD_SPLIT),
                    )
                case Opcode.LAUNCH:
                    return ((too_large, HostError.FIELD_RANGE),)
                case _:
                    assert_never(opcode)

        refusals: tuple[tuple[Value, HostError], ...] = (
            (disconnected, HostError.DISCONNECTED),
            (~known, HostError.BAD_OPCODE),
            (needs_unit & ~mine.any(), HostError.NO_UNIT),
            *(refusal for opcode in Opcode for refusal in own(opcode)),
        )
        code = Signal(host_packets.HOST_CODE_BITS, name=UNNAMED)
        runs = Signal(name=UNNAMED)
        finishes = Signal()
        verdict: Value = C(0, host_packets.HOST_CODE_BITS)
        for applies, name in reversed(refusals):
            verdict = Mux(applies, int(name), verdict)
        m.d.comb += [
            code.eq(verdict),
            runs.eq(is_run & ~code.any() & any_part),
            finishes.eq(~runs & (code.any() | ~elsewhere)),
        ]
        m.d.sync += self.disconnected.eq(
            (self.disconnected | (mine & (leaves & ~code.any()).replicate(config.units)))
            & ~self.unit_reset
        )
        self._hand_over(m, mine, runs, used, skip_primary, run)
        shown = Signal(host_packets.FAILURE_BITS, name="shown_argument")
        m.d.comb += shown.eq(Mux(code == int(HostError.FIELD_RANGE), argument, 0))
        return code, shown, finishes, ~disconnected & ~too_large

    def _too_large(self, m: Module, task: Signal, argument: Signal) -> Value:
        """Return whether a launch's value is too large for its field; ``argument``: its word."""
        words = launch_words(self._config)
        launch: Any = data.View(words.layout(), task)
        too_large: Value = C(0, 1)
        chosen: Value = C(0, host_packets.FAILURE_BITS)
        # A field without bits holds 0 alone.
        fields = layouts.launch_descriptor(self._config).fields
        for field in sorted(fields, key=lambda f: -words.by_name[f.name].word):
            above = launch[field.name][field.bits :]
            if len(above):
                chosen = Mux(above.any(), words.by_name[field.name].word, chosen)
                too_large = too_large | above.any()
        m.d.comb += argument.eq(chosen)
        return too_large

    def _hand_over(
        self, m: Module, mine: Value, runs: Value, used: Value, skip_primary: Value, task: Any
    ) -> None:
        """Hand a task to its unit."""
        for k in range(self._config.units):
            run: Any = self.run[k]
            m.d.sync += run.eq(0)
            with m.If(mine[k] & runs):
                m.d.sync += [
                    run.valid.eq(1),
                    run.skip_primary.eq(skip_primary),
                    run.parts.eq(used),
                    *(
                        run[name].eq(task[name])
                        for name in ("larger", "small", "first", "code", "arguments")
                    ),
                ]

    def _send(self, m: Module, sends: Value, number: Signal, task: Signal) -> LaunchAnswers:
        """Send a launch or an abort to the launch path if it may be; return who awaits answers."""
        config = self._config
        m.submodules.launch_answers = waits = LaunchAnswers(config)
        launch: Any = data.View(launch_words(config).layout(), task)
        abort: Any = data.View(abort_words(config).layout(), task)
        for field in layouts.launch_descriptor(config).present:
            m.d.comb += self.launch[field.name].eq(launch[field.name])
        m.d.comb += [
            self.launch_valid.eq(sends & (launch.opcode == int(Opcode.LAUNCH))),
            waits.section.eq(number),
            waits.launches.eq(self.launch_valid),
            waits.aborts.eq(sends & (launch.opcode == int(Opcode.ABORT))),
            waits.ticket.eq(abort.ticket),
            waits.launch_answer.eq(self.launch_answer),
            waits.stop_answer.eq(self.stop_answer),
        ]
        wiring.connect(m, waits.stop, wiring.flipped(self.stop))
        return waits

    def _read(self, m: Module, outcomes: list[Outcome], ticket: Value, closed: Value) -> None:
        """Answer a read in the next cycle."""
        inside, section, offset = self._address(self.read.address)
        named = Cat(offset == word.offset // 4 for word in SECTION_WORDS).any()
        shown = Signal(32)
        m.d.comb += shown.eq(Array(outcome.word for outcome in outcomes)[section])
        with m.If(offset == OFFSETS["RESULT0"] // 4):
            m.d.comb += shown.eq(ticket)
        here = inside & named & ~closed
        m.d.sync += [
            self.answer.refused.eq(self.read.valid & ~here),
            self.answer.data.eq(Mux(self.read.valid & here, shown, 0)),
        ]
