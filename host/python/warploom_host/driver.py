"""A driver for Warploom's core: the calls of ``host/c/warploom.c``, in Python.

It needs two functions that reach the core, such as those of a bench, a debugger's link or a PCIe
window. Nothing here sleeps: a call that waits reads again and again, ``patience`` times at most.
What a program must know stands in the package's docstring.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from warploom_host.launch_words import LaunchWords, Wait
from warploom_host.outcomes import CommandFailed, HostTimeout, Outcome, Record
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode, WarploomError
from warploom_spec.host_commands import (
    FLAG_SKIP_PRIMARY,
    Opcode,
    abort_words,
    command_words,
    mask_words,
    run_words,
)
from warploom_spec.host_map import RESULT_WORDS, SECTION_WORDS, Word, section_address
from warploom_spec.host_registers import IDENTITY, MAP_VERSION, config_crc, registers
from warploom_spec.launch import LaunchDescriptor
from warploom_spec.queue import RecordKind
from warploom_spec.queue_packets import FINAL_RECORD_WORDS, final_record_words
from warploom_spec.word_layout import WordLayout

Read = Callable[[int], int]
Write = Callable[[int, int], None]
#: Turns of waiting before a call gives up.
PATIENCE: Final = 100_000
_SECTION: Final = {word.name: word for word in SECTION_WORDS}
#: Fields of a record under other names.
_RECORD_NAMES: Final = {"word2": "cycles", "reset_as_drain": "drained"}


class HostDriver:
    """One core, driven by two functions.

    Parameters
    ----------
    read32 : function
        Returns the word at a byte address; raises if the core refuses the access.
    write32 : function
        Writes a word (address, value); raises if the core refuses it.
    config : Config
        The core's configuration. `identify` compares it with the core.
    patience : int
        Turns of waiting before a call raises `HostTimeout`; 0: wait for ever. A launch after a
        reset waits until the dispatcher knows each slot of each SM, a cycle for each.
    barrier : function, optional
        Returns when every write has had its response. A bus that posts writes needs it: AXI lets a
        read pass a posted write. Without it `write32` itself returns after the response.
    wait_irq : function, optional
        Returns when ``irq`` is 1, or after a while. Without it `wait_record` polls.

    Raises
    ------
    WarploomError
        If ``patience`` is negative. From every call: if a value fits no field, a section does not
        exist or is busy.
    """

    def __init__(
        self,
        read32: Read,
        write32: Write,
        config: Config,
        patience: int = PATIENCE,
        wait_irq: Callable[[], None] | None = None,
        barrier: Callable[[], None] | None = None,
    ):
        if patience < 0:
            raise WarploomError(f"patience is {patience}; legal: 0 or more (0: wait for ever)")
        self._read = read32
        self._write = write32
        self._config = config
        self._patience = patience
        self._wait_irq = wait_irq
        self._barrier = barrier
        self._launches = LaunchWords(config)
        self._record_words = final_record_words(config)
        self._registers: Mapping[str, Word] = {word.name: word for word in registers(config)}

    def identify(self) -> None:
        """Raise `WarploomError` unless the core is Warploom's, of this map and configuration."""
        expected = {
            "ID": (IDENTITY, 0xFFFFFFFF),
            "VERSION": (MAP_VERSION, 0xFFFF0000),
            "CONFIG_CRC": (config_crc(self._config), 0xFFFFFFFF),
        }
        for name, (value, mask) in expected.items():
            found = self.register(name)
            if (found ^ value) & mask:
                raise WarploomError(_no_match(name, found, value))

    # Commands

    def submit_launch(
        self,
        section: int,
        launch: LaunchDescriptor,
        waits: Sequence[Wait] = (),
        *,
        quiet: bool = False,
    ) -> None:
        """Write a launch into a section and ring its doorbell.

        ``waits`` are pairs (stream, count), it begins after so many launches of the stream; or what
        `wait_latest` returns. A quiet launch leaves a record only if it does not finish.
        """
        words = self._launches.pack(launch, waits, quiet)
        self._ring(section, words, self._launches.written(len(waits)))

    def submit_task(
        self,
        section: int,
        code: int,
        arguments: int,
        *,
        first: int = 0,
        parts: int = 1,
        larger: int = 0,
        small: int = 1,
        skip_primary: bool = False,
    ) -> None:
        """Write a task into a section and ring its doorbell."""
        fields = {
            "opcode": int(Opcode.RUN),
            "flags": FLAG_SKIP_PRIMARY * skip_primary,
            "parameter": 0,
            "first": first,
            "parts": parts,
            "larger": larger,
            "small": small,
            "code": code,
            "arguments": arguments,
        }
        self._submit(section, run_words(self._config), fields)

    def submit_abort(self, section: int, ticket: int) -> None:
        """Ask to end a launch."""
        fields = {"opcode": int(Opcode.ABORT), "flags": 0, "parameter": 0, "ticket": ticket}
        self._submit(section, abort_words(self._config), fields)

    def submit_preempt(self, section: int, streams: int) -> None:
        """Ask to hold the streams of a mask, and to stop what runs of them."""
        self._submit_mask(section, Opcode.PREEMPT, streams)

    def submit_resume(self, section: int, streams: int) -> None:
        """Ask to let the streams of a mask go on."""
        self._submit_mask(section, Opcode.RESUME, streams)

    def submit_abort_streams(self, section: int, streams: int) -> None:
        """Ask to end all launches of the mask's streams that were accepted so far."""
        self._submit_mask(section, Opcode.ABORT_STREAMS, streams)

    def _submit_mask(self, section: int, opcode: Opcode, streams: int) -> None:
        fields = {"opcode": int(opcode), "flags": 0, "parameter": 0, "mask": streams}
        self._submit(section, mask_words(self._config), fields)

    def submit_disconnect(self, section: int) -> None:
        """Ask that a section runs no more commands."""
        fields = {"opcode": int(Opcode.DISCONNECT), "flags": 0, "parameter": 0}
        self._submit(section, command_words(self._config), fields)

    def poll(self, section: int) -> Outcome | None:
        """Return what became of a section's command; None while it is not complete."""
        if self.section(section, "DOORBELL"):
            return None
        error = _SECTION["ERROR"].fields
        word = self.section(section, "ERROR")
        fields = {f.name: word >> f.low & (1 << f.bits) - 1 for f in error}
        return Outcome(
            **fields,
            ticket=self.section(section, "RESULT0"),
            succeeded=self.section(section, "STATUS"),
            parts=self.section(section, "ASSIGNED"),
            task=(result := self.section(section, "RESULT1")) & 0xFF,
            number=result >> 16,
        )

    def wait(self, section: int) -> Outcome:
        """Poll until a section's command is complete.

        Raises
        ------
        HostTimeout
            If it never is.
        """
        for _ in self._turns():
            if (outcome := self.poll(section)) is not None:
                return outcome
        raise HostTimeout(f"section {section}: no answer in {self._patience} turns")

    def launch(self, section: int, launch: LaunchDescriptor) -> int:
        """Launch a kernel and return its ticket; try again while the queue is full.

        Raises
        ------
        CommandFailed
            If it is refused for another reason.
        """
        return self.launch_after(section, launch, ()).ticket

    def launch_after(
        self,
        section: int,
        launch: LaunchDescriptor,
        waits: Sequence[Wait],
        *,
        quiet: bool = False,
    ) -> Outcome:
        """Launch a kernel as `submit_launch` does; return ticket and number.

        Raises
        ------
        CommandFailed
            If it is refused, but not because its queue is full.
        """
        for _ in self._turns():
            self.submit_launch(section, launch, waits, quiet=quiet)
            outcome = self.wait(section)
            if outcome.code != ErrorCode.QUEUE_FULL:
                return self._checked(section, outcome)
        raise HostTimeout(f"section {section}: no room in {self._patience} turns")

    def run(self, section: int, code: int, arguments: int, **task: Any) -> Outcome:
        """Run a task on a section's unit; as `submit_task`, then `wait`."""
        self.submit_task(section, code, arguments, **task)
        return self._checked(section, self.wait(section))

    def abort(self, section: int, ticket: int) -> None:
        """End a launch; its record says what became of it."""
        self.submit_abort(section, ticket)
        self._checked(section, self.wait(section))

    def preempt(self, section: int, streams: int) -> None:
        """Hold the streams of a mask, and stop what runs of them.

        A record of kind 2 tells when all is back.
        """
        self.submit_preempt(section, streams)
        self._checked(section, self.wait(section))

    def resume(self, section: int, streams: int) -> None:
        """Let the streams of a mask go on at once; a pending PREEMPT waits for them no more."""
        self.submit_resume(section, streams)
        self._checked(section, self.wait(section))

    def abort_streams(self, section: int, streams: int) -> None:
        """Abort all launches of the mask's streams that were accepted so far."""
        self.submit_abort_streams(section, streams)
        self._checked(section, self.wait(section))

    def results(self, section: int, count: int = RESULT_WORDS) -> list[int]:
        """Return the first result words that the unit's cores wrote."""
        if not 0 <= count <= RESULT_WORDS:
            raise WarploomError(f"count is {count}; legal: 0 to {RESULT_WORDS}")
        return [self.section(section, f"RESULT{8 + word}") for word in range(count)]

    # Records and interrupt

    def take_record(self) -> Record | None:
        """Take the oldest final record; None if none waits."""
        if not self.register("RECORDS"):
            return None
        record = self._record()
        self.write_register("RECORD_POP", 1)
        return record

    def _record(self) -> Record:
        """Read the oldest record."""
        words = [self.register(f"RECORD{word}") for word in range(FINAL_RECORD_WORDS)]
        named = self._record_words.unpack(words)
        fields = {_RECORD_NAMES.get(name, name): value for name, value in named.items()}
        counts, skipped = fields.pop("word3"), fields.pop("word4")
        if fields["kind"] == RecordKind.PREEMPT:
            fields |= {"met_finished": fields["cycles"], "cycles": 0, "met_skipped": skipped}
            fields |= {"met_killed": counts & 0xFFFF, "met_drained": counts >> 16}
        elif self._config.has_loops:
            fields |= {"number": counts & 0xFFFF}
        return Record(**fields)

    def wait_record(self) -> Record:
        """Take the oldest final record as soon as there is one.

        Raises
        ------
        HostTimeout
            If none comes.
        """
        for _ in self._turns():
            if (record := self.take_record()) is not None:
                return record
            if self._wait_irq:
                self._wait_irq()
        raise HostTimeout(f"no record in {self._patience} turns")

    def enable_irq(self, bits: int, threshold: int = 0) -> None:
        """Raise ``irq`` for these bits of IRQ_STATUS, for bit 0 from so many records on."""
        self._demand_legal("IRQ_ENABLE", bits)
        self.write_register("IRQ_THRESHOLD", threshold)
        self.write_register("IRQ_ENABLE", bits)

    def acknowledge_irq(self) -> int:
        """Return what happened, and clear it."""
        bits = self.register("IRQ_STATUS")
        # A core of a later minor number may have more bits.
        self._write(self._register("IRQ_STATUS"), bits)
        self._settle()
        return bits

    # Control

    def set_launch_timeout(self, cycles: int) -> None:
        """End a launch that stays longer than so many cycles at a stretch; 0: none."""
        self.write_register("LAUNCH_TIMEOUT", cycles)

    def set_irq_timeout(self, cycles: int) -> None:
        """Let a record that waits so many cycles raise ``irq``; 0: never."""
        self.write_register("IRQ_TIMEOUT", cycles)

    def clock(self) -> int:
        """Return the clock whose low half stands in records."""
        high = self.register("CLOCK_HIGH")
        while True:
            before, low = high, self.register("CLOCK_LOW")
            high = self.register("CLOCK_HIGH")
            if high == before:
                return high << 32 | low

    def clear_stream(self, stream: int) -> None:
        """Mend a stream that a failed launch broke: launches rung later find it mended."""
        self.write_register("CLEAR_STREAM", stream)

    def reset_units(self, units: int) -> None:
        """Reset units, a bit for each."""
        self.write_register("UNIT_RESET", units)

    def enable_sms(self, mask: int) -> None:
        """Use the SMs of a mask, a bit for each."""
        if mask >> self._config.sms:
            legal = (1 << self._config.sms) - 1
            raise WarploomError(f"SM_ENABLE is {mask:#x}; legal: bits of {legal:#x}")
        for word in range(-(-self._config.sms // 32)):
            self.write_register(f"SM_ENABLE{word}", mask >> 32 * word & 0xFFFFFFFF)

    def soft_reset(self) -> None:
        """End every launch and task, and wait until the core is as after power-on; records stay.

        Raises
        ------
        HostTimeout
            If it does not end.
        """
        self.write_register("CONTROL", 1)
        for _ in self._turns():
            if not self.register("STATE") & 1:
                return
        raise HostTimeout(f"the soft reset did not end in {self._patience} turns")

    # Words

    def register(self, name: str) -> int:
        """Return a register's word."""
        return self._read(self._register(name))

    def write_register(self, name: str, value: int) -> None:
        """Write a register's word."""
        address = self._register(name)
        self._demand_legal(name, value)
        self._write(address, value)
        self._settle()

    def _demand_legal(self, name: str, value: int) -> None:
        """Refuse a register's value that has bits outside its fields."""
        legal = sum((1 << field.bits) - 1 << field.low for field in self._registers[name].fields)
        if value & ~legal:
            raise WarploomError(f"{name} is {value:#x}; legal: bits of {legal:#x}")

    def section(self, section: int, name: str) -> int:
        """Return a word of a section."""
        return self._read(self._section(section, name))

    def _register(self, name: str) -> int:
        if name not in self._registers:
            raise WarploomError(f"register is {name!r}; legal: {', '.join(self._registers)}")
        return self._registers[name].offset

    def _section(self, section: int, name: str) -> int:
        if not 0 <= section < self._config.sections:
            raise WarploomError(f"section is {section}; legal: 0 to {self._config.sections - 1}")
        return section_address(section, name)

    def _submit(self, section: int, layout: WordLayout, fields: Mapping[str, int]) -> None:
        """Write as many of a command's words as have fields, and ring."""
        used = 1 + max(field.word + (field.bits > 32) for field in layout.fields)
        self._ring(section, layout.pack(fields), range(used))

    def _ring(self, section: int, words: Sequence[int], chosen: Iterable[int]) -> None:
        """Write the chosen words of a task register and ring, unless the section is busy."""
        doorbell = self._section(section, "DOORBELL")
        if self._read(doorbell):
            raise WarploomError(f"section {section} is busy; wait for its last command first")
        for number in chosen:
            self._write(self._section(section, f"T{number}"), words[number])
        # Of a word that is refused, beside another master's reset, a bus that posts tells here.
        self._settle()
        self._write(doorbell, 1)
        self._settle()

    def _turns(self) -> Iterable[int]:
        """Return the turns of waiting that a call may take."""
        return range(self._patience) if self._patience else itertools.count()

    def _settle(self) -> None:
        """Let no later read pass the writes before."""
        if self._barrier:
            self._barrier()

    def _checked(self, section: int, outcome: Outcome) -> Outcome:
        if outcome.code:
            raise CommandFailed(section, outcome)
        return outcome


def _no_match(name: str, found: int, expected: int) -> str:
    """Say which core is there, and for which one this driver is."""
    if name != "VERSION":
        return f"{name} reads {found:#010x}; expected: {expected:#010x}"
    core, mine = (f"{word >> 16}.{word & 0xFFFF}" for word in (found, expected))
    legal = f"legal for this driver: {expected >> 16}.x (it is for {mine})"
    return f"VERSION reads {core}; {legal}: take the driver of the core's version"
