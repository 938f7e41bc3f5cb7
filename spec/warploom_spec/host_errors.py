"""Codes that the mailbox and its units answer with, their causes and cures."""

from enum import IntEnum
from typing import Final

HOST_CODE_BITS: Final = 8


class HostError(IntEnum):
    """Codes in a section's ERROR word; 0 is 'no error', 48 to 79 are the mailbox's own.

    No number has another meaning in ``ErrorCode``.
    """

    OK = 0
    BAD_OPCODE = 48
    NO_UNIT = 49
    DISCONNECTED = 50
    CORE_MISSING = 51
    BAD_SPLIT = 52
    CORE_FAILED = 53
    CORE_TIMEOUT = 54
    RESET = 55
    FIELD_RANGE = 56
    NO_LOOP = 57
    TEMPLATE_BUSY = 58
    LAUNCH_FAILED = 59
    LOOP_STOPPED = 60


#: For each code: (cause, cure).
HOST_EXPLANATIONS: Final[dict[HostError, tuple[str, str]]] = {
    HostError.OK: ("no error", "nothing to do"),
    HostError.BAD_OPCODE: (
        "the mailbox does not know the command's opcode",
        "use an opcode of the mailbox's page",
    ),
    HostError.NO_UNIT: (
        "RUN or DISCONNECT in a section that has no execution unit",
        "use a section below the number of units",
    ),
    HostError.DISCONNECTED: (
        "the section was disconnected; the command was not run",
        "run it elsewhere, or reset the unit",
    ),
    HostError.CORE_MISSING: (
        "a core of the unit has not answered since an earlier task's time-out",
        "wait for it, or reset the unit",
    ),
    HostError.BAD_SPLIT: (
        "the command has more parts than the unit has cores for",
        "split the task into fewer parts",
    ),
    HostError.CORE_FAILED: (
        "a core reported a failure (core: the first one; argument: its own code)",
        "look at what the code means to the program",
    ),
    HostError.CORE_TIMEOUT: (
        "a core did not arrive in time (core: the lowest such)",
        "the task is perhaps partly run: repeat it only if that does no harm",
    ),
    HostError.RESET: (
        "a soft reset, or a reset of the unit, met the command",
        "a task is perhaps partly run: repeat it only if that does no harm",
    ),
    HostError.FIELD_RANGE: (
        "a mask is 0, or this configuration does not have a value of the task register"
        " (argument: its word)",
        "use a value that exists, or build with more bits for it",
    ),
    HostError.NO_LOOP: (
        "LOOP in a section that cannot loop",
        "use one of the last sections, as many as `loop_sections`",
    ),
    HostError.TEMPLATE_BUSY: (
        "another loop uses a slot of the LOOP (argument: the slot); nothing was launched",
        "wait until that loop has ended, or use other slots",
    ),
    HostError.LAUNCH_FAILED: (
        "a launch of the loop ended other than finished",
        "look at that launch's record; RESULT3 says how many launches were accepted",
    ),
    HostError.LOOP_STOPPED: (
        "LOOP_STOP stopped the loop",
        "nothing to do: RESULT3 says how many launches were accepted",
    ),
}
