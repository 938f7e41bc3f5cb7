"""Version 2 of the host's map: what differs from version 1 (``docs/host/stream_queues.md``).

The registers and words of version 1 stand in `host_registers` and `host_commands`.
"""

import dataclasses
from enum import IntEnum
from typing import Final

from warploom_spec import host_registers
from warploom_spec.config import Config
from warploom_spec.host_commands import TASK_WORDS, command_words, launch_words
from warploom_spec.host_map import SECTION_WORDS, Word, bits
from warploom_spec.host_registers import interrupt_words, record_registers, value_word
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import (
    FIRST_WAIT_WORD,
    MODE_WORD,
    MODE_YIELD,
    QUEUE_MODE_BITS,
    WAIT_BITS,
    final_record_words,
)
from warploom_spec.word_layout import WORD_BITS, WordField, WordLayout

#: VERSION: major [31:16], minor [15:0].
QUEUE_MAP_VERSION: Final = 0x0002_0000
#: Pairs that the task register has words for, in every configuration; flag k of word 0 is pair k's.
WAIT_WORDS: Final = 4
#: Lowest bit of the mode in its word; bits of a pair's stream and its lowest bit.
_MODE_LOW: Final = 21
_STREAM_LOW, _STREAM_BITS = 8, 8


class QueueHostOpcode(IntEnum):
    """Commands that version 2 adds."""

    PREEMPT = 5
    RESUME = 6
    ABORT_STREAMS = 13


class QueueMode(IntEnum):
    """How a started launch makes way: the values of a launch's mode."""

    AUTO = Mode.AUTO
    RESET = Mode.RESET
    DRAIN = Mode.DRAIN
    WAIT = Mode.WAIT
    YIELD = MODE_YIELD


class QueueInterrupt(IntEnum):
    """Bits of IRQ_ENABLE and IRQ_STATUS in version 2."""

    RECORDS = 0
    ERROR = 1
    SM_LOST = 2
    RESET_DONE = 3
    COMMAND_DONE = 4
    RESET_FORCED = 5


_INTERRUPTS: Final[dict[IntEnum, str]] = {
    QueueInterrupt.RECORDS: "RECORDS >= max(1, IRQ_THRESHOLD), or one for IRQ_TIMEOUT; a level",
    QueueInterrupt.ERROR: "a block gave an error record",
    QueueInterrupt.SM_LOST: "an SM was lost",
    QueueInterrupt.RESET_DONE: "a soft reset is over",
    QueueInterrupt.COMMAND_DONE: "a command has completed",
    QueueInterrupt.RESET_FORCED: "a soft reset was forced",
}


def queued_launch_words(config: Config) -> WordLayout:
    """A kernel launch: a mode of ``QUEUE_MODE_BITS``, and ``WAIT_WORDS`` pairs that it waits for.

    Pair k counts if flag k is 1. As in `launch_words` the widths are those of every configuration.
    """
    waits: list[WordField] = []
    for k in range(WAIT_WORDS):
        word, stream, count = FIRST_WAIT_WORD + k, f"wait{k}_stream", f"wait{k}_count"
        waits += [
            WordField(stream, word, _STREAM_LOW, _STREAM_BITS, f"stream that pair {k} waits for"),
            WordField(count, word, 16, WAIT_BITS, f"count that pair {k} waits for, low bits"),
        ]
    mode = WordField("mode", MODE_WORD, _MODE_LOW, QUEUE_MODE_BITS, "preemption mode")
    flags = "LAUNCH: bit k = 1: pair k counts"
    fields = (
        dataclasses.replace(field, meaning=flags) if field.name == "flags" else field
        for field in launch_words(config).fields
        if field.name != "mode"
    )
    return WordLayout("launch", TASK_WORDS, (*fields, mode, *waits))


def mask_words(config: Config) -> WordLayout:
    """PREEMPT, RESUME and ABORT_STREAMS: a mask of streams."""
    mask = WordField("mask", 1, 0, WORD_BITS, "bit s: stream s")
    return WordLayout("mask", TASK_WORDS, (*command_words(config).fields, mask))


def queued_section_words() -> tuple[Word, ...]:
    """Return a section's words: RESULT1 also has the launch's number in its stream."""
    count = bits("count", 16, WAIT_BITS, "number of a launch in its stream, low bits; 0: none")
    return tuple(
        dataclasses.replace(
            word, meaning="task number [7:0], launch's number [31:16]", fields=(*word.fields, count)
        )
        if word.name == "RESULT1"
        else word
        for word in SECTION_WORDS
    )


def queued_params(config: Config) -> tuple[tuple[WordField, int], ...]:
    """Return fields and values of PARAMS0 to PARAMS3; ``word`` is the register's number."""
    return (
        *host_registers.params(config),
        (WordField("queue_depth", 3, 0, 8, "places of each priority"), config.queue_depth),
        (
            WordField("priority_bits", 3, 8, 4, "priorities are numbered with so many bits"),
            config.priority_bits,
        ),
        (
            WordField("launch_waits", 3, 12, 4, "pairs that a launch may wait for"),
            config.launch_waits,
        ),
    )


def queued_registers(config: Config) -> tuple[Word, ...]:
    """Return every register of a configuration in version 2, by rising address."""
    new = (*_control(), *_records(config), *_numbers(config))
    names = {word.name for word in new}
    kept = (word for word in host_registers.registers(config) if word.name not in names)
    return tuple(sorted((*kept, *new), key=lambda word: word.offset))


def _control() -> tuple[Word, ...]:
    return (
        *interrupt_words(_INTERRUPTS),
        value_word("LAUNCH_TIMEOUT", 0x02C, "rw", "cycles of one residence; 0: no limit"),
        value_word(
            "IRQ_TIMEOUT", 0x03C, "rw", "cycles after which any record interrupts; 0: never"
        ),
        value_word("CLOCK_LOW", 0x148, "ro", "low half of the clock"),
        value_word("CLOCK_HIGH", 0x14C, "ro", "high half of the clock"),
    )


def _records(config: Config) -> tuple[Word, ...]:
    rooms = 1 << config.priority_bits
    room = bits("room", 0, rooms, "bit p: a launch of priority p rung now finds room")
    return (
        Word("ROOM", 0x038, "ro", "which priorities take a launch", (room,)),
        *record_registers(final_record_words(config)),
    )


def _numbers(config: Config) -> tuple[Word, ...]:
    fields = [field for field, _ in queued_params(config) if field.word == 3]
    here = tuple(bits(f.name, f.low, f.bits, f.meaning) for f in fields)
    return (Word("PARAMS3", 0x06C, "ro", "numbers of the configuration", here),)
