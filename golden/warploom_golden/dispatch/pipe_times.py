"""Stages of BlockDispatcher's pipes, with and without groups of SMs."""

from typing import NamedTuple

from warploom_golden.dispatch.resident_launch import ResidentBlock
from warploom_spec.config import Config
from warploom_spec.resident_limits import in_groups


class PipeTimes(NamedTuple):
    """Cycles of the pipes, as the page's two tables of stages have them.

    Attributes
    ----------
    grouped : bool
        Whether SMs stand in groups (35).
    takes : int
        From a pick to the cycle in which `taken` is written.
    apart, lands : int
        From a look to its read of the other book, and to its verdict.
    back : int
        From the look of a return to the cycle in which its books are written.
    known, enters : int
        From the end of the scan's round to the first cycle in which the round is known, and from
        the writing of a return's books to its SM's entry into the queue of `freed_first`.
    """

    grouped: bool
    takes: int
    apart: int
    lands: int
    back: int
    known: int
    enters: int

    def meets(self, sm: int, written: ResidentBlock | None) -> bool:
        """Tell whether a read in this cycle, in which a block comes back, means nothing."""
        return self.grouped and written is not None and written.sm == sm


def pipe_times(config: Config) -> PipeTimes:
    """Return the stages of a configuration."""
    if in_groups(config):
        return PipeTimes(True, takes=3, apart=3, lands=7, back=2, known=8, enters=5)
    return PipeTimes(False, takes=2, apart=2, lands=3, back=1, known=4, enters=2)
