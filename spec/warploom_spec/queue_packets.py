"""Packets and constants of the launch queue and of LaunchPath."""

from enum import IntEnum
from typing import Final

from warploom_spec import layouts
from warploom_spec.codes import AnyCode
from warploom_spec.config import Config
from warploom_spec.errors import ERROR_CODE_BITS
from warploom_spec.layouts import ARGUMENT_BITS, CYCLES_BITS, FATE_BITS, TICKET_BITS
from warploom_spec.packet import Field, Packet
from warploom_spec.queue import FinalFate, QueueCode, RecordKind
from warploom_spec.word_layout import WordField, WordLayout

#: Kills after which a launch is drained.
MAX_KILLS: Final = 4
#: A launch's count as host and launch carry it; counts and timelines have ``COUNT_BITS`` inside.
WAIT_BITS: Final = 16
COUNT_BITS: Final = 32
#: Bits of a record's kind, of its stream and of its count of kills.
RECORD_KIND_BITS: Final = 3
RECORD_STREAM_BITS: Final = 6
KILLS_BITS: Final = 3
#: The word of LAUNCH that holds pair 0: the argument of ``WAIT_AHEAD``.
FIRST_WAIT_WORD: Final = 28
#: Code of a launch that waits for one that was not accepted yet.
WAIT_AHEAD: Final = int(QueueCode.WAIT_AHEAD)
#: A launch's mode as the queue takes it, and the word of LAUNCH that holds it: the argument of
#: ``FIELD_RANGE`` for a mode that does not exist.
QUEUE_MODE_BITS: Final = 3
MODE_WORD: Final = 10
#: Words of a final record.
FINAL_RECORD_WORDS: Final = 8


class QueueOpcode(IntEnum):
    """What a command asks; 3 counts as ``ABORT_STREAMS``."""

    PREEMPT = 0
    RESUME = 1
    ABORT_STREAMS = 2


def _valid() -> Field:
    return Field("valid", 1, "1 for one cycle")


def _waits(config: Config) -> tuple[Field, ...]:
    fields: list[Field] = []
    for k in range(config.launch_waits):
        fields += [
            Field(f"wait{k}_valid", 1, f"1: pair {k} counts"),
            Field(f"wait{k}_stream", config.stream_bits, f"stream that pair {k} waits for"),
            Field(f"wait{k}_count", WAIT_BITS, f"count that pair {k} waits for, low bits"),
        ]
        if config.has_loops:
            meaning = f"1: pair {k} waits for the launch that is so many before the latest"
            fields.append(Field(f"wait{k}_relative", 1, meaning))
    return tuple(fields)


def _of_loops(config: Config) -> tuple[Field, ...]:
    """Return what a launch carries where there are loops."""
    if not config.has_loops:
        return ()
    return (
        Field("loop", config.loop_sections.bit_length(), "0, or its loop's number + 1"),
        Field("quiet", 1, "1: leaves a record only if it does not finish"),
    )


