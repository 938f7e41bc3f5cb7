"""What calls of the driver give: outcomes of commands, final records, and what they raise."""

from dataclasses import dataclass

from warploom_spec.codes import CODES
from warploom_spec.errors import WarploomError


class HostTimeout(WarploomError):
    """Nothing came in the turns of waiting that the driver allows itself."""


class QuietLaunch(WarploomError):
    """The driver cannot see the end of a quiet launch: no later record of its stream will come."""


class CommandFailed(WarploomError):
    """A command completed with a code other than 0.

    Attributes
    ----------
    outcome : Outcome
        All that the section says.
    """

    def __init__(self, section: int, outcome: "Outcome"):
        self.outcome = outcome
        name = code_name(outcome.code)
        super().__init__(
            f"section {section}: {name} (code {outcome.code}, core {outcome.core},"
            f" argument {outcome.argument})"
        )


@dataclass(frozen=True)
class Outcome:
    """What became of a section's last command.

    Attributes
    ----------
    code, core, argument : int
        0, or the reason of the failure; the core, and a number that the code explains.
    ticket : int
        Of a launch; 0: none.
    succeeded, parts : int
        Of a task: a bit for each core whose part succeeded, and for each that got one.
    task : int
        Number of the task.
    number : int
        Of a launch in its stream, low 16 bits.
    """

    code: int
    core: int
    argument: int
    ticket: int
    succeeded: int
    parts: int
    task: int
    number: int


@dataclass(frozen=True)
class Record:
    """What became of a launch, or of a PREEMPT.

    Attributes
    ----------
    ticket : int
        Its ticket; 0 of a PREEMPT.
    fate : int
        0 finished, 1 aborted, 2 failed.
    code : int
        0, or the reason of the failure.
    cycles : int
        Of its last run: from its first offer to its last report. A launch that was stopped and
        went on has had an earlier run.
    kind, kills : int
        0 a launch, 2 a PREEMPT; how often it was killed.
    drained : int
        1: mode `RESET`, and it was drained instead, because it is not idempotent.
    stream, offered, accepted, first_offer, made : int
        Its stream; whether a block was offered in its last run; the low half of the clock when it
        was accepted, at the first offer of its last run, and when this record was made.
    number : int
        Of a launch in its stream, low 16 bits; 0 without loops.
    met_finished, met_killed, met_drained, met_skipped : int
        Of a PREEMPT: what became of the launches that it met.
    """

    ticket: int
    fate: int
    code: int
    cycles: int
    kind: int
    kills: int
    drained: int
    stream: int
    offered: int
    accepted: int
    first_offer: int
    made: int
    number: int = 0
    met_finished: int = 0
    met_killed: int = 0
    met_drained: int = 0
    met_skipped: int = 0


def code_name(code: int) -> str:
    """Return the name of an error code; a code that nobody gives is 'unknown'."""
    return CODES[code].name if code in CODES else "unknown"
