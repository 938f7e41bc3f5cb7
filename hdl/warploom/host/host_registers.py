"""Identification, control, records, errors, interrupt: the registers below the sections."""

from collections.abc import Iterable
from enum import IntEnum
from functools import reduce
from operator import or_
from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.host._record_wait import RecordWait
from warploom.lib.bits import before, decoded, first_of, number_of
from warploom_spec import STALL_CAUSES, Config, host_packets, layouts, timing
from warploom_spec.host_registers import (
    IDENTITY,
    ErrorBlock,
    Interrupt,
    config_crc,
    map_version,
    params,
    registers,
)
from warploom_spec.queue_packets import FINAL_RECORD_WORDS, final_record_words

#: The cause of which there is no counter: STALL_ORDER reads 0.
ORDER: Final = "order"
STRAY_BITS: Final = 16
_THRESHOLD_BITS: Final = 16
_EPOCH_BITS: Final = 16
#: Address bits within a group of registers: when one is read, the group's word is chosen first.
_GROUP_BITS: Final = 3
_GROUP: Final = 1 << _GROUP_BITS


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
    soft_reset_active: Signal
    restart: Signal
    restart_next: Signal
    forced_next: Signal
    idle: Signal
    unit_reset: Signal
    loop_stop: Signal
    launch_timeout: Signal
    completed: Signal
    clock: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        self._words = registers(config)
        units, sms, counts = config.units, config.sms, timing(config).error_counter_bits
        record = layouts.error_record(config).layout()
        swap = {
            # With `config.has_order_table`: swap two SMs' turns, from the cycle after the write on.
            "order_swap": Out(stream.Signature(layouts.order_swap(config).layout())),
        }
        index_errors = {"index_error": In(record), "index_error_count": In(counts)}
        super().__init__(
            {
                # A write that commits in the next cycle.
                "write": In(host_packets.bus_write(config).layout()),
                # The write that commits in this cycle is refused.
                "write_refused": Out(1),
                # A read that is sampled in the next cycle.
                "read": In(host_packets.bus_read(config).layout()),
                # Two cycles after a sampling, with state and inputs of the sampling's cycle.
                "answer": Out(host_packets.bus_answer(config).layout()),
                # A level, a cycle after IRQ_STATUS.
                "irq": Out(1),
                # The record queue's; `pop` is 1 in the cycle of the write's commit.
                "oldest": In(final_record_words(config).layout()),
                "records": In(range(config.records + 1)),
                "pop": Out(1),
                # The launch path's, a bit for each priority, and the bus port's.
                "room": In(1 << config.priority_bits),
                "refused": In(32),
                # Mend a broken stream: from the second cycle after the write on, one after the
                # other; whether one is still to be mended. Registers.
                "clear_stream": Out(stream.Signature(config.stream_bits)),
                "clearing": Out(1),
                **(swap if config.has_order_table else {}),
                # A cycle after the write; all ones in a soft reset's fourth cycle.
                "unit_reset": Out(units),
                # With `config.has_loops`, a cycle after the write: stop the sections' loops.
                **({"loop_stop": Out(config.sections)} if config.has_loops else {}),
                # The units' state.
                "busy": In(units),
                "missing": In(units),
                "disconnected": In(units),
                # The units' counters.
                "strays": In(STRAY_BITS).array(units),
                # SMs that get blocks; all ones after a reset. (The stubs lack `init`.)
                "enable": Out(sms, init=(1 << sms) - 1),  # type: ignore[call-arg]
                # SMs that are lost.
                "lost": In(sms),
                # The dispatcher's counters. Nothing waits for order there.
                **{f"stall_{cause}": In(32) for cause in STALL_CAUSES if cause != ORDER},
                # Error records and their counters.
                "dispatch_error": In(record),
                "dispatch_error_count": In(counts),
                **(index_errors if config.makes_indices else {}),
                # Nothing is left that a soft reset must wait for.
                "idle": In(1),
                # A soft reset is running; this is its last cycle; the next one is.
                "soft_reset_active": Out(1),
                "restart": Out(1),
                "restart_next": Out(1),
                # With `restart_next`: the soft reset waited in vain, and all else is reset too.
                "forced_next": Out(1),
                # LAUNCH_TIMEOUT: in the cycle after its write. A register.
                "launch_timeout": Out(32),
                # The launch path's.
                "clock": In(64),
                # A section of the mailbox has completed.
                "completed": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        write: Any = Signal(self.write.shape(), name="committed", reset_less=True)
        m.d.sync += write.eq(self.write)
        written = self._answer_writes(m)
        shown: dict[str, Value] = self._constants()
        self._soft_reset(m, write, written, shown)
        self._interrupt(m, write, written, shown)
        self._errors(m, shown)
        self._act(m, write, written)
        self._sms(m, write, written, shown)
        self._others(shown)
        self._store(m, write, written["LAUNCH_TIMEOUT"], self.launch_timeout)
        self._answer_reads(m, shown)
        return m

    def _answer_writes(self, m: Module) -> dict[str, Value]:
        """Answer a write; return for each register whether it is written in this cycle.

        A write is decoded in the cycle before it commits. Only the soft reset, and a swap that
        stands, are looked at after that.
        """
        write: Any = self.write
        here = {word.name: write.address == word.offset // 4 for word in self._words}
        writable = [here[word.name] for word in self._words if word.access != "ro"]
        acts = Cat(here[word.name] for word in self._words if word.acts).any()
        too_large = here["CLEAR_STREAM"] & write.data[self._config.stream_bits : 8].any()
        if self._config.has_order_table:
            sm = self._config.sm_bits
            above = write.data[sm:8].any() | write.data[8 + sm : 16].any()
            too_large = too_large | (here["ORDER_SWAP"] & above)
        alters = write.strobes.any()
        wrong = ~Cat(writable).any() | (alters & ((acts & ~write.strobes.all()) | too_large))
        performs = Signal()
        m.d.comb += performs.eq(write.valid & alters & ~wrong)
        written = {}
        for word in self._words:
            if word.access != "ro":
                chosen = Signal(name=f"writes_{word.name.lower()}")
                m.d.sync += chosen.eq(performs & here[word.name])
                written[word.name] = chosen & ~self.soft_reset_active
        stands: Value = C(0, 1)
        if self._config.has_order_table:
            stands = written["ORDER_SWAP"] & self.order_swap.valid
            written["ORDER_SWAP"] = written["ORDER_SWAP"] & ~self.order_swap.valid
        wrongly = self.soft_reset_active | before(m, "wrong", wrong)
        m.d.comb += self.write_refused.eq(wrongly | stands)
        return written

    def _store(self, m: Module, write: Any, written: Value, register: Value, low: int = 0) -> None:
        """Let a register take the bytes of a write whose strobes are 1; ``low``: its lowest bit."""
        bits = write.data[low : low + len(register)]
        for byte in range(-(-len(register) // 8)):
            with m.If(written & write.strobes[byte]):
                part = slice(8 * byte, min(8 * byte + 8, len(register)))
                m.d.sync += register[part].eq(bits[part])

    def _constants(self) -> dict[str, Value]:
        config = self._config
        version, crc = map_version(config), config_crc(config)
        found = {"ID": IDENTITY, "VERSION": version, "CONFIG_CRC": crc}
        for field, value in params(config):
            name = f"PARAMS{field.word}"
            found[name] = found.get(name, 0) | value << field.low
        return {name: C(value, 32) for name, value in found.items()}

    def _soft_reset(
        self, m: Module, write: Any, written: dict[str, Value], shown: dict[str, Value]
    ) -> None:
        """Run the soft reset: begin, reset the units, wait until nothing is left, restart."""
        limits = timing(self._config)
        epoch = Signal(_EPOCH_BITS)
        begins = Signal()
        # Bit k: this is the second or a later cycle with bit k - 1, or with the soft reset.
        since = Signal(limits.soft_reset_settled - 1)
        is_idle = Signal()
        goes_on = Signal()
        expires = self._limit(m, goes_on)
        m.d.comb += [
            begins.eq(written["CONTROL"] & write.data[0]),
            goes_on.eq(self.soft_reset_active & ~self.restart),
            self.restart_next.eq(is_idle & goes_on),
        ]
        m.d.sync += [
            self.soft_reset_active.eq(begins | goes_on),
            since.eq(Cat(C(1, 1), since) & goes_on.replicate(len(since))),
            is_idle.eq((self.idle | expires) & since[-1] & goes_on),
            self.restart.eq(self.restart_next),
            epoch.eq(epoch + self.restart),
        ]
        # A register: behind it are the longest paths of the units.
        units = self._config.units
        first = limits.soft_reset_units - 2
        all_units = since[first - 1] & ~since[first]
        m.d.sync += self.unit_reset.eq(
            Mux(written["UNIT_RESET"], write.data[:units], 0) | all_units.replicate(units)
        )
        shown["STATE"] = Cat(self.soft_reset_active, C(0, 15), epoch)

    def _limit(self, m: Module, goes_on: Value) -> Value:
        """Return 1 in the cycle from which on a soft reset is forced: a register.

        SMs that do not kill may take any time, and are waited for.
        """
        if not self._config.sm_kill:
            return C(0, 1)
        limit = timing(self._config).soft_reset_limit
        expires = Signal()
        in_vain = Signal()
        waited = Signal(range(limit))
        m.d.sync += [
            waited.eq(Mux(goes_on, waited + 1, 0)),
            expires.eq(goes_on & (waited == limit - 2)),
            in_vain.eq(expires & ~self.idle),
        ]
        m.d.comb += self.forced_next.eq(in_vain & self.restart_next)
        return expires

    @property
    def _error_records(self) -> dict[ErrorBlock, Any]:
        found: dict[ErrorBlock, Any] = {ErrorBlock.DISPATCHER: self.dispatch_error}
        if self._config.makes_indices:
            found[ErrorBlock.INDEX] = self.index_error
        return found

    def _interrupt(
        self, m: Module, write: Any, written: dict[str, Value], shown: dict[str, Value]
    ) -> None:
        """Keep the interrupt's registers; an event wins over a write that clears its bit."""
        enable = Signal(len(Interrupt), name="irq_enable")
        threshold = Signal(_THRESHOLD_BITS)
        self._store(m, write, written["IRQ_ENABLE"], enable)
        self._store(m, write, written["IRQ_THRESHOLD"], threshold)
        lost_before = Signal(self._config.sms)
        forced = Signal()
        m.d.sync += [lost_before.eq(self.lost), forced.eq(self.forced_next)]
        events: dict[IntEnum, Value] = {
            Interrupt.ERROR: reduce(or_, (record.valid for record in self._error_records.values())),
            Interrupt.SM_LOST: (self.lost & ~lost_before).any(),
            Interrupt.RESET_DONE: self.restart,
            Interrupt.COMMAND_DONE: self.completed,
            Interrupt.RESET_FORCED: forced,
        }
        held = {bit: Signal(name=f"irq_{bit.name.lower()}") for bit in events}
        for bit, event in events.items():
            cleared = written["IRQ_STATUS"] & write.data[int(bit)]
            m.d.sync += held[bit].eq((held[bit] & ~cleared) | event)
        level = Mux(threshold == 0, self.records != 0, self.records >= threshold)
        late = self._late(m, write, written, shown)
        status = Cat(level | late, *(held[bit] for bit in sorted(held)))
        m.d.sync += self.irq.eq((status & enable).any())
        shown |= {"IRQ_ENABLE": enable, "IRQ_STATUS": status, "IRQ_THRESHOLD": threshold}

    def _late(
        self, m: Module, write: Any, written: dict[str, Value], shown: dict[str, Value]
    ) -> Value:
        """Return whether a record has waited for IRQ_TIMEOUT cycles. A register."""
        m.submodules.record_wait = wait = RecordWait()
        timeout = Signal(32, name="irq_timeout")
        is_new = Signal(name="irq_timeout_is_new")
        writes = written["IRQ_TIMEOUT"]
        self._store(m, write, writes, timeout)
        m.d.sync += is_new.eq(writes)
        m.d.comb += [
            wait.timeout.eq(timeout),
            wait.starts.eq((self.records == 0) | self.pop | writes | is_new),
        ]
        shown["IRQ_TIMEOUT"] = timeout
        return wait.late

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
                m.d.sync += [code.eq(record.code), argument.eq(record.argument)]
                m.d.sync += block.eq(int(name))
        with m.If(self.restart):
            m.d.sync += [code.eq(0), argument.eq(0), block.eq(0), count.eq(0)]
        shown |= {"ERROR_LAST": Cat(code, block, argument), "ERROR_COUNT": count}

    def _act(self, m: Module, write: Any, written: dict[str, Value]) -> None:
        """Let the registers act that other blocks hear of.

        Registers: the longest paths of the launch path begin at a stream that is mended.
        """
        m.d.comb += self.pop.eq(written["RECORD_POP"] & write.data[0])
        self._clear_streams(m, write, written["CLEAR_STREAM"])
        if self._config.has_loops:
            sections = write.data[: len(self.loop_stop)]
            m.d.sync += self.loop_stop.eq(Mux(written["LOOP_STOP"], sections, 0))
        if self._config.has_order_table:
            sm, swaps = self._config.sm_bits, written["ORDER_SWAP"]
            valid = Signal(name="swap_stands")
            swap: Any = Signal(self.order_swap.payload.shape(), name="swap", reset_less=True)
            m.d.sync += valid.eq((swaps | (valid & ~self.order_swap.ready)) & ~self.restart)
            with m.If(swaps):
                m.d.sync += [swap.first.eq(write.data[:sm]), swap.second.eq(write.data[8 : 8 + sm])]
            m.d.comb += [self.order_swap.valid.eq(valid), self.order_swap.payload.eq(swap)]

    def _clear_streams(self, m: Module, write: Any, written: Value) -> None:
        """Keep a mark for each stream that is to be mended; offer the lowest one."""
        to = self.clear_stream
        marks = Signal(1 << self._config.stream_bits)
        takes = Signal()
        valid = Signal(name="clear_stream_valid")
        number = Signal(self._config.stream_bits, name="stream_to_clear", reset_less=True)
        lowest = first_of(m, "lowest_mark", marks)
        new = decoded(m, "new_mark", write.data[: len(number)], len(marks), written)
        m.d.comb += [
            takes.eq(~valid | to.ready),
            to.valid.eq(valid),
            to.payload.eq(number),
            self.clearing.eq(valid | marks.any()),
        ]
        m.d.sync += marks.eq((marks & ~(lowest & takes.replicate(len(marks)))) | new)
        with m.If(takes):
            m.d.sync += [valid.eq(marks.any()), number.eq(number_of(lowest))]
        with m.If(self.restart):
            m.d.sync += [marks.eq(0), valid.eq(0)]

    def _sms(
        self, m: Module, write: Any, written: dict[str, Value], shown: dict[str, Value]
    ) -> None:
        """Keep and show the masks with a bit for each SM."""
        for k in range(-(-self._config.sms // 32)):
            here = slice(32 * k, min(32 * k + 32, self._config.sms))
            self._store(m, write, written[f"SM_ENABLE{k}"], self.enable[here])
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
            "LAUNCH_TIMEOUT": self.launch_timeout,
            "CLOCK_LOW": self.clock[:32],
            "CLOCK_HIGH": self.clock[32:],
            "UNIT_STATE": Cat(self.busy, padding, self.disconnected, padding, self.missing),
            "DISPATCHER_ERRORS": self.dispatch_error_count,
            **({"INDEX_ERRORS": self.index_error_count} if self._config.makes_indices else {}),
            **{f"RECORD{k}": oldest.word_select(k, 32) for k in range(FINAL_RECORD_WORDS)},
            **{
                f"STALL_{cause.upper()}": getattr(self, f"stall_{cause}", C(0, 32))
                for cause in STALL_CAUSES
            },
            **{f"STRAYS{k}": self.strays[k] for k in range(self._config.units)},
        }

    def _answer_reads(self, m: Module, shown: dict[str, Value]) -> None:
        """Answer a read two cycles after its sampling.

        The words come in three steps: decoding, the word of each group, the group.
        """
        address = self.read.address
        here = Signal()
        with m.Switch(address):
            with m.Case(*(register.offset // 4 for register in self._words)):
                m.d.comb += here.eq(1)
        numbers = {
            register.offset // 4: shown[register.name]
            for register in self._words
            if register.access != "wo"
        }
        is_state = before(m, "reads_state", address == self._offset("STATE"))
        open_ = ~self.soft_reset_active | is_state
        answered = before(m, "answered", before(m, "reads_register", here) & open_)
        group = before(m, "reads_group", address[_GROUP_BITS:])
        place = {
            k: before(m, f"reads_place_{k}", address[:_GROUP_BITS] == k) for k in range(_GROUP)
        }
        words = []
        for number in sorted({number // _GROUP for number in numbers}):
            members = {k: numbers.get(_GROUP * number + k) for k in range(_GROUP)}
            chosen = _any_of(
                _whole(m, f"word_{number}_{k}", value) & place[k].replicate(32)
                for k, value in members.items()
                if value is not None
            )
            # A choice of 0 is a register's reset: no gate stands in front of it.
            words.append(before(m, f"group_{number}", Mux(group == number, chosen, 0)))
        held: Any = Signal(self.answer.shape(), name="held_answer", reset_less=True)
        m.d.comb += self.answer.eq(held)
        m.d.sync += [
            held.refused.eq(~answered),
            held.data.eq(Mux(answered, _any_of(words), 0)),
        ]

    def _offset(self, name: str) -> int:
        """Return a register's word address."""
        return next(word.offset // 4 for word in self._words if word.name == name)


def _whole(m: Module, name: str, value: Value) -> Signal:
    """Return a register's word with all its bits."""
    word = Signal(32, name=name)
    m.d.comb += word.eq(value)
    return word


def _any_of(words: Iterable[Value]) -> Value:
    """Return the words, ORed bit by bit."""
    return reduce(or_, words)