def _with_mode(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields with a mode of ``QUEUE_MODE_BITS``."""
    return tuple(
        Field(field.name, QUEUE_MODE_BITS, field.meaning) if field.name == "mode" else field
        for field in fields
    )


def queued_launch(config: Config) -> Packet:
    """One kernel launch as the host gives it, with all modes and its waits."""
    descriptor = _with_mode(layouts.launch_descriptor(config).fields)
    return Packet("queued_launch", (*descriptor, *_waits(config), *_of_loops(config)))


def queue_launch(config: Config) -> Packet:
    """A pulse: a launch leaves LaunchCheck in this cycle, with its waits."""
    checked = _with_mode(layouts.checked_launch(config).fields)
    beside = (*_waits(config), *_of_loops(config))
    return Packet("queue_launch", (_valid(), *checked, *beside))


def queue_answer(config: Config) -> Packet:
    """A pulse: ticket or refusal of a launch."""
    del config
    return Packet(
        "queue_answer",
        (
            _valid(),
            Field("ticket", TICKET_BITS, "ticket, 0 if refused"),
            Field("code", ERROR_CODE_BITS, "0, or why it was refused", AnyCode),
            Field("argument", ARGUMENT_BITS, "argument of the code"),
            Field("count", WAIT_BITS, "low bits of the launch's number in its stream, or 0"),
        ),
    )


def queue_command(config: Config) -> Packet:
    """A pulse: a command for a mask of streams."""
    return Packet(
        "queue_command",
        (
            _valid(),
            Field("opcode", 2, "0 PREEMPT, 1 RESUME, 2 and 3 ABORT_STREAMS"),
            Field("mask", 1 << config.stream_bits, "bit s: stream s"),
        ),
    )


def queue_code(config: Config) -> Packet:
    """A pulse: the answer to a command or to an abort."""
    del config
    return Packet(
        "queue_code", (_valid(), Field("code", ERROR_CODE_BITS, "0, or why not", AnyCode))
    )


def queue_stream(config: Config) -> Packet:
    """A pulse that names a stream."""
    return Packet("queue_stream", (_valid(), Field("stream", config.stream_bits, "stream")))


def launch_abort(config: Config) -> Packet:
    """An abort of one launch."""
    del config
    return Packet("launch_abort", (Field("ticket", TICKET_BITS, "ticket"),))


def final_record(config: Config) -> Packet:
    """A pulse: a final record."""
    del config
    return Packet(
        "final_record",
        (
            _valid(),
            Field("ticket", TICKET_BITS, "ticket, 0 of a PREEMPT"),
            Field("code", ERROR_CODE_BITS, "0, or the reason of the failure", AnyCode),
            Field("fate", FATE_BITS, "0 finished, 1 aborted, 2 failed", FinalFate),
            Field("kind", RECORD_KIND_BITS, "0 a launch, 2 a PREEMPT", RecordKind),
            Field("kills", KILLS_BITS, "how often it was killed"),
            Field("reset_as_drain", 1, "1: a reset was treated as a drain"),
            Field("stream", RECORD_STREAM_BITS, "stream"),
            Field("offered", 1, "1: a block was offered in its last run"),
            Field("word2", CYCLES_BITS, "cycles; of a PREEMPT launches finished"),
            Field("word3", 32, "0; of a PREEMPT killed [15:0], drained [31:16]"),
            Field("word4", 32, "0; of a PREEMPT launches skipped"),
            Field("accepted", 32, "clock when it was accepted"),
            Field("first_offer", 32, "clock at the first offer of its last run"),
            Field("made", 32, "clock when this record was made"),
        ),
    )


def final_record_words(config: Config) -> WordLayout:
    """The words in which a host reads a final record; fields have the packet's names.

    Where there are loops word 3 of a launch's record has the launch's number in its stream, its low
    bits, where a PREEMPT's has the launches killed.
    """
    numbered = {"word3": _NUMBERED} if config.has_loops else {}
    return WordLayout(
        "final_record",
        FINAL_RECORD_WORDS,
        tuple(
            WordField(
                field.name,
                *_RECORD_BITS[field.name],
                field.bits,
                numbered.get(field.name, field.meaning),
                field.names,
            )
            for field in final_record(config).fields
            if field.name in _RECORD_BITS
        ),
    )


_NUMBERED: Final = "launch's number [15:0]; of a PREEMPT killed [15:0], drained [31:16]"
#: Word and lowest bit of each field of a final record.
_RECORD_BITS: Final = {
    "ticket": (0, 0),
    "code": (1, 0),
    "fate": (1, 8),
    "kind": (1, 11),
    "kills": (1, 14),
    "reset_as_drain": (1, 17),
    "stream": (1, 18),
    "offered": (1, 24),
    "word2": (2, 0),
    "word3": (3, 0),
    "word4": (4, 0),
    "accepted": (5, 0),
    "first_offer": (6, 0),
    "made": (7, 0),
}


def timeline_step(config: Config) -> Packet:
    """A pulse: a stream's timeline has changed."""
    return Packet(
        "timeline_step",
        (
            _valid(),
            Field("stream", config.stream_bits, "stream"),
            Field("count", COUNT_BITS, "its new timeline"),
        ),
    )
