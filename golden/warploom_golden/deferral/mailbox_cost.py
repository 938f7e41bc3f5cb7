"""The host's bus accesses at the doorbell mailbox, for launches one by one or as loops."""

from dataclasses import dataclass
from typing import Final

from warploom_golden.deferral.folding import Run

#: Bytes of one bus transaction: one word.
WORD: Final = 4
#: Writes of each command: its words of the task register, and the doorbell. A launch has 11 words
#: and two for each of four inline arguments; a template one more, for what changes; a loop three.
LAUNCH_WRITES: Final = 11 + 8 + 1
TEMPLATE_WRITES: Final = 12 + 8 + 1
LOOP_WRITES: Final = 3 + 1
#: Reads of each: the doorbell once, the error word, and the ticket where there is one.
LAUNCH_READS: Final = 3
TEMPLATE_READS: Final = 2
LOOP_READS: Final = 3


@dataclass(frozen=True)
class MailboxCost:
    """Commands of each kind and the bus transactions that they take."""

    launches: int
    templates: int
    loops: int

    @property
    def transactions(self) -> int:
        """Writes and reads, with the doorbell polled once a command."""
        return (
            self.launches * (LAUNCH_WRITES + LAUNCH_READS)
            + self.templates * (TEMPLATE_WRITES + TEMPLATE_READS)
            + self.loops * (LOOP_WRITES + LOOP_READS)
        )

    @property
    def bytes(self) -> int:
        """Bytes of all transactions."""
        return WORD * self.transactions


def mailbox_cost(runs: list[Run], bodies: list[tuple[int, ...]]) -> MailboxCost:
    """Return the commands for runs; a loop's templates are written unless the last loop wrote them.

    Parameters
    ----------
    runs : list of Run
        As `fold` returns them.
    bodies : list of tuple
        For each run the launches of one iteration, as numbers; equal launches have equal numbers.
    """
    launches = templates = loops = 0
    standing: tuple[int, ...] = ()
    for run, body in zip(runs, bodies, strict=True):
        if run.count == 1:
            launches += 1
            continue
        loops += 1
        if body != standing:
            templates += run.body
            standing = body
    return MailboxCost(launches, templates, loops)
