"""The outcome of one section's command: the words that its worker reads."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.unnamed import unnamed_write_port
from warploom_spec import Config, host_packets
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS, RESULT_WORDS

_FIRST_RESULT: Final = OFFSETS["RESULT8"] // 4


class Outcome(wiring.Component):
    """Keep STATUS, ASSIGNED, ERROR and the RESULT words of one section, and show one word.

    Parameters
    ----------
    config : Config
        ``cores_per_unit``.
    has_unit : bool
        Whether a unit writes here; without one only ERROR exists.
    """

    clear: Signal
    interrupted: Signal
    answered: Signal
    code: Signal
    argument: Signal
    done: "data.View[data.StructLayout]"
    result: "data.View[data.StructLayout]"
    doorbell: Signal
    offset: Signal
    word: Signal

    def __init__(self, config: Config, *, has_unit: bool) -> None:
        self._config, self._has_unit = config, has_unit
        super().__init__(
            {
                # All words are 0 from the next cycle on.
                "clear": In(1),
                # ERROR is `RESET` from the next cycle on, all else 0; wins over `done` and
                # `result`.
                "interrupted": In(1),
                # The command completes with a code and its argument.
                "answered": In(1),
                "code": In(host_packets.HOST_CODE_BITS),
                "argument": In(host_packets.FAILURE_BITS),
                # The unit's; unused without one.
                "done": In(host_packets.unit_done(config).layout()),
                "result": In(host_packets.unit_result(config).layout()),
                # The section's doorbell: while it is 1 the words of `result` read 0.
                "doorbell": In(1),
                # Word that is read.
                "offset": In(7),
                # That word (combinational); 0 for words that are not here.
                "word": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        code = Signal(host_packets.HOST_CODE_BITS, name="error_code")
        argument = Signal(host_packets.FAILURE_BITS, name="error_argument")
        with m.If(self.answered):
            m.d.sync += [code.eq(self.code), argument.eq(self.argument)]
        words: dict[str, Any] = {
            "DOORBELL": self.doorbell,
            "ERROR": Cat(code, C(0, 8), argument),
        }
        kept: list[Any] = [code, argument]
        result: Value = C(0, 32)
        if self._has_unit:
            kept += self._keep(m, code, argument, words)
            result = self._keep_results(m)
        with m.If(self.clear | self.interrupted):
            m.d.sync += [signal.eq(0) for signal in kept]
        with m.If(self.interrupted):
            m.d.sync += code.eq(int(HostError.RESET))
        with m.Switch(self.offset):
            for name, value in words.items():
                with m.Case(OFFSETS[name] // 4):
                    m.d.comb += self.word.eq(value)
            with m.Case(*(_FIRST_RESULT + k for k in range(RESULT_WORDS))):
                m.d.comb += self.word.eq(result)
        return m

    def _keep(
        self, m: Module, code: Signal, argument: Signal, words: dict[str, Any]
    ) -> list[Signal]:
        """Keep what the unit says at a task's end; add its words."""
        cores = self._config.cores_per_unit
        done = self.done
        status = Signal(cores, name="status")
        assigned = Signal(cores, name="assigned")
        core = Signal(host_packets.CORE_BITS, name="error_core")
        task = Signal(host_packets.TASK_NUMBER_BITS, name="task")
        with m.If(done.valid):
            m.d.sync += [
                status.eq(done.status),
                assigned.eq(done.assigned),
                code.eq(done.code),
                core.eq(done.core),
                argument.eq(done.argument),
                task.eq(done.task),
            ]
        padding = Signal(8 - host_packets.CORE_BITS)
        words |= {
            "STATUS": status,
            "ASSIGNED": assigned,
            "ERROR": Cat(code, core, padding, argument),
            "RESULT1": task,
        }
        return [status, assigned, core, task]

    def _keep_results(self, m: Module) -> Signal:
        """Keep the result words in a memory, and which were written; return the one read."""
        results: memory.Memory = memory.Memory(shape=32, depth=RESULT_WORDS, init=[])
        m.submodules.results = results
        writer = unnamed_write_port(results)
        reader = results.read_port(domain="comb")
        written = Signal(RESULT_WORDS)
        result = self.result
        shown = Signal(32, name="shown_result")
        m.d.comb += [
            writer.addr.eq(result.word),
            writer.data.eq(result.data),
            writer.en.eq(result.valid),
            reader.addr.eq((self.offset - _FIRST_RESULT)[: host_packets.RESULT_BITS]),
        ]
        with m.If(written.bit_select(reader.addr, 1) & ~self.doorbell):
            m.d.comb += shown.eq(reader.data)
        with m.If(result.valid):
            m.d.sync += written.bit_select(result.word, 1).eq(1)
        with m.If(self.clear | self.interrupted):
            m.d.sync += written.eq(0)
        return shown
