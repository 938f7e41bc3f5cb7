"""A doorbell and a task register for each worker."""

from typing import Any, Final

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from warploom.host._outcome import Outcome
from warploom_spec import Config, host_packets
from warploom_spec.host_commands import FLAG_SKIP_PRIMARY, Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES, SECTION_WORDS

#: Words of the task register that a command uses.
USED_WORDS: Final = 8
_OFFSET_BITS: Final = (SECTION_BYTES // 4 - 1).bit_length()
_FIRST_TASK_WORD: Final = OFFSETS["T0"] // 4


def _offsets(access: str) -> list[int]:
    """Return the word offsets with one kind of access."""
    return [word.offset // 4 for word in SECTION_WORDS if word.access == access]


class Mailbox(wiring.Component):
    """Take the commands of the sections in turn, answer them or hand them to their units.

    Parameters
    ----------
    config : Config
        ``sections``, ``units``, ``cores_per_unit``.

    Attributes
    ----------
    write : bus_write, in
        A write that commits now.
    write_refused : Out(1)
        Combinational in ``write`` and the state.
    read : bus_read, in
        A read that is sampled now.
    answer : bus_answer, out
        A cycle after ``read``, with the state in ``read``'s cycle.
    run : array of unit_run, out
        Pulses, three cycles after a doorbell's write commits, at the earliest.
    done : array of unit_done, in
        Pulses: the section's doorbell is 0 in the next cycle.
    result : array of unit_result, in
        Pulses; one in the cycle of ``done`` still counts.
    missing, unit_reset : In(units)
        A core of the unit is missing; the unit is reset.
    disconnected : Out(units)
        The unit's section runs no commands.
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

    def __init__(self, config: Config) -> None:
        self._config = config
        self._bits = max(1, (config.sections - 1).bit_length())
        units = config.units
        super().__init__(
            {
                "write": In(host_packets.bus_write(config).layout()),
                "write_refused": Out(1),
                "read": In(host_packets.bus_read(config).layout()),
                "answer": Out(host_packets.bus_answer(config).layout()),
                "run": Out(host_packets.unit_run(config).layout()).array(units),
                "done": In(host_packets.unit_done(config).layout()).array(units),
                "result": In(host_packets.unit_result(config).layout()).array(units),
                "missing": In(units),
                "unit_reset": In(units),
                "disconnected": Out(units),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        doorbell, in_service = Signal(config.sections), Signal(config.sections)
        rings, completes, chosen = (
            Signal(config.sections, name=name) for name in ("rings", "completes", "chosen")
        )
        words = self._write(m, doorbell, rings)
        number = self._take(m, doorbell & ~in_service, chosen)
        code, serving, hands_over = self._judge(m, chosen, number, words)
        finished = serving & (~hands_over).replicate(config.sections)
        for k in range(config.sections):
            ended = self.done[k].valid if k < config.units else C(0, 1)
            m.d.comb += completes[k].eq(finished[k] | ended)
        m.d.sync += [
            doorbell.eq((doorbell | rings) & ~completes),
            in_service.eq((in_service | chosen) & ~completes),
        ]
        outcomes = []
        for k in range(config.sections):
            outcome = Outcome(config, has_unit=k < config.units)
            m.submodules[f"outcome_{k}"] = outcome
            m.d.comb += [
                outcome.clear.eq(chosen[k]),
                outcome.answered.eq(finished[k]),
                outcome.code.eq(code),
                outcome.offset.eq(self.read.address[:_OFFSET_BITS]),
                outcome.doorbell.eq(doorbell[k]),
            ]
            if k < config.units:
                m.d.comb += [outcome.done.eq(self.done[k]), outcome.result.eq(self.result[k])]
            outcomes.append(outcome)
        self._read(m, outcomes)
        return m

    def _address(self, address: Value) -> tuple[Value, Value, Value]:
        """Return whether a word address is in a section, the section, and the word's offset."""
        first = SECTION_BASE // SECTION_BYTES
        upper = address[_OFFSET_BITS:]
        inside = (upper >= first) & (upper < first + self._config.sections)
        return inside, (upper - first)[: self._bits], address[:_OFFSET_BITS]

    def _write(self, m: Module, doorbell: Signal, rings: Signal) -> "list[memory.Memory]":
        """Answer and perform a write; return the memories of the task register's words."""
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
                    ~inside
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
        words = []
        for k in range(USED_WORDS):
            word: memory.Memory = memory.Memory(shape=32, depth=1 << self._bits, init=[])
            m.submodules[f"task_word_{k}"] = word
            port = word.write_port(granularity=8)
            m.d.comb += [
                port.addr.eq(section),
                port.data.eq(write.data),
                port.en.eq(Mux(performed & (offset == _FIRST_TASK_WORD + k), write.strobes, 0)),
            ]
            words.append(word)
        return words

    def _take(self, m: Module, waiting: Value, chosen: Signal) -> Signal:
        """Choose the first waiting section from the pointer on; return its number."""
        count = self._config.sections
        # The sections from the pointer on are 1 in `turn`; they come before those below it.
        turn = Signal(count, init=(1 << count) - 1)
        due = Signal(count)
        m.d.comb += [
            due.eq(Mux((waiting & turn).any(), waiting & turn, waiting)),
            chosen.eq(due & -due),
        ]
        number = Signal(self._bits)
        for k in range(count):
            with m.If(chosen[k]):
                m.d.comb += number.eq(k)
                after = (k + 1) % count
                m.d.sync += turn.eq(((1 << count) - 1) & ~((1 << after) - 1))
        return number

    def _judge(
        self, m: Module, chosen: Signal, number: Signal, words: "list[memory.Memory]"
    ) -> tuple[Signal, Signal, Signal]:
        """Judge the command taken in the cycle before; hand a task to its unit.

        Returns the code, the section that is judged (one-hot; 0: none), and whether a unit takes
        the task over.
        """
        config = self._config
        serving = Signal(config.sections)
        m.d.sync += serving.eq(chosen)
        task = []
        for word in words:
            port = word.read_port()
            m.d.comb += port.addr.eq(number)
            task.append(port.data)
        opcode, skip_primary = task[0][:8], task[0][8] & FLAG_SKIP_PRIMARY
        parts, larger, small = task[2][:8], task[2][8:16], task[3]
        used, room = Signal(8), Signal(8)
        m.d.comb += [
            used.eq(Mux(~small.any() & (larger < parts), larger, parts)),
            room.eq(config.cores_per_unit - skip_primary),
        ]
        mine = serving[: config.units]
        cut, lacks = Signal(), Signal()
        is_run = opcode == int(Opcode.RUN)
        leaves = opcode == int(Opcode.DISCONNECT)
        m.d.comb += [
            cut.eq((mine & self.disconnected).any()),
            lacks.eq((mine & self.missing).any()),
        ]
        known = is_run | leaves | (opcode == int(Opcode.NOP))
        refusals: tuple[tuple[Value, HostError], ...] = (
            (cut, HostError.DISCONNECTED),
            (~known, HostError.BAD_OPCODE),
            ((is_run | leaves) & ~mine.any(), HostError.NO_UNIT),
            (is_run & lacks, HostError.CORE_MISSING),
            (is_run & (used > room), HostError.BAD_SPLIT),
        )
        code, hands_over = Signal(host_packets.HOST_CODE_BITS), Signal()
        verdict: Value = C(0, host_packets.HOST_CODE_BITS)
        for applies, name in reversed(refusals):
            verdict = Mux(applies, int(name), verdict)
        m.d.comb += [code.eq(verdict), hands_over.eq(is_run & ~code.any() & used.any())]
        m.d.sync += self.disconnected.eq(
            (self.disconnected | (mine & (leaves & ~code.any()).replicate(config.units)))
            & ~self.unit_reset
        )
        self._hand_over(m, mine, hands_over, used, skip_primary, task)
        return code, serving, hands_over

    def _hand_over(
        self,
        m: Module,
        mine: Value,
        hands_over: Value,
        used: Value,
        skip_primary: Value,
        task: list[Value],
    ) -> None:
        for k in range(self._config.units):
            run: Any = self.run[k]
            m.d.sync += run.eq(0)
            with m.If(mine[k] & hands_over):
                m.d.sync += [
                    run.valid.eq(1),
                    run.skip_primary.eq(skip_primary),
                    run.parts.eq(used),
                    run.larger.eq(task[2][8:16]),
                    run.small.eq(task[3]),
                    run.first.eq(task[1]),
                    run.code.eq(Cat(task[4], task[5])),
                    run.arguments.eq(Cat(task[6], task[7])),
                ]

    def _read(self, m: Module, outcomes: list[Outcome]) -> None:
        """Answer a read in the next cycle."""
        inside, section, offset = self._address(self.read.address)
        named = Cat(offset == word.offset // 4 for word in SECTION_WORDS).any()
        shown = Signal(32)
        m.d.comb += shown.eq(Array(outcome.word for outcome in outcomes)[section])
        here = inside & named
        m.d.sync += [
            self.answer.refused.eq(self.read.valid & ~here),
            self.answer.data.eq(Mux(self.read.valid & here, shown, 0)),
        ]
