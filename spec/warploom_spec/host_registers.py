"""The registers below the mailbox's sections, as data, and what names a configuration."""

import dataclasses
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final

from warploom_spec.codes import AnyCode
from warploom_spec.config import Config
from warploom_spec.host_commands import command_words, template_words
from warploom_spec.host_map import (
    SECTION_BASE,
    SECTION_BYTES,
    Word,
    bits,
    find_template,
    section_words,
    template_numbers,
)
from warploom_spec.queue_packets import final_record_words
from warploom_spec.resources import STALL_CAUSES
from warploom_spec.word_layout import WORD_BITS, WordField, WordLayout

#: 'WARP'.
IDENTITY: Final = 0x57415250
#: Major [31:16] and minor [15:0] number of the map; another major number is another map.
MAP_VERSION: Final = 0x0003_0000


def map_version(config: Config) -> int:
    """Return what VERSION reads: loops are an addition to the map."""
    return MAP_VERSION + int(config.has_loops)


class Interrupt(IntEnum):
    """Bits of IRQ_ENABLE and IRQ_STATUS."""

    RECORDS = 0
    ERROR = 1
    SM_LOST = 2
    RESET_DONE = 3
    COMMAND_DONE = 4
    RESET_FORCED = 5


class ErrorBlock(IntEnum):
    """Whose error record ERROR_LAST shows."""

    NONE = 0
    DISPATCHER = 1
    INDEX = 2


_INTERRUPTS: Final[dict[IntEnum, str]] = {
    Interrupt.RECORDS: "RECORDS >= max(1, IRQ_THRESHOLD), or one for IRQ_TIMEOUT; a level",
    Interrupt.ERROR: "a block gave an error record",
    Interrupt.SM_LOST: "an SM was lost",
    Interrupt.RESET_DONE: "a soft reset is over",
    Interrupt.COMMAND_DONE: "a command has completed",
    Interrupt.RESET_FORCED: "a soft reset was forced",
}


def config_text(config: Config) -> str:
    """Return a configuration as text, a line for each field: what CONFIG_CRC is made of."""
    return "".join(
        f"{field.name}={getattr(config, field.name)}\n" for field in dataclasses.fields(Config)
    )


def config_crc(config: Config) -> int:
    """Return the CRC-32 (polynomial 0x04C11DB7, as in zlib and PNG) of `config_text`."""
    return zlib.crc32(config_text(config).encode())


_LOOP_PARAMS: Final = (
    (3, 16, 8, "loop_templates", "slots for launch templates"),
    (3, 24, 8, "loop_sections", "sections that can loop, the last ones"),
)


def params(config: Config) -> tuple[tuple[WordField, int], ...]:
    """Return fields and values of PARAMS0 to PARAMS3; ``word`` is the register's number."""
    values = (
        (0, 0, 8, "sections", "sections of the mailbox"),
        (0, 8, 8, "units", "execution units"),
        (0, 16, 8, "cores_per_unit", "cores of one execution unit"),
        (0, 24, 8, "warp_size", "lanes of a warp"),
        (1, 0, 16, "sms", "SMs"),
        (1, 16, 8, "block_slots", "block slots of one SM"),
        (1, 24, 8, "warp_slots", "warps of one SM"),
        (2, 0, 16, "records", "final records that the core has room for"),
        (2, 16, 8, "inline_args", "argument words of 64 bits in a launch"),
        (2, 24, 8, "stream_bits", "streams are numbered with so many bits"),
        (3, 0, 8, "queue_depth", "unfinished launches of each priority, at most"),
        (3, 8, 4, "priority_bits", "priorities are numbered with so many bits"),
        (3, 12, 4, "launch_waits", "pairs that a launch may wait for"),
        *(_LOOP_PARAMS if config.has_loops else ()),
    )
    return tuple(
        (WordField(name, word, low, width, meaning), int(getattr(config, name)))
        for word, low, width, name, meaning in values
    )


def registers(config: Config) -> tuple[Word, ...]:
    """Return every register of a configuration, by rising address."""
    words = (
        *_identification(config),
        *_control(),
        *_records(config),
        *_errors(),
        *_streams_and_units(config),
        *_sms(config),
        *_counters(config),
    )
    return tuple(sorted(words, key=lambda word: word.offset))


def register_addresses(config: Config) -> dict[str, int]:
    """Return each register's byte address by its name."""
    return {word.name: word.offset for word in registers(config)}


