"""What the kernel queue and its users share: modes, commands' codes, final records."""

from enum import IntEnum
from typing import Final

PRIORITIES: Final = 4


class Mode(IntEnum):
    """How a started launch makes way for an urgent one, or when its stream is preempted."""

    AUTO = 0
    RESET = 1
    DRAIN = 2
    WAIT = 3
    YIELD = 4


class FinalFate(IntEnum):
    """What became of a launch in the end, as its one final record says."""

    FINISHED = 0
    ABORTED = 1
    FAILED = 2


class RecordKind(IntEnum):
    """What a final record speaks of."""

    LAUNCH = 0
    LOOP = 1
    PREEMPT = 2


class QueueCode(IntEnum):
    """Codes of refusals and failures that the kernel queue adds to ``ErrorCode``."""

    TIMEOUT = 27
    WAIT_AHEAD = 29
    TICKET_UNKNOWN = 45
    PREEMPT_PENDING = 46
    NOT_PREEMPTED = 47


#: For each code: (cause, cure).
QUEUE_EXPLANATIONS: Final[dict[QueueCode, tuple[str, str]]] = {
    QueueCode.WAIT_AHEAD: (
        "a launch waits for one that was not accepted yet (argument: word of the pair)",
        "launch what is awaited first; count a stream's launches from its answers",
    ),
    QueueCode.TICKET_UNKNOWN: (
        "an abort named a ticket that no unfinished launch has",
        "nothing to do: the launch has already ended",
    ),
    QueueCode.PREEMPT_PENDING: (
        "an earlier PREEMPT, of whatever streams, has no record yet",
        "wait for its record, then try again",
    ),
    QueueCode.NOT_PREEMPTED: (
        "a RESUME named only streams that no PREEMPT holds",
        "nothing to do: the streams run",
    ),
    QueueCode.TIMEOUT: (
        "the launch ran longer than `launch_timeout` in one residence",
        "look for an endless loop, or allow more cycles",
    ),
}
