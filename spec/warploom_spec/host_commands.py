"""What a host writes into a task register, command by command."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from warploom_spec.config import BLOCK_FIELD_BITS, Config
from warploom_spec.errors import WarploomError
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import FIRST_WAIT_WORD, MODE_WORD, QUEUE_MODE_BITS, WAIT_BITS
from warploom_spec.resources import SM_RESOURCES
from warploom_spec.word_layout import WORD_BITS, WordField, WordLayout

#: Words of a task register; a launch's inline argument words begin at T12.
TASK_WORDS: Final = 32
INLINE_WORD: Final = 12
#: The field of LAUNCH that no packet has where there are no loops: 1 is refused.
RESERVED_FIELD: Final = "reserved"
#: Flag 4 + k of LAUNCH: pair k is relative.
FIRST_RELATIVE_FLAG: Final = 4
#: A template's word that says which fields change, and how many fields that may be: gx; gy and gz;
#: arguments; each inline word.
STEP_WORD: Final = 11
STEP_FIELDS: Final = 11
#: Pairs that the task register has words for, in every configuration.
WAIT_WORDS: Final = 4


class Opcode(IntEnum):
    """Commands, in the lowest eight bits of the task register's word 0."""

    NOP = 0
    RUN = 1
    LAUNCH = 2
    LOOP = 4
    PREEMPT = 5
    RESUME = 6
    ABORT = 7
    DISCONNECT = 8
    ABORT_STREAMS = 13


#: Flag of RUN, bit 8 of word 0: the primary core takes no part itself.
FLAG_SKIP_PRIMARY: Final = 1

_FLAGS: Final = "RUN, 0: primary takes no part; LAUNCH, k: pair k counts, 4 + k: relative"

_HEAD: Final = (
    WordField("opcode", 0, 0, 8, "the command", Opcode),
    WordField("flags", 0, 8, 8, _FLAGS),
    WordField("parameter", 0, 16, 16, "not used by these commands"),
)


def command_words(config: Config) -> WordLayout:
    """Word 0 of every command; NOP and DISCONNECT need no other."""
    del config
    return WordLayout("command", TASK_WORDS, _HEAD)


def run_words(config: Config) -> WordLayout:
    """A task for the section's execution unit."""
    del config
    return WordLayout(
        "run",
        TASK_WORDS,
        (
            *_HEAD,
            WordField("first", 1, 0, 32, "first element of part 0"),
            WordField("parts", 2, 0, 8, "parts"),
            WordField("larger", 2, 8, 8, "how many of them have one element more"),
            WordField("small", 3, 0, 32, "elements of a small part"),
            WordField("code", 4, 0, 64, "code pointer"),
            WordField("arguments", 6, 0, 64, "argument pointer"),
        ),
    )


def launch_words(config: Config) -> WordLayout:
    """A kernel launch. Its fields are those of the packet ``queued_launch``, and `RESERVED_FIELD`.

    Fields have one width in all configurations, so that what is too large for one is refused. Pair
    k, of ``WAIT_WORDS``, counts if flag k is 1. ``quiet`` stands in place of `RESERVED_FIELD` where
    there are loops.
    """
    return WordLayout("launch", TASK_WORDS, (*_HEAD, *_launch_fields(config)))


def _launch_fields(config: Config) -> tuple[WordField, ...]:
    """Return the fields of a launch behind word 0."""
    dx, dy, dz = BLOCK_FIELD_BITS
    quiet = WordField("quiet", 5, 28, 1, "1: leaves a record only if it does not finish")
    return (
        WordField("code", 1, 0, 64, "code pointer"),
        WordField("arguments", 3, 0, 64, "argument pointer"),
        WordField("address_space", 5, 0, 16, "address-space id"),
        WordField("stream", 5, 16, 8, "stream"),
        WordField("priority", 5, 24, 4, "priority, 0 is the lowest"),
        quiet if config.has_loops else WordField(RESERVED_FIELD, 5, 28, 1, "must be 0"),
        WordField("idempotent", 5, 29, 1, "1: may be killed and run again"),
        WordField("gx", 6, 0, 32, "blocks of the grid in x"),
        WordField("gy", 7, 0, 16, "blocks of the grid in y"),
        WordField("gz", 7, 16, 16, "blocks of the grid in z"),
        WordField("dx", 8, 0, dx, "threads of the block in x"),
        WordField("dy", 8, 11, dy, "threads of the block in y"),
        WordField("dz", 8, 22, dz, "threads of the block in z"),
        WordField("index_address", 9, 0, 16, "first warp of its packed indices"),
        WordField("table", 9, 16, 3, "0, or the handle of a mapping table"),
        *(
            WordField(r.field.name, r.field.word, r.field.low, r.field.bits, r.meaning)
            for r in SM_RESOURCES
            if r.field
        ),
        *(
            WordField(f"inline{k}", INLINE_WORD + 2 * k, 0, 64, f"argument word {k}")
            for k in range(config.inline_args)
        ),
        WordField("mode", MODE_WORD, 21, QUEUE_MODE_BITS, "preemption mode", Mode),
        *(field for k in range(WAIT_WORDS) for field in _pair(k)),
    )


