"""The outcome of one section's command: the words that its worker reads."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import before
from warploom_spec import Config, host_packets
from warploom_spec.host_map import OFFSETS, RESULT_WORDS

#: The words of a section that a choice of one bit each is made for; RESULT8 to RESULT15 are one.
_NAMES: Final = ("DOORBELL", "STATUS", "ASSIGNED", "ERROR", "RESULT1")
_FIRST_RESULT: Final = OFFSETS["RESULT8"] // 4


class WordChoice(wiring.Signature):
    """Which word of a section is read: registers in the cycle of the sampling."""

    def __init__(self) -> None:
        super().__init__(
            {
                **{name.lower(): Out(1) for name in _NAMES},
                # One of RESULT8 to RESULT15, and its number.
                "result": Out(1),
                "number": Out(host_packets.RESULT_BITS),
            }
        )


def choose_word(m: Module, offset: Value) -> Any:
    """Register which word a section's word offset names."""
    choice: Any = WordChoice().create(path=("reads",))
    m.d.sync += [
        *(getattr(choice, name.lower()).eq(offset == OFFSETS[name] // 4) for name in _NAMES),
        choice.result.eq((offset >= _FIRST_RESULT) & (offset < _FIRST_RESULT + RESULT_WORDS)),
        choice.number.eq(offset - _FIRST_RESULT),
    ]
    return choice


class Outcome(wiring.Component):
    """Keep STATUS, ASSIGNED and the RESULT words of one section, and show one word.

    A unit's ERROR changes a cycle later than the other words, and is shown a cycle later: a reader
    sees all words change at once.

    Parameters
    ----------
    config : Config
        ``cores_per_unit``.
    has_unit : bool
        Whether a unit writes here; without one the doorbell is the only word.
    """

    clear: Signal
    done: "data.View[data.StructLayout]"
    error: "data.View[data.StructLayout]"
    result: "data.View[data.StructLayout]"
    doorbell: Signal
    selected: Signal
    reads: Any
    word: Signal
    shows_error: Signal
    error_word: Signal

    def __init__(self, config: Config, *, has_unit: bool) -> None:
        self._config, self._has_unit = config, has_unit
        super().__init__(
            {
                # All words are 0 from the next cycle on; wins over `done` and `result`.
                "clear": In(1),
                # The unit's; unused without one.
                "done": In(host_packets.unit_done(config).layout()),
                "error": In(host_packets.unit_error(config).layout()),
                "result": In(host_packets.unit_result(config).layout()),
                # The section's doorbell: while it is 1 the words of `result` read 0.
                "doorbell": In(1),
                # A word of this section is read, and which one.
                "selected": In(1),
                "reads": In(WordChoice()),
                # That word in the next cycle; 0 for words that are not here. A register.
                "word": Out(32),
                # In the same cycle as `word`: ERROR is what the unit said, and is read; the word.
                "shows_error": In(1),
                "error_word": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        words: dict[str, Value] = {"doorbell": self.doorbell}
        if self._has_unit:
            words |= self._keep(m)
            words["result"] = self._keep_results(m)
        chosen = Signal(32, name="chosen_word")
        for name, value in words.items():
            whole = Signal(32, name=f"whole_{name}")
            m.d.comb += whole.eq(value)
            words[name] = whole & (getattr(self.reads, name) & self.selected).replicate(32)
        held = Signal(32, name="shown_word", reset_less=True)
        m.d.comb += [chosen.eq(_any_of(words.values())), self.word.eq(held)]
        m.d.sync += held.eq(chosen)
        if self._has_unit:
            self._explain(m)
        return m

    def _explain(self, m: Module) -> None:
        """Keep the unit's ERROR, a cycle behind the other words."""
        error = Signal.like(self.error, name="kept_error", reset_less=True)
        with m.If(before(m, "done_before", self.done.valid)):
            m.d.sync += error.eq(self.error)
        word = Cat(error.code, error.core, C(0, 8 - len(error.core)), error.argument)
        m.d.comb += self.error_word.eq(word & self.shows_error.replicate(32))

    def _keep(self, m: Module) -> dict[str, Value]:
        """Keep what the unit says at a task's end; return its words."""
        cores = self._config.cores_per_unit
        status = Signal(cores)
        assigned = Signal(cores)
        task = Signal(host_packets.TASK_NUMBER_BITS)
        with m.If(self.done.valid):
            m.d.sync += [
                status.eq(self.done.status),
                assigned.eq(self.done.assigned),
                task.eq(self.done.task),
            ]
        with m.If(self.clear):
            m.d.sync += [status.eq(0), assigned.eq(0), task.eq(0)]
        return {"status": status, "assigned": assigned, "result1": task}

    def _keep_results(self, m: Module) -> Value:
        """Keep the result words in a memory, and which were written; return the one read."""
        results: memory.Memory = memory.Memory(shape=32, depth=RESULT_WORDS, init=[])
        m.submodules.results = results
        writer = results.write_port()
        reader = results.read_port(domain="comb")
        written = Signal(RESULT_WORDS)
        result = self.result
        m.d.comb += [
            writer.addr.eq(result.word),
            writer.data.eq(result.data),
            writer.en.eq(result.valid),
            reader.addr.eq(self.reads.number),
        ]
        with m.If(result.valid):
            m.d.sync += written.bit_select(result.word, 1).eq(1)
        with m.If(self.clear):
            m.d.sync += written.eq(0)
        shows = Signal(name="shows_result")
        m.d.comb += shows.eq(written.bit_select(reader.addr, 1) & ~self.doorbell)
        result_word = Signal(32)
        m.d.comb += result_word.eq(reader.data & shows.replicate(32))
        return result_word


def _any_of(words: Any) -> Value:
    """Return the words, ORed bit by bit."""
    found: Value = C(0, 32)
    for word in words:
        found = found | word
    return found