@dataclass(frozen=True)
class AddressedWord:
    """Which of a host's words a packet's field shows: the address stands in another packet.

    Attributes
    ----------
    config : Config
        The configuration, whose registers there are.
    port : str
        Port with the address: a pulse, or a stream, whose oldest packet without an answer counts.
        Empty: the packet that the field is in.
    field : str
        The packet's field with the address.
    step : int
        Bytes that the address counts.
    after : int
        Cycles from a pulse with the address to the field; of no meaning for a stream.
    """

    config: Config
    port: str
    field: str
    step: int
    after: int = 0

    def find(self, address: int) -> Word | None:
        """Return the word at an address; None outside the map."""
        byte = address * self.step & ~3
        section, offset = divmod(byte - SECTION_BASE, SECTION_BYTES)
        if 0 <= section < self.config.sections:
            return _section_words(self.config).get(offset)
        if place := find_template(self.config, byte):
            return _template_words(self.config)[place[2]]
        return _register_words(self.config).get(byte)


@lru_cache(maxsize=8)
def _section_words(config: Config) -> dict[int, Word]:
    """Return a section's words by their offset; T0 with its fields, the same in every command."""
    words = {word.name: word for word in section_words(config)}
    words["T0"] = dataclasses.replace(words["T0"], fields=command_words(config).fields)
    return {word.offset: word for word in words.values()}


@lru_cache(maxsize=8)
def _template_words(config: Config) -> dict[int, Word]:
    """Return a template's words by their number."""
    layout = template_words(config)
    return {
        number: Word(f"T{number}", 4 * number, "wo", "a template's word", layout.in_word(number))
        for number in template_numbers(config)
    }


@lru_cache(maxsize=8)
def _register_words(config: Config) -> dict[int, Word]:
    return {word.offset: word for word in registers(config)}


def _value_word(name: str, offset: int, access: str, meaning: str, width: int = WORD_BITS) -> Word:
    """Return a register that is one number."""
    return Word(name, offset, access, meaning, (bits("value", 0, width, meaning),))


def _interrupt_words(meanings: Mapping[IntEnum, str]) -> tuple[Word, ...]:
    """Return IRQ_ENABLE and IRQ_STATUS: a bit for each event; the first one is a level."""
    flags = tuple(bits(event.name.lower(), int(event), 1, text) for event, text in meanings.items())
    status = "events that happened; bit 0 is a level"
    return (
        Word("IRQ_ENABLE", 0x020, "rw", "which bits of IRQ_STATUS raise `irq`", flags),
        Word("IRQ_STATUS", 0x024, "w1c", status, flags, acts=True, read_only=("records",)),
    )


def _oldest(layout: WordLayout) -> tuple[Word, ...]:
    """Return RECORD0 and so on: the words of the oldest record."""
    return tuple(
        Word(
            f"RECORD{k}",
            0x040 + 4 * k,
            "ro",
            f"word {k} of the oldest record; 0 if there is none",
            tuple(bits(f.name, f.low, f.bits, f.meaning, f.names) for f in layout.in_word(k)),
        )
        for k in range(layout.words)
    )


def _identification(config: Config) -> tuple[Word, ...]:
    fields = [field for field, _ in params(config)]
    return (
        _value_word("ID", 0x000, "ro", "0x57415250, 'WARP'"),
        Word(
            "VERSION",
            0x004,
            "ro",
            "version of this map",
            (
                bits("minor", 0, 16, "additions to the map"),
                bits("major", 16, 16, "another one is another map"),
            ),
        ),
        _value_word("CONFIG_CRC", 0x008, "ro", "CRC-32 of the configuration's text"),
        *(
            Word(
                f"PARAMS{k}",
                offset,
                "ro",
                "numbers of the configuration",
                tuple(bits(f.name, f.low, f.bits, f.meaning) for f in fields if f.word == k),
            )
            for k, offset in enumerate((0x00C, 0x010, 0x014, 0x06C))
        ),
    )


def _control() -> tuple[Word, ...]:
    reset = bits("soft_reset", 0, 1, "1: begin a soft reset")
    running = bits("resetting", 0, 1, "1: a soft reset is running")
    epoch = bits("epoch", 16, 16, "soft resets that are over; wraps")
    return (
        Word("CONTROL", 0x018, "wo", "starts a soft reset", (reset,), acts=True),
        Word("STATE", 0x01C, "ro", "soft reset and epoch", (running, epoch)),
        *_interrupt_words(_INTERRUPTS),
        _value_word("IRQ_THRESHOLD", 0x028, "rw", "records that raise bit 0 of IRQ_STATUS", 16),
        _value_word("LAUNCH_TIMEOUT", 0x02C, "rw", "cycles of one residence; 0: no limit"),
        _value_word(
            "IRQ_TIMEOUT", 0x03C, "rw", "cycles after which any record interrupts; 0: never"
        ),
        _value_word("CLOCK_LOW", 0x148, "ro", "low half of the clock"),
        _value_word("CLOCK_HIGH", 0x14C, "ro", "high half of the clock"),
    )


