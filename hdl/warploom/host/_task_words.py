"""The task registers of all sections, a memory for each word."""

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import style
from warploom_spec import Config
from warploom_spec.host_commands import COMMANDS, LAUNCH_COMMANDS, TASK_WORDS


def used_words(config: Config, *, launches: bool) -> list[int]:
    """Return the words of the task register that some command looks at that is known here."""
    known = [make for o, make in COMMANDS.items() if launches or o not in LAUNCH_COMMANDS]
    fields = [field for make in known for field in make(config).fields]
    return sorted({piece.word for field in fields for piece in field.pieces()})


class TaskWords(wiring.Component):
    """Keep the words that some command looks at; the task register of one section is read.

    Parameters
    ----------
    section_bits : int
        Bits of a section's number.
    words : iterable of int
        The words that are kept; the others read 0.
    """

    chosen: Signal
    strobes: Signal
    performs: Signal
    section: Signal
    datum: Signal
    read_section: Signal
    task: Signal

    def __init__(self, section_bits: int, words: Iterable[int]) -> None:
        self._depth, self._words = 1 << section_bits, sorted(words)
        super().__init__(
            {
                # A cycle before a write commits: a bit for each word, and the bytes to write.
                "chosen": In(TASK_WORDS),
                "strobes": In(4),
                # In the cycle of the commit: whether it is performed, in which section, with what.
                "performs": In(1),
                "section": In(section_bits),
                "datum": In(32),
                # The section whose words are read, and its words in the same cycle.
                "read_section": In(section_bits),
                "task": Out(32 * TASK_WORDS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        chosen = Signal.like(self.chosen, name="chosen_before")
        strobes = Signal.like(self.strobes, name="strobes_before")
        performed = Signal(4)
        m.d.sync += [chosen.eq(self.chosen), strobes.eq(self.strobes)]
        m.d.comb += performed.eq(strobes & self.performs.replicate(4))
        for k in self._words:
            word: memory.Memory = memory.Memory(
                shape=32, depth=self._depth, init=[], attrs=style(self._depth)
            )
            m.submodules[f"task_word_{k}"] = word
            writer: Any = word.write_port(granularity=8)
            reader: Any = word.read_port(domain="comb")
            m.d.comb += [
                writer.addr.eq(self.section),
                writer.data.eq(self.datum),
                writer.en.eq(performed & chosen[k].replicate(4)),
                reader.addr.eq(self.read_section),
                self.task.word_select(k, 32).eq(reader.data),
            ]
        return m
