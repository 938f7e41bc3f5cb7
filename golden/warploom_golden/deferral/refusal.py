"""Why a group cannot become a LOOP: the back end then sends it call by call."""

from dataclasses import dataclass
from enum import Enum


class Reason(Enum):
    """Why a group cannot become templates and a LOOP."""

    #: A call launches no kernel of the store, and cannot become a pair that a launch waits for.
    NOT_A_LAUNCH = "NOT_A_LAUNCH"
    #: An iteration has more launches than the memory has slots.
    TEMPLATES = "TEMPLATES"
    #: An argument is the result of a call.
    RESULT = "RESULT"
    #: An argument is bytes: host memory, or a structure by value.
    BYTES = "BYTES"
    #: A field changes that a template cannot step.
    FIXED_FIELD = "FIXED_FIELD"
    #: A value leaves the bits of its field, or memory has no room for the parameter blocks.
    RANGE = "RANGE"


@dataclass(frozen=True)
class Refusal:
    """A group that cannot become a LOOP.

    Attributes
    ----------
    reason : Reason
        Why not.
    call : int
        Number of the call within the iteration that shows it; 0 if the whole group does.
    """

    reason: Reason
    call: int = 0


class RefusedGroupError(Exception):
    """Carries a `Refusal` to `to_commands`."""

    def __init__(self, reason: Reason, call: int = 0):
        super().__init__(f"{reason.value}, call {call}")
        self.refusal = Refusal(reason, call)