def _records(config: Config) -> tuple[Word, ...]:
    pop = bits("pop", 0, 1, "1: forget the oldest record")
    rooms = 1 << config.priority_bits
    room = bits("room", 0, rooms, "bit p: a launch of priority p rung now finds room")
    return (
        _value_word("RECORDS", 0x030, "ro", "final records that wait", 16),
        Word("RECORD_POP", 0x034, "wo", "forgets the oldest record", (pop,), acts=True),
        Word("ROOM", 0x038, "ro", "which priorities take a launch", (room,)),
        *_oldest(final_record_words(config)),
    )


def _errors() -> tuple[Word, ...]:
    return (
        _value_word("REFUSED", 0x060, "ro", "accesses that were refused; wraps"),
        Word(
            "ERROR_LAST",
            0x064,
            "ro",
            "the last error record",
            (
                bits("code", 0, 8, "its code", AnyCode),
                bits(
                    "block",
                    8,
                    8,
                    "1 the dispatcher, 2 the index generator; 0: none yet",
                    ErrorBlock,
                ),
                bits("argument", 16, 16, "argument of the code"),
            ),
        ),
        _value_word("ERROR_COUNT", 0x068, "ro", "error records; wraps"),
    )


def _streams_and_units(config: Config) -> tuple[Word, ...]:
    stream = bits("stream", 0, 8, "the stream")
    units = config.units
    first = bits("first", 0, 8, "one position")
    second = bits("second", 8, 8, "the other position")
    swap = Word("ORDER_SWAP", 0x074, "wo", "swaps two SMs' turns", (first, second), acts=True)
    loops = bits("sections", 0, config.sections, "bit s: stop the loop of section s")
    stop = Word("LOOP_STOP", 0x150, "wo", "stops loops", (loops,), acts=True)
    return (
        *((stop,) if config.has_loops else ()),
        Word("CLEAR_STREAM", 0x070, "wo", "clears a broken stream", (stream,), acts=True),
        *((swap,) if config.has_order_table else ()),
        Word(
            "UNIT_RESET",
            0x078,
            "wo",
            "bit k: reset unit k",
            (bits("units", 0, units, "bit k: reset unit k"),),
            acts=True,
        ),
        Word(
            "UNIT_STATE",
            0x07C,
            "ro",
            "a bit for each unit",
            (
                bits("busy", 0, units, "a task runs"),
                bits("disconnected", 8, units, "the section runs no commands"),
                bits("missing", 16, units, "a core has not answered since a time-out"),
            ),
        ),
    )


def _sms(config: Config) -> tuple[Word, ...]:
    """Return the masks with a bit for each SM: SM n stands in bit n mod 32 of word n / 32."""
    words = []
    for k in range(-(-config.sms // WORD_BITS)):
        here = bits("sms", 0, min(WORD_BITS, config.sms - WORD_BITS * k), f"SM {WORD_BITS * k} on")
        words += [
            Word(f"SM_ENABLE{k}", 0x080 + 4 * k, "rw", "1: the SM gets blocks", (here,)),
            Word(f"SM_LOST{k}", 0x0C0 + 4 * k, "ro", "1: the SM is lost", (here,)),
        ]
    return tuple(words)


def _counters(config: Config) -> tuple[Word, ...]:
    return (
        *(
            _value_word(
                f"STALL_{cause.upper()}", 0x100 + 4 * k, "ro", f"cycles stalled for {cause}; wraps"
            )
            for k, cause in enumerate(STALL_CAUSES)
        ),
        _value_word(
            "DISPATCHER_ERRORS", 0x140, "ro", "error records; stays at its highest value", 16
        ),
        *(
            (
                _value_word(
                    "INDEX_ERRORS", 0x144, "ro", "error records; stays at its highest value", 16
                ),
            )
            if config.makes_indices
            else ()
        ),
        *(
            _value_word(
                f"STRAYS{k}",
                0x180 + 4 * k,
                "ro",
                f"arrivals at unit {k} without a part; stays at its highest value",
                16,
            )
            for k in range(config.units)
        ),
    )
