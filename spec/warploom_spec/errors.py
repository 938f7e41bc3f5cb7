"""Error codes with their cause and cure, and the exception that our tools raise."""

from enum import IntEnum
from typing import Final


class WarploomError(ValueError):
    """A refusal with a message for the user: names the field, its value and the legal range."""


class Fate(IntEnum):
    """What became of a launch, as its final record says."""

    FINISHED = 0
    KILLED = 1
    DRAINED = 2
    SKIPPED = 3
    FAILED = 4
    ABORTED = 5


class BlockStatus(IntEnum):
    """How a block ended, as its SM reports it."""

    OK = 0
    FAULT = 1
    KILLED = 2

    @classmethod
    def of(cls, number: int) -> "BlockStatus":
        """Return the status that a report's number stands for: one without a name is a fault."""
        return cls(number) if number in list(cls) else cls.FAULT


class ErrorCode(IntEnum):
    """Codes of refusals, failed launches and error records; 0 is 'no error'.

    Eight bits: 0 to 31 launches and dispatch, 32 to 47 merged kernels and queues, 48 to 79 mailbox,
    units and loops, 80 to 95 the host port. 22 is not used.
    """

    OK = 0
    GRID_ZERO = 1
    GRID_RANGE = 2
    BLOCK_ZERO = 3
    BLOCK_RANGE = 4
    THREADS = 5
    INDEX_BITS = 6
    INDEX_REGION = 7
    BLOCK_WARPS = 8
    BLOCK_REGISTERS = 9
    BLOCK_SHARED = 10
    BLOCK_BARRIERS = 11
    TABLE_UNKNOWN = 12
    STREAM_PRIORITY = 13
    STREAM_BROKEN = 14
    NO_SM = 15
    COMPLETION_FULL = 16
    BLOCK_FAULT = 17
    SM_LOST = 18
    RELEASE_UNREFERENCED = 19
    REPORT_NOT_RUNNING = 20
    KILL_NOT_ASKED = 21
    LOST_SM_SIGNAL = 23
    STOP_UNKNOWN = 24
    ORDER_RANGE = 25
    ORDER_BUSY = 26
    QUEUE_FULL = 32


ERROR_CODE_BITS: Final = 8

#: For each code: (cause, cure).
EXPLANATIONS: Final[dict[ErrorCode, tuple[str, str]]] = {
    ErrorCode.OK: ("no error", "nothing to do"),
    ErrorCode.GRID_ZERO: (
        "a grid dimension is zero (argument: axis 0, 1 or 2)",
        "launch at least one block in each dimension",
    ),
    ErrorCode.GRID_RANGE: (
        "a grid dimension is above the configuration's limit (argument: axis)",
        "split the grid, or build with more grid bits",
    ),
    ErrorCode.BLOCK_ZERO: (
        "a block dimension is zero (argument: axis)",
        "give every block dimension at least 1",
    ),
    ErrorCode.BLOCK_RANGE: (
        "a block dimension is above its limit (argument: axis)",
        "make the block smaller in that dimension",
    ),
    ErrorCode.THREADS: (
        "the block has more threads than the configuration allows",
        "make the block smaller",
    ),
    ErrorCode.INDEX_BITS: (
        "the three index widths do not fit one index word (argument: bits needed)",
        "choose a shape with fewer index bits, or a wider index word",
    ),
    ErrorCode.INDEX_REGION: (
        "index address plus warps passes the end of the index memory",
        "choose a lower index address",
    ),
    ErrorCode.BLOCK_WARPS: (
        "one block needs more warps than an SM has",
        "make the block smaller",
    ),
    ErrorCode.BLOCK_REGISTERS: (
        "one block needs more register units than an SM has",
        "use fewer registers a thread or fewer threads",
    ),
    ErrorCode.BLOCK_SHARED: (
        "one block needs more shared memory than an SM has",
        "use less shared memory a block",
    ),
    ErrorCode.BLOCK_BARRIERS: (
        "one block needs more barriers than a block may have",
        "use fewer barriers",
    ),
    ErrorCode.TABLE_UNKNOWN: (
        "the launch names a mapping table that does not exist (argument: handle)",
        "give handle 0: mapping tables are not in hardware",
    ),
    ErrorCode.STREAM_PRIORITY: (
        "the stream has unfinished launches of another priority",
        "wait until the stream is empty, or use another stream",
    ),
    ErrorCode.STREAM_BROKEN: (
        "an earlier launch of the stream was lost with an SM",
        "clear the stream, then launch again",
    ),
    ErrorCode.NO_SM: ("every SM is lost", "reset the device"),
    ErrorCode.COMPLETION_FULL: (
        "no entry is left for the final record",
        "read finished records, then try again",
    ),
    ErrorCode.BLOCK_FAULT: (
        "a block of the launch reported a fault",
        "look at the SM's own fault report",
    ),
    ErrorCode.SM_LOST: (
        "an SM with a block of the launch did not report a killed launch's blocks in time",
        "reset the device; do not trust what the launch wrote",
    ),
    ErrorCode.RELEASE_UNREFERENCED: (
        "a history entry without references was released (argument: entry)",
        "release once for each acceptance",
    ),
    ErrorCode.REPORT_NOT_RUNNING: (
        "an SM reported a block that was not running (argument: SM)",
        "report each taken offer once",
    ),
    ErrorCode.KILL_NOT_ASKED: (
        "an SM reported a block as killed whose place was not being killed (argument: SM)",
        "report `killed` only in cycles with the place's `kill` bit at 1",
    ),
    ErrorCode.LOST_SM_SIGNAL: (
        "a lost SM sent a report (argument: SM)",
        "reset the device",
    ),
    ErrorCode.STOP_UNKNOWN: (
        "a stop named a ticket that neither waits nor has a place in the dispatcher",
        "nothing to do: the launch has already ended",
    ),
    ErrorCode.ORDER_RANGE: (
        "an order-table swap named a position that does not exist (argument: the first such)",
        "use positions below the number of SMs",
    ),
    ErrorCode.ORDER_BUSY: (
        "the order table was written while a launch was resident",
        "write it while nothing is resident",
    ),
    ErrorCode.QUEUE_FULL: (
        "all entries of the launch's priority are taken",
        "send launches only while `room` (its priority's bit) is 1, or try again",
    ),
}
