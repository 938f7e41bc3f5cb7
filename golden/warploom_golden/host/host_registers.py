"""Cycle model of HostRegisters: what a host reads to know the core, and writes to control it."""

from collections import deque
from collections.abc import Mapping

from warploom_spec import host_packets, layouts, timing
from warploom_spec.config import Config
from warploom_spec.host_map import Word
from warploom_spec.host_registers import (
    IDENTITY,
    ErrorBlock,
    Interrupt,
    config_crc,
    map_version,
    params,
    registers,
)
from warploom_spec.queue_packets import FINAL_RECORD_WORDS
from warploom_spec.resources import STALL_CAUSES

ALL_STROBES = 0b1111
WORD_MASK = (1 << 32) - 1
EPOCH_MASK = (1 << 16) - 1

Values = dict[str, int | None]


class HostRegisters:
    """Cycle model of HostRegisters.

    Ports and rules: ``docs/host/host_registers.md``. Every method names the rule that it follows.

    Parameters
    ----------
    config : Config
        All of it: CONFIG_CRC is made of every field.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._write = host_packets.bus_write(config)
        self._read = host_packets.bus_read(config)
        self._answer = host_packets.bus_answer(config)
        self._error = layouts.error_record(config)
        self._swap = layouts.order_swap(config)
        self._words = {word.offset // 4: word for word in registers(config)}
        self._all_sms = (1 << config.sms) - 1
        self._timing = timing(config)
        # Of two error records in one cycle the dispatcher's is the last one.
        self._error_blocks = {"index_error": ErrorBlock.INDEX} if config.makes_indices else {}
        self._error_blocks |= {"dispatch_error": ErrorBlock.DISPATCHER}
        self.reset()

    def reset(self) -> None:
        """Take the values after a reset of the machine."""
        #: The write that commits in this cycle, and the read that is sampled in it.
        self._committing = self._write.unpack(0)
        self._sampling = self._read.unpack(0)
        #: Answers of the reads that were sampled two cycles ago and one cycle ago.
        self._answers: deque[int | None] = deque([None] * self._timing.bus_answer)
        self._irq = 0
        self._irq_enable = 0
        self._threshold = 0
        self._launch_timeout = 0
        self._irq_timeout = 0
        #: Cycles since the last one that started the count, this one included.
        self._counted = 1
        #: A write to IRQ_TIMEOUT was performed in the cycle before.
        self._retimed = False
        #: The bits of IRQ_STATUS that are registers.
        self._happened: set[int] = set()
        self._lost_before = 0
        #: Number of this cycle in a soft reset, from 1 on; 0: no soft reset.
        self._reset_cycle = 0
        self._restart_next = self._restart = False
        #: The soft reset that ends was forced: ``restart_next`` is 1, or was in the cycle before.
        self._forced = False
        self._unit_reset = self._loop_stop = 0
        #: Streams that are marked, and the one at ``clear_stream``.
        self._marked: set[int] = set()
        self._clears: int | None = None
        self._swapped: int | None = None
        self._epoch = 0
        self._enable = self._all_sms
        self._error_last = 0
        self._error_count = 0

    @property
    def _soft_reset_active(self) -> bool:
        return self._reset_cycle > 0

    def outputs(self, inputs: Mapping[str, int]) -> Values:
        """Return the outputs of this cycle, which depend on the state alone.

        ``write_refused`` and ``answer`` are compared in those cycles in which they mean something.
        """
        del inputs
        write = self._committing
        values: Values = {
            "write_refused": int(self._refuses(write)) if write["valid"] else None,
            "answer": self._answers[0],
            "irq": self._irq,
            "enable": self._enable,
            "soft_reset_active": int(self._soft_reset_active),
            "restart_next": int(self._restart_next),
            "restart": int(self._restart),
            "forced_next": int(self._restart_next and self._forced),
            "launch_timeout": self._launch_timeout,  # 3a
        }
        return values | self._actions(self._performed(write), write["data"])  # 3

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        write, read = self._committing, self._sampling
        self._answers.popleft()
        self._answers.append(self._read_word(read["address"], inputs) if read["valid"] else None)
        performed = self._performed(write)
        self._irq = int(self._irq_status(inputs) & self._irq_enable != 0)
        self._count(performed, write["data"], inputs)
        self._store(performed, write)
        self._swap_turns(performed, write["data"], inputs.get("order_swap__ready", 0))
        self._clear_streams(performed, write["data"], inputs["clear_stream__ready"])
        self._note_events(performed, write["data"], inputs)
        self._note_errors(inputs)
        self._reset_units(performed, write["data"])
        self._stop_loops(performed, write["data"])
        self._advance_reset(performed, write["data"], bool(inputs["idle"]))
        self._committing = self._write.unpack(inputs["write"])
        self._sampling = self._read.unpack(inputs["read"])

    # Writes

    def _refuses(self, write: Mapping[str, int]) -> bool:
        """Rule 1: the first that holds answers."""
        word = self._words.get(write["address"])
        if self._soft_reset_active or word is None or word.access == "ro":
            return True
        if not write["strobes"]:
            return False
        if word.acts and write["strobes"] != ALL_STROBES:
            return True
        return self._is_wrong(word, write["data"])

    def _is_wrong(self, word: Word, data: int) -> bool:
        """Rule 1 (e); of ORDER_SWAP also while a swap stands."""
        if word.name == "CLEAR_STREAM":
            return bool((data & 0xFF) >> self._config.stream_bits)
        if word.name == "ORDER_SWAP" and self._swapped is not None:
            return True
        if word.name == "ORDER_SWAP":
            sms = data & 0xFF, data >> 8 & 0xFF
            return any(sm >> self._config.sm_bits for sm in sms)
        return False

    def _performed(self, write: Mapping[str, int]) -> str | None:
        """Return the register whose write is performed in this cycle and does something."""
        if not write["valid"] or self._refuses(write) or not write["strobes"]:
            return None
        return self._words[write["address"]].name

    def _actions(self, performed: str | None, data: int) -> Values:
        """Rule 3: what the registers that act do in this cycle."""
        values: Values = {
            "pop": int(performed == "RECORD_POP" and data & 1),
            "clear_stream__payload": self._clears,
            "clear_stream__valid": int(self._clears is not None),
            "clearing": int(self._clears is not None or bool(self._marked)),
            "unit_reset": self._unit_reset,
        }
        if self._config.has_loops:
            values["loop_stop"] = self._loop_stop
        if self._config.has_order_table:
            values["order_swap__payload"] = self._swapped
            values["order_swap__valid"] = int(self._swapped is not None)
        return values

    def _swap_turns(self, performed: str | None, data: int, ready: int) -> None:
        """Rule 3: the swap that stands at ``order_swap`` in the next cycle."""
        swap = {"first": data & 0xFF, "second": data >> 8 & 0xFF}
        if performed == "ORDER_SWAP":
            self._swapped = self._swap.pack(swap)
        elif ready or self._restart:
            self._swapped = None

    def _clear_streams(self, performed: str | None, data: int, ready: int) -> None:
        """Rule 3b: the lowest stream that is marked goes to ``clear_stream``."""
        if self._clears is None or ready:
            self._clears = min(self._marked, default=None)
            self._marked.discard(-1 if self._clears is None else self._clears)
        if performed == "CLEAR_STREAM":
            self._marked.add(data & 0xFF)
        if self._restart:
            self._marked, self._clears = set(), None

    def _store(self, performed: str | None, write: Mapping[str, int]) -> None:
        """Rule 1 (f): a register takes the bytes whose strobe is 1."""
        mask = sum(0xFF << 8 * byte for byte in range(4) if write["strobes"] >> byte & 1)

        def changed(value: int, width: int) -> int:
            return (value & ~mask | write["data"] & mask) & ((1 << width) - 1)

        if performed == "IRQ_ENABLE":
            self._irq_enable = changed(self._irq_enable, len(Interrupt))
        elif performed == "IRQ_THRESHOLD":
            self._threshold = changed(self._threshold, 16)
        elif performed == "LAUNCH_TIMEOUT":
            self._launch_timeout = changed(self._launch_timeout, 32)
        elif performed == "IRQ_TIMEOUT":
            self._irq_timeout = changed(self._irq_timeout, 32)
        elif performed is not None and performed.startswith("SM_ENABLE"):
            low = 32 * int(performed.removeprefix("SM_ENABLE"))
            word = changed(self._enable >> low & WORD_MASK, 32)
            self._enable = (self._enable & ~(WORD_MASK << low) | word << low) & self._all_sms

    # Reads

    def _read_word(self, word_address: int, inputs: Mapping[str, int]) -> int:
        """Rule 4: return the packed answer to a read in this cycle's state."""
        word = self._words.get(word_address)
        if word is None or (self._soft_reset_active and word.name != "STATE"):
            return self._answer.pack({"refused": 1, "data": 0})
        data = 0 if word.access == "wo" else self._values(inputs)[word.name]
        return self._answer.pack({"refused": 0, "data": data})

    def _values(self, inputs: Mapping[str, int]) -> dict[str, int]:
        """Return what every register that can be read holds."""
        found = {
            "ID": IDENTITY,
            "VERSION": map_version(self._config),
            "CONFIG_CRC": config_crc(self._config),
            "STATE": int(self._soft_reset_active) | self._epoch << 16,
            "IRQ_ENABLE": self._irq_enable,
            "IRQ_STATUS": self._irq_status(inputs),
            "IRQ_THRESHOLD": self._threshold,
            "RECORDS": inputs["records"],
            "ROOM": inputs["room"],
            "REFUSED": inputs["refused"],
            "ERROR_LAST": self._error_last,
            "ERROR_COUNT": self._error_count,
            "UNIT_STATE": inputs["busy"] | inputs["disconnected"] << 8 | inputs["missing"] << 16,
            "DISPATCHER_ERRORS": inputs["dispatch_error_count"],
        }
        if self._config.makes_indices:
            found["INDEX_ERRORS"] = inputs["index_error_count"]
        for field, value in params(self._config):
            name = f"PARAMS{field.word}"
            found[name] = found.get(name, 0) | value << field.low
        for k in range(FINAL_RECORD_WORDS):
            found[f"RECORD{k}"] = inputs["oldest"] >> 32 * k & WORD_MASK
        found["LAUNCH_TIMEOUT"] = self._launch_timeout
        found["IRQ_TIMEOUT"] = self._irq_timeout
        found["CLOCK_LOW"] = inputs["clock"] & WORD_MASK
        found["CLOCK_HIGH"] = inputs["clock"] >> 32
        for cause in STALL_CAUSES:
            # Nothing waits for order: there is no such counter.
            found[f"STALL_{cause.upper()}"] = 0 if cause == "order" else inputs[f"stall_{cause}"]
        for unit in range(self._config.units):
            found[f"STRAYS{unit}"] = inputs[f"strays__{unit}"]
        for k in range(-(-self._config.sms // 32)):
            found[f"SM_ENABLE{k}"] = self._enable >> 32 * k & WORD_MASK
            found[f"SM_LOST{k}"] = inputs["lost"] >> 32 * k & WORD_MASK
        return found

    # Interrupt, errors, soft reset

    def _irq_status(self, inputs: Mapping[str, int]) -> int:
        """Rule 5: bit 0 is a level, the others stand until they are cleared."""
        level = inputs["records"] >= max(1, self._threshold) or self._late
        return int(level) | sum(1 << bit for bit in self._happened)

    @property
    def _late(self) -> bool:
        """Rule 5a: a record has waited for IRQ_TIMEOUT cycles."""
        return self._irq_timeout != 0 and self._counted >= self._irq_timeout + 2

    def _count(self, performed: str | None, data: int, inputs: Mapping[str, int]) -> None:
        """Rule 5a: count the cycles since the last one that starts the count."""
        retimed = performed == "IRQ_TIMEOUT"
        popped = performed == "RECORD_POP" and bool(data & 1)
        starts = not inputs["records"] or popped or retimed or self._retimed
        self._counted = 1 if starts else self._counted + 1
        self._retimed = retimed

    def _note_events(self, performed: str | None, data: int, inputs: Mapping[str, int]) -> None:
        """Rules 6 and 7: an event wins over a write that clears its bit."""
        if performed == "IRQ_STATUS":
            self._happened -= {bit for bit in Interrupt if data >> bit & 1}
        if any(self._errors(inputs)):
            self._happened.add(Interrupt.ERROR)
        if inputs["lost"] & ~self._lost_before:
            self._happened.add(Interrupt.SM_LOST)
        if self._restart:
            self._happened.add(Interrupt.RESET_DONE)
            if self._forced:
                self._happened.add(Interrupt.RESET_FORCED)
        if inputs["completed"]:
            self._happened.add(Interrupt.COMMAND_DONE)
        self._lost_before = inputs["lost"]

    def _errors(self, inputs: Mapping[str, int]) -> list[bool]:
        return [bool(self._error.unpack(inputs[name])["valid"]) for name in self._error_blocks]

    def _note_errors(self, inputs: Mapping[str, int]) -> None:
        """Rules 9 and 12."""
        self._error_count = (self._error_count + sum(self._errors(inputs))) & WORD_MASK
        for name, block in self._error_blocks.items():
            error = self._error.unpack(inputs[name])
            if error["valid"]:
                self._error_last = error["code"] | block << 8 | error["argument"] << 16
        if self._restart:
            self._error_last = self._error_count = 0

    def _reset_units(self, performed: str | None, data: int) -> None:
        """Rules 3 and 13: the units that are reset in the next cycle."""
        units = (1 << self._config.units) - 1
        if self._soft_reset_active and self._reset_cycle + 1 == self._timing.soft_reset_units:
            self._unit_reset = units
        else:
            self._unit_reset = data & units if performed == "UNIT_RESET" else 0

    def _stop_loops(self, performed: str | None, data: int) -> None:
        """Rule 3: the sections whose loops are stopped in the next cycle."""
        sections = (1 << self._config.sections) - 1
        self._loop_stop = data & sections if performed == "LOOP_STOP" else 0

    def _advance_reset(self, performed: str | None, data: int, idle: bool) -> None:
        """Rules 10 to 12."""
        if self._restart:
            self._epoch = (self._epoch + 1) & EPOCH_MASK
            self._enable = self._all_sms
        settled = self._reset_cycle >= self._timing.soft_reset_settled
        waits = settled and not self._restart_next and not self._restart
        expires = self._config.sm_kill and self._reset_cycle == self._timing.soft_reset_limit
        ends = waits and (idle or expires)
        if ends:
            self._forced = not idle
        begins = performed == "CONTROL" and bool(data & 1)
        continues = self._soft_reset_active and not self._restart
        self._reset_cycle = self._reset_cycle + 1 if continues else int(begins)
        self._restart_next, self._restart = ends, self._restart_next
