"""The outcome of one section's command: the words that its worker reads."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, host_packets
from warploom_spec.host_errors import HostError
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
    """Keep STATUS, ASSIGNED, ERROR and the RESULT words of one section, and show one word.

    ERROR changes a cycle later than the other words, and is shown a cycle later: a reader sees all
    words change at once.

    Parameters
    ----------
    config : Config
        ``cores_per_unit``.
    has_unit : bool
        Whether a unit writes here; without one only ERROR exists.
    can_loop : bool, optional
        Whether ERROR is kept, and reads 0, while the doorbell is 1: a loop's launch may be refused
        long before the loop ends.
    """

    clear: Signal
    interrupted: Signal
    explained: Signal
    code: Signal
    argument: Signal
    done: "data.View[data.StructLayout]"
    error: "data.View[data.StructLayout]"
    result: "data.View[data.StructLayout]"
    doorbell: Signal
    selected: Signal
    reads: Any
    word: Signal
    error_word: Signal

    def __init__(self, config: Config, *, has_unit: bool, can_loop: bool = False) -> None:
        self._config, self._has_unit, self._can_loop = config, has_unit, can_loop
        super().__init__(
            {
                # All words are 0 from the next cycle on.
                "clear": In(1),
                # ERROR is `RESET` from the next cycle on, all else 0; wins over `done` and
                # `result`.
                "interrupted": In(1),
                # The command completed in the cycle before, with a code and its argument.
                "explained": In(1),
                "code": In(host_packets.HOST_CODE_BITS),
                "argument": In(host_packets.FAILURE_BITS),
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
                # In the same cycle as `word`: ERROR, if it is the word that is read.
                "error_word": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        clears = Signal()
        m.d.comb += clears.eq(self.clear | self.interrupted)
        words: dict[str, Value] = {"doorbell": self.doorbell}
        if self._has_unit:
            words |= self._keep(m, clears)
            words["result"] = self._keep_results(m, clears)
        chosen = Signal(32, name="chosen_word")
        for name, value in words.items():
            whole = Signal(32, name=f"whole_{name}")
            m.d.comb += whole.eq(value)
            words[name] = whole & (getattr(self.reads, name) & self.selected).replicate(32)
        held = Signal(32, name="shown_word", reset_less=True)
        m.d.comb += [chosen.eq(_any_of(words.values())), self.word.eq(held)]
        m.d.sync += held.eq(chosen)
        self._explain(m, clears)
        return m

    def _explain(self, m: Module, clears: Value) -> None:
        """Keep ERROR, a cycle behind the other words."""
        code = Signal(host_packets.HOST_CODE_BITS, name="error_code")
        argument = Signal(host_packets.FAILURE_BITS, name="error_argument")
        core = Signal(host_packets.CORE_BITS, name="error_core")
        cleared = Signal()
        was_interrupted = Signal()
        m.d.sync += [cleared.eq(clears), was_interrupted.eq(self.interrupted)]
        with m.If(self.explained):
            m.d.sync += [code.eq(self.code), argument.eq(self.argument)]
        if self._has_unit:
            ended = Signal(name="done_before")
            m.d.sync += ended.eq(self.done.valid)
            with m.If(ended):
                m.d.sync += [
                    code.eq(self.error.code),
                    core.eq(self.error.core),
                    argument.eq(self.error.argument),
                ]
        with m.If(cleared):
            m.d.sync += [
                code.eq(was_interrupted.replicate(len(code)) & int(HostError.RESET)),
                core.eq(0),
                argument.eq(0),
            ]
        is_read = Signal(name="error_is_read")
        shows = self.selected & self.reads.error
        m.d.sync += is_read.eq((shows & ~self.doorbell) if self._can_loop else shows)
        word = Cat(code, core, C(0, 8 - len(core)), argument)
        m.d.comb += self.error_word.eq(word & is_read.replicate(32))

    def _keep(self, m: Module, clears: Value) -> dict[str, Value]:
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
        with m.If(clears):
            m.d.sync += [status.eq(0), assigned.eq(0), task.eq(0)]
        return {"status": status, "assigned": assigned, "result1": task}

    def _keep_results(self, m: Module, clears: Value) -> Value:
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
        with m.If(clears):
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