def _pair(number: int) -> tuple[WordField, ...]:
    """Return the fields of a pair that a launch waits for."""
    word, name = FIRST_WAIT_WORD + number, f"wait{number}"
    return (
        WordField(f"{name}_stream", word, 8, 8, f"stream that pair {number} waits for"),
        WordField(f"{name}_count", word, 16, WAIT_BITS, f"count of pair {number}, low bits"),
    )


def loop_words(config: Config) -> WordLayout:
    """A loop over launch templates."""
    del config
    return WordLayout(
        "loop",
        TASK_WORDS,
        (
            *_HEAD,
            WordField("count", 1, 0, 32, "iterations"),
            WordField("first_slot", 2, 0, 8, "first slot"),
            WordField("last_slot", 2, 8, 8, "last slot; slots wrap"),
            WordField("in_flight", 2, 16, 8, "launches that may be unfinished at a time; 0: 4"),
        ),
    )


def template_words(config: Config) -> WordLayout:
    """The first half of a template: a launch, and which of its fields change.

    Field 0 is gx, field 1 is gy and gz, field 2 is ``arguments``, field 3 + k is inline word k. The
    second half has the same words: what the fields step by, or their other values.
    """
    change = WordField("changes", STEP_WORD, 0, STEP_FIELDS, "bit f: field f changes")
    other = WordField("alternates", STEP_WORD, 16, STEP_FIELDS, "bit f: it alternates")
    return WordLayout("template", TASK_WORDS, (*_HEAD, *_launch_fields(config), change, other))


def mask_words(config: Config) -> WordLayout:
    """PREEMPT, RESUME and ABORT_STREAMS: a mask of streams."""
    del config
    mask = WordField("mask", 1, 0, WORD_BITS, "bit s: stream s")
    return WordLayout("mask", TASK_WORDS, (*_HEAD, mask))


def abort_words(config: Config) -> WordLayout:
    """An abort of one launch."""
    del config
    ticket = WordField("ticket", 1, 0, 32, "the launch's ticket")
    return WordLayout("abort", TASK_WORDS, (*_HEAD, ticket))


@dataclass(frozen=True, kw_only=True)
class Command:
    """What a command needs, and what the drivers call it.

    Attributes
    ----------
    words : function or None
        Layout of its words for a configuration; None: word 0 says all.
    call : str
        The drivers have the call ``submit_<call>``; empty: they have none.
    for_unit : bool
        Whether the section must have an execution unit.
    for_launch_path : bool
        Whether it goes to the launch path: a mailbox without one does not know the command.
    for_loops : bool
        Whether only a configuration with loops knows it.
    """

    words: Callable[[Config], WordLayout] | None = None
    call: str = ""
    for_unit: bool = False
    for_launch_path: bool = False
    for_loops: bool = False


#: Every command. What a mailbox does with it stands in the mailbox, in RTL and model.
COMMAND_TABLE: Final = {
    Opcode.NOP: Command(),
    Opcode.RUN: Command(words=run_words, call="task", for_unit=True),
    Opcode.LAUNCH: Command(words=launch_words, call="launch", for_launch_path=True),
    Opcode.LOOP: Command(words=loop_words, call="loop", for_launch_path=True, for_loops=True),
    Opcode.PREEMPT: Command(words=mask_words, call="preempt", for_launch_path=True),
    Opcode.RESUME: Command(words=mask_words, call="resume", for_launch_path=True),
    Opcode.ABORT: Command(words=abort_words, call="abort", for_launch_path=True),
    Opcode.DISCONNECT: Command(call="disconnect", for_unit=True),
    Opcode.ABORT_STREAMS: Command(words=mask_words, call="abort_streams", for_launch_path=True),
}


def check_commands() -> None:
    """Demand that every opcode is in `COMMAND_TABLE`.

    Raises
    ------
    WarploomError
        Names the opcode, the table and its file.
    """
    for opcode in Opcode:
        if opcode not in COMMAND_TABLE:
            raise WarploomError(
                f"opcode {opcode.name} is not in COMMAND_TABLE"
                " (spec/warploom_spec/host_commands.py)"
            )


check_commands()
#: Layouts of the commands that need more than word 0.
COMMANDS: Final = {opcode: c.words for opcode, c in COMMAND_TABLE.items() if c.words}
#: Each of these layouts once.
LAYOUTS: Final = tuple(dict.fromkeys(COMMANDS.values()))
#: Commands that need an execution unit in their section, and commands that need a launch path.
UNIT_COMMANDS: Final = tuple(o for o, c in COMMAND_TABLE.items() if c.for_unit)
LAUNCH_COMMANDS: Final = tuple(o for o, c in COMMAND_TABLE.items() if c.for_launch_path)
#: Commands for a mask of streams.
STREAM_COMMANDS: Final = tuple(o for o, c in COMMAND_TABLE.items() if c.words is mask_words)


def known_commands(config: Config) -> tuple[Opcode, ...]:
    """Return the commands that a configuration knows: without loops there is no LOOP."""
    return tuple(o for o, c in COMMAND_TABLE.items() if config.has_loops or not c.for_loops)


def command_layouts(config: Config) -> tuple[WordLayout, ...]:
    """Return the layouts of the commands that a configuration knows, each once."""
    known = known_commands(config)
    makes = dict.fromkeys(make for opcode, make in COMMANDS.items() if opcode in known)
    return tuple(make(config) for make in makes)
