"""What a host writes into a task register, command by command, and the record it reads back."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from warploom_spec.codes import AnyCode
from warploom_spec.config import BLOCK_FIELD_BITS, Config
from warploom_spec.errors import WarploomError
from warploom_spec.queue import FinalFate, RecordKind
from warploom_spec.resources import SM_RESOURCES
from warploom_spec.word_layout import WordField, WordLayout

#: Words of a task register; a launch's inline argument words begin at T12.
TASK_WORDS: Final = 32
INLINE_WORD: Final = 12
#: Words of a final record.
RECORD_WORDS: Final = 6


class Opcode(IntEnum):
    """Commands, in the lowest eight bits of the task register's word 0."""

    NOP = 0
    RUN = 1
    LAUNCH = 2
    ABORT = 7
    DISCONNECT = 8


#: Flag of RUN, bit 8 of word 0: the primary core takes no part itself.
FLAG_SKIP_PRIMARY: Final = 1

_HEAD: Final = (
    WordField("opcode", 0, 0, 8, "the command", Opcode),
    WordField("flags", 0, 8, 8, "RUN: bit 0 = 1: no part for the primary core"),
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
    """A kernel launch. Its fields are those of the packet ``launch_descriptor``.

    Fields have one width in all configurations, so that what is too large for one is refused.
    """
    dx, dy, dz = BLOCK_FIELD_BITS
    return WordLayout(
        "launch",
        TASK_WORDS,
        (
            *_HEAD,
            WordField("code", 1, 0, 64, "code pointer"),
            WordField("arguments", 3, 0, 64, "argument pointer"),
            WordField("address_space", 5, 0, 16, "address-space id"),
            WordField("stream", 5, 16, 8, "stream"),
            WordField("priority", 5, 24, 4, "priority, 0 is the lowest"),
            WordField("after_previous", 5, 28, 1, "1: after every earlier launch of its stream"),
            WordField("idempotent", 5, 29, 1, "1: may be killed and run again"),
            WordField("mode", 5, 30, 2, "preemption mode"),
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
        ),
    )


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
    """

    words: Callable[[Config], WordLayout] | None = None
    call: str = ""
    for_unit: bool = False
    for_launch_path: bool = False


#: Every command. What a mailbox does with it stands in the mailbox, in RTL and model.
COMMAND_TABLE: Final = {
    Opcode.NOP: Command(),
    Opcode.RUN: Command(words=run_words, call="task", for_unit=True),
    Opcode.LAUNCH: Command(words=launch_words, call="launch", for_launch_path=True),
    Opcode.ABORT: Command(words=abort_words, call="abort", for_launch_path=True),
    Opcode.DISCONNECT: Command(call="disconnect", for_unit=True),
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
#: Commands that need an execution unit in their section, and commands that need a launch path.
UNIT_COMMANDS: Final = tuple(o for o, c in COMMAND_TABLE.items() if c.for_unit)
LAUNCH_COMMANDS: Final = tuple(o for o, c in COMMAND_TABLE.items() if c.for_launch_path)


def record_words(config: Config) -> WordLayout:
    """The final record of a ticket, as RECORD0 to RECORD5 show it."""
    del config
    return WordLayout(
        "record",
        RECORD_WORDS,
        (
            WordField("ticket", 0, 0, 32, "ticket"),
            WordField("code", 1, 0, 8, "0, or the reason of the failure", AnyCode),
            WordField("fate", 1, 8, 3, "0 finished, 1 aborted, 2 failed", FinalFate),
            WordField("kind", 1, 11, 3, "0 launch", RecordKind),
            WordField("kills", 1, 14, 3, "how often a preemption killed it"),
            WordField("drained", 1, 17, 1, "1: mode reset was treated as drain"),
            WordField("cycles", 2, 0, 32, "first offer to last report"),
            *(WordField(f"detail{k}", 3 + k, 0, 32, "by kind; 0 of a launch") for k in range(3)),
        ),
    )
