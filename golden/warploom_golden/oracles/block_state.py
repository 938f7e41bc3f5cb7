"""The state of a block in a ledger, and a ledger's complaint."""

from enum import Enum, auto
from typing import assert_never

from warploom_spec.errors import BlockStatus


class LedgerError(AssertionError):
    """The ports break one of the ledger's rules."""


class State(Enum):
    """The state of an offered block; ``OPEN``: neither reported nor lost."""

    OPEN = auto()
    OK = auto()
    FAULT = auto()
    KILLED = auto()


def reported_state(status: BlockStatus, killed: bool) -> State:
    """Return the state of a block after its report; ``killed``: its place is being killed."""
    match status:
        case BlockStatus.OK:
            return State.OK
        case BlockStatus.FAULT:
            return State.FAULT
        case BlockStatus.KILLED:
            return State.KILLED if killed else State.FAULT
        case _:
            assert_never(status)
