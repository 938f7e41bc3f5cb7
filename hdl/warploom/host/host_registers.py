"""Identification, control, records, errors, interrupt: the registers below the sections."""

from functools import reduce
from operator import or_
from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.unnamed import UNNAMED
from warploom_spec import STALL_CAUSES, Config, host_packets, layouts, timing
from warploom_spec.host_commands import RECORD_WORDS, record_words
from warploom_spec.host_registers import (
    IDENTITY,
    MAP_VERSION,
    ErrorBlock,
    Interrupt,
    config_crc,
    params,
    registers,
)

STRAY_BITS: Final = 16
_THRESHOLD_BITS: Final = 16
_EPOCH_BITS: Final = 16


class HostRegisters(wiring.Component):
    """Say what the core is and does, let the host control it, and run its soft reset.

    Parameters
    ----------
    config : Config
        All of it: CONFIG_CRC is made of every field.
    """

    write: "data.View[data.StructLayout]"
    write_refused: Signal
    read: "data.View[data.StructLayout]"
    answer: "data.View[data.StructLayout]"
    irq: Signal
    enable: Signal
    lost: Signal
    resetting: Signal
    restart: Signal
    idle: Signal
    unit_reset: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        self._words = registers(config)
        units, sms, counts = config.units, config.sms, timing(config).error_counter_bits
        record = layouts.error_record(config).layout()
        swap = {
            # With `config.has_order_table`: swap two SMs' turns, a cycle after the write.
            "order_swap": Out(layouts.order_swap(config).layout()),
            "order_swap_valid": Out(1),
        }
        index_errors = {"index_error": In(record), "index_error_count": In(counts)}
        super().__init__(
            {
                # A write that commits now.
                "write": In(host_packets.bus_write(config).layout()),
                # Combinational in `write` and the state.
                "write_refused": Out(1),
                # A read that is sampled now.
                "read": In(host_packets.bus_read(config).layout()),
                # A cycle after `read`, with the state and the inputs in `read`'s cycle.
                "answer": Out(host_packets.bus_answer(config).layout()),
                # A level, a cycle after IRQ_STATUS.
                "irq": Out(1),
                # The completion queue's; `pop` is combinational in `write`.
                "oldest": In(record_words(config).layout()),
                "records": In(range(config.records + 1)),
                "pop": Out(1),
                # The launch path's and the bus port's.
                "room": In(1),
                "refused": In(32),
                # Clear a broken stream: a cycle after the write.
                "clear_stream": Out(config.stream_bits),
                "clear_stream_valid": Out(1),
                **(swap if config.has_order_table else {}),
                # A cycle after the write; all ones in a soft reset's first cycle.
                "unit_reset": Out(units),
                # The units' state.
                "busy": In(units),
                "missing": In(units),
                "disconnected": In(units),
                # The units' counters.
                "strays": In(STRAY_BITS).array(units),
                # SMs that get blocks; all ones after a reset. (The stubs lack `init`.)
                # The stubs know no init.
                "enable": Out(sms, init=(1 << sms) - 1),  # type: ignore[call-arg]
                # SMs that are lost.
                "lost": In(sms),
                # The dispatcher's counters.
                **{f"stall_{cause}": In(32) for cause in STALL_CAUSES},
                # Error records and their counters.
                "dispatch_error": In(record),
                "dispatch_error_count": In(counts),
                **(index_errors if config.makes_indices else {}),
                # Nothing is left that a soft reset must wait for.
                "idle": In(1),
                # A soft reset is running; this is its last cycle.
                "resetting": Out(1),
                "restart": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        written = self._answer_writes(m)
        shown: dict[str, Value] = self._constants()
        self._soft_reset(m, written, shown)
        self._interrupt(m, written, shown)
        self._errors(m, shown)
        self._act(m, written)
        self._sms(m, written, shown)
        self._others(shown)
        self._answer_reads(m, shown)
        return m

    def _answer_writes(self, m: Module) -> dict[str, Value]:
        """Answer a write; return for each register whether it is written in this cycle."""
        write: Any = self.write
        here = {word.name: write.address == word.offset // 4 for word in self._words}
        writable = [here[word.name] for word in self._words if word.access != "ro"]
        acts = Cat(here[word.name] for word in self._words if word.acts).any()
        too_large = here["CLEAR_STREAM"] & write.data[self._config.stream_bits : 8].any()
        if self._config.has_order_table:
            sm = self._config.sm_bits
            above = write.data[sm:8].any() | write.data[8 + sm : 16].any()
            too_large = too_large | (here["ORDER_SWAP"] & above)
        performed = Signal()
        m.d.comb += [
            self.write_refused.eq(
                write.valid
                & (
                    self.resetting
                    | ~Cat(writable).any()
                    | (write.strobes.any() & ((acts & ~write.strobes.all()) | too_large))
                )
            ),
            performed.eq(write.valid & ~self.write_refused & write.strobes.any()),
        ]
        return {name: performed & chosen for name, chosen in here.items()}

    def _store(self, m: Module, written: Value, register: Value, low: int = 0) -> None:
        """Let a register take the bytes of a write whose strobes are 1; ``low``: its lowest bit."""
        write: Any = self.write
        bits = write.data[low : low + len(register)]
        for byte in range(-(-len(register) // 8)):
            with m.If(written & write.strobes[byte]):
                part = slice(8 * byte, min(8 * byte + 8, len(register)))
                m.d.sync += register[part].eq(bits[part])

    def _constants(self) -> dict[str, Value]:
        config = self._config
        found = {"ID": IDENTITY, "VERSION": MAP_VERSION, "CONFIG_CRC": config_crc(config)}
        for field, value in params(config):
            name = f"PARAMS{field.word}"
            found[name] = found.get(name, 0) | value << field.low
        return {name: C(value, 32) for name, value in found.items()}

    def _soft_reset(self, m: Module, written: dict[str, Value], shown: dict[str, Value]) -> None:
        """Run the soft reset: begin, wait until nothing is left, restart."""
        epoch = Signal(_EPOCH_BITS)
        begins = Signal()
        write: Any = self.write
        m.d.comb += begins.eq(written["CONTROL"] & write.data[0])
        m.d.sync += [
            self.resetting.eq(begins | (self.resetting & ~self.restart)),
            self.restart.eq(self.resetting & self.idle & ~self.restart),
            epoch.eq(epoch + self.restart),
        ]
        # A register: behind it are the longest paths of the units.
        units = self._config.units
        m.d.sync += self.unit_reset.eq(
            Mux(written["UNIT_RESET"], write.data[:units], 0) | begins.replicate(units)
        )
        shown["STATE"] = Cat(self.resetting, C(0, 15), epoch)

    @property
    def _error_records(self) -> dict[ErrorBlock, Any]:
        found: dict[ErrorBlock, Any] = {ErrorBlock.DISPATCHER: self.dispatch_error}
        if self._config.makes_indices:
            found[ErrorBlock.INDEX] = self.index_error
        return found

    def _interrupt(self, m: Module, written: dict[str, Value], shown: dict[str, Value]) -> None:
        """Keep the interrupt's registers; an event wins over a write that clears its bit."""
        enable = Signal(len(Interrupt), name=UNNAMED)
        threshold = Signal(_THRESHOLD_BITS)
        self._store(m, written["IRQ_ENABLE"], enable)
        self._store(m, written["IRQ_THRESHOLD"], threshold)
        lost_before = Signal(self._config.sms)
        m.d.sync += lost_before.eq(self.lost)
        events = {
            Interrupt.ERROR: reduce(or_, (record.valid for record in self._error_records.values())),
            Interrupt.SM_LOST: (self.lost & ~lost_before).any(),
            Interrupt.RESET_DONE: self.restart,
        }
        held = {bit: Signal(name=f"irq_{bit.name.lower()}") for bit in events}
        write: Any = self.write
        for bit, event in events.items():
            cleared = written["IRQ_STATUS"] & write.data[int(bit)]
            m.d.sync += held[bit].eq((held[bit] & ~cleared) | event)
        level = Mux(threshold == 0, self.records != 0, self.records >= threshold)
        status = Cat(level, *(held[bit] for bit in sorted(held)))
        m.d.sync += self.irq.eq((status & enable).any())
        shown |= {"IRQ_ENABLE": enable, "IRQ_STATUS": status, "IRQ_THRESHOLD": threshold}

    def _errors(self, m: Module, shown: dict[str, Value]) -> None:
        """Keep the last error record and count them all."""
        code = Signal(8, name="last_code")
        argument = Signal(16, name="last_argument")
        block = Signal(8, name="last_block")
        count = Signal(32, name="errors")
        blocks = self._error_records
        m.d.sync += count.eq(sum((record.valid for record in blocks.values()), count))
        # The dispatcher's comes last: it wins.
        for name, record in reversed(blocks.items()):
            with m.If(record.valid):
                m.d.sync += [
                    code.eq(record.code),
                    argument.eq(record.argument),
                    block.eq(int(name)),
                ]
        with m.If(self.restart):
            m.d.sync += [code.eq(0), argument.eq(0), block.eq(0), count.eq(0)]
        shown |= {"ERROR_LAST": Cat(code, block, argument), "ERROR_COUNT": count}

    def _act(self, m: Module, written: dict[str, Value]) -> None:
        """Let the registers act that other blocks hear of.

        Registers: the longest paths of the launch path begin at a stream that is mended.
        """
        write: Any = self.write
        m.d.comb += self.pop.eq(written["RECORD_POP"] & write.data[0])
        m.d.sync += [
            self.clear_stream_valid.eq(written["CLEAR_STREAM"]),
            self.clear_stream.eq(Mux(written["CLEAR_STREAM"], write.data, 0)),
        ]
        if self._config.has_order_table:
            sm = self._config.sm_bits
            m.d.sync += [self.order_swap_valid.eq(0), self.order_swap.eq(0)]
            with m.If(written["ORDER_SWAP"]):
                m.d.sync += [
                    self.order_swap_valid.eq(1),
                    self.order_swap.first.eq(write.data[:sm]),
                    self.order_swap.second.eq(write.data[8 : 8 + sm]),
                ]

    def _sms(self, m: Module, written: dict[str, Value], shown: dict[str, Value]) -> None:
        """Keep and show the masks with a bit for each SM."""
        for k in range(-(-self._config.sms // 32)):
            here = slice(32 * k, min(32 * k + 32, self._config.sms))
            self._store(m, written[f"SM_ENABLE{k}"], self.enable[here])
            shown |= {f"SM_ENABLE{k}": self.enable[here], f"SM_LOST{k}": self.lost[here]}
        with m.If(self.restart):
            m.d.sync += self.enable.eq(self.enable.init)

    def _others(self, shown: dict[str, Value]) -> None:
        """Add what other blocks say."""
        padding = C(0, 8 - self._config.units)
        oldest = Value.cast(self.oldest)
        shown |= {
            "RECORDS": self.records,
            "ROOM": self.room,
            "REFUSED": self.refused,
            "UNIT_STATE": Cat(self.busy, padding, self.disconnected, padding, self.missing),
            "DISPATCHER_ERRORS": self.dispatch_error_count,
            **({"INDEX_ERRORS": self.index_error_count} if self._config.makes_indices else {}),
            **{f"RECORD{k}": oldest.word_select(k, 32) for k in range(RECORD_WORDS)},
            **{f"STALL_{c.upper()}": getattr(self, f"stall_{c}") for c in STALL_CAUSES},
            **{f"STRAYS{k}": self.strays[k] for k in range(self._config.units)},
        }

    def _answer_reads(self, m: Module, shown: dict[str, Value]) -> None:
        """Answer a read in the next cycle."""
        read: Any = self.read
        word = Signal(32, name=UNNAMED)
        here = Signal(name=UNNAMED)
        state = Signal()
        with m.Switch(read.address):
            for register in self._words:
                with m.Case(register.offset // 4):
                    m.d.comb += here.eq(1)
                    if register.access != "wo":
                        m.d.comb += word.eq(shown[register.name])
                    if register.name == "STATE":
                        m.d.comb += state.eq(1)
        answered = Signal()
        m.d.comb += answered.eq(here & (state | ~self.resetting))
        m.d.sync += [
            self.answer.refused.eq(read.valid & ~answered),
            self.answer.data.eq(Mux(read.valid & answered, word, 0)),
        ]
