"""One LOOP becomes thousands of launches: a second writer in front of Mailbox."""

from typing import Any, Final

from amaranth.hdl import Cat, Module, ResetInserter, ResetSignal, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.host._loop_counts import LoopCounts
from warploom.host._loop_flags import LoopFlags
from warploom.host._loop_look import LoopLook
from warploom.host._loop_pipe import LoopPipe, template_place
from warploom.host._loop_rows import LoopRows
from warploom.host._loop_walker import LoopWalker
from warploom.host._slots_in_use import SlotsInUse
from warploom.lib.bits import before
from warploom_spec import Config, host_packets
from warploom_spec.host_commands import TASK_WORDS
from warploom_spec.host_map import (
    OFFSETS,
    SECTION_BASE,
    SECTION_BYTES,
    TEMPLATE_BASE,
    TEMPLATE_BYTES,
    template_numbers,
)
from warploom_spec.loop_packets import loop_answers, loop_begin, loop_end, loop_step

_NUMBER_BITS: Final = (TASK_WORDS - 1).bit_length()
_SECTION_BITS: Final = (SECTION_BYTES // 4 - 1).bit_length()


class LoopExpander(wiring.Component):
    """Write the launches of loops into their sections' task registers, and ring.

    Parameters
    ----------
    config : Config
        ``loop_templates``, ``loop_sections``, ``sections``, ``inline_args``, ``launch_waits``,
        ``priority_bits``.
    """

    write: "data.View[data.StructLayout]"
    write_refused: Signal
    read: "data.View[data.StructLayout]"
    answer: "data.View[data.StructLayout]"
    begin: "data.View[data.StructLayout]"
    answers: "data.View[data.StructLayout]"
    step: "data.View[data.StructLayout]"
    result: Signal
    room: Signal
    records_left: Signal
    loop_end: "data.View[data.StructLayout]"
    loop_stop: Signal
    soft_reset_active: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A write that commits in the next cycle.
                "write": In(host_packets.bus_write(config).layout()),
                # The write that commits in this cycle is refused.
                "write_refused": Out(1),
                # A read that is sampled in the next cycle.
                "read": In(host_packets.bus_read(config).layout()),
                # Two cycles after a sampling.
                "answer": Out(host_packets.bus_answer(config).layout()),
                # Mailbox's: a LOOP begins; what became of loops' launches.
                "begin": In(loop_begin(config).layout()),
                "answers": In(loop_answers(config).layout()),
                # A write into a section. It is taken in a cycle without a write of the host.
                "step": Out(loop_step(config).layout()),
                # A cycle after a sampling: RESULT2 or RESULT3 of the section. A register.
                "result": Out(32),
                # LaunchPath's: bit p: room for a launch of priority p; a record's place is free.
                "room": In(1 << config.priority_bits),
                "records_left": In(1),
                # LaunchPath's: a launch of a loop has ended.
                "loop_end": In(loop_end(config).layout()),
                # Bit s: the loop of section s is to stop.
                "loop_stop": In(config.sections),
                # A soft reset is running: all loops are forgotten.
                "soft_reset_active": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        shut, off = Signal(name="shut"), Signal(name="off")
        m.d.sync += shut.eq(self.soft_reset_active)
        m.d.comb += off.eq(self.soft_reset_active | shut)

        def part(name: str, made: Any) -> Any:
            """Add a part that a soft reset clears."""
            m.submodules[name] = ResetInserter({"sync": off})(made)
            return made

        config = self._config
        flags, rows = part("flags", LoopFlags(config)), part("rows", LoopRows(config))
        look, walker = part("look", LoopLook(config)), part("walker", LoopWalker(config))
        pipe, slots = part("pipe", LoopPipe(config)), part("slots_in_use", SlotsInUse(config))
        m.submodules.counts = counts = LoopCounts(config)
        self._write(m, shut, pipe, slots)
        self._read(m, shut, counts)
        m.d.comb += [
            *_wires(self, flags, "begin", "answers", "loop_end"),
            flags.loop_stop.eq(self.loop_stop[config.first_loop_section :]),
            *_wires(self, rows, "begin"),
            *_wires(self, counts, "loop_end"),
            *_wires(self, look, "room", "records_left"),
            walker.another_begins.eq(ports.begin.valid),
            walker.counts.eq(ports.loop_end.valid | ports.answers.accepted.any()),
            walker.host_writes.eq(ports.write.valid),
            pipe.host_writes.eq(ports.write.valid),
            *_wires(walker, flags, "loop", "runs", "rings", "ends"),
            *_wires(flags, walker, "found", "chosen", "stopped"),
            *_wires(flags, look, "begins", "stopped", "failed", "by_host", "again"),
            *_wires(walker, rows, "loop", "launches"),
            rows.at_last.eq(look.look.at_last),
            *_wires(rows, walker, "span", "position"),
            *_wires(rows, look, "span", "position"),
            *_wires(walker, look, "loop", "reads", "launches"),
            *_wires(look, walker, "look"),
            *_wires(flags, counts, "again"),
            *_wires(walker, counts, "loop", "clears", "rings"),
            *_wires(counts, look, "unended"),
            *_wires(walker, slots, "sweeps", "writes_slot", "uses_slot", "slot"),
            walker.slot_in_use.eq(slots.in_use),
            *_wires(walker, pipe, "entry", "code", "is_busy", "busy_slot", "loop"),
            *_wires(pipe, walker, "moves", "empty", "changes", "first_word", "last_word"),
            *_wires(pipe, look, "priority"),
            pipe.short.eq(look.look.short),
            *_wires(pipe, self, "step"),
            *_wires(counts, self, "result"),
        ]
        return m

    def _write(self, m: Module, shut: Signal, pipe: LoopPipe, slots: SlotsInUse) -> None:
        """Answer and perform a write. It is decoded in the cycle before it commits."""
        write: Any = self.write
        there, place = self._place(write.address)
        whole, alters = write.strobes.all(), write.strobes.any()
        m.d.comb += slots.host_slot.eq(place.slot)
        refused = before(m, "wrong", ~there | (alters & (~whole | slots.host_in_use)))
        performs = Signal(name="performs")
        m.d.sync += performs.eq(write.valid & there & whole & ~slots.host_in_use)
        m.d.comb += [
            self.write_refused.eq(shut | refused),
            # In a reset's cycle the templates keep their words.
            pipe.writes.eq(performs & ~shut & ~ResetSignal()),
            pipe.place.eq(before(m, "place", place)),
            pipe.datum.eq(before(m, "datum", write.data)),
        ]

    def _read(self, m: Module, shut: Signal, counts: LoopCounts) -> None:
        """Answer a read: all words are write-only; give Mailbox the counts of its section."""
        address, answer = self.read.address, self.answer
        outside = before(m, "reads_outside", ~self._place(address)[0])
        section = address[_SECTION_BITS:] - (
            SECTION_BASE // SECTION_BYTES + self._config.first_loop_section
        )
        finished = OFFSETS["RESULT2"] // 4
        m.d.comb += [
            answer.refused.eq(before(m, "read_refused", before(m, "refuses", outside | shut))),
            answer.data.eq(0),
            counts.read_loop.eq(before(m, "read_loop", section[: self._config.loop_bits])),
            counts.reads_finished.eq(before(m, "reads_finished", address[0] == finished & 1)),
        ]

    def _place(self, address: Value) -> tuple[Value, Any]:
        """Return whether a word address is in the map, and where it is."""
        layout = template_place(self._config)
        word, rest = address[:_NUMBER_BITS], address[_NUMBER_BITS + 1 :]
        bits = self._config.template_bits
        there = Cat(word == number for number in template_numbers(self._config)).any()
        base = rest[bits:] == TEMPLATE_BASE // TEMPLATE_BYTES >> bits
        place = Cat(word, rest[:bits], address[_NUMBER_BITS])
        return there & base, data.View(layout, place)


def _wires(giver: Any, taker: Any, *names: str) -> list[Any]:
    """Return the statements that give a part's ports to another's of the same names."""
    return [getattr(taker, name).eq(getattr(giver, name)) for name in names]
