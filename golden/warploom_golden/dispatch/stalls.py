"""The stall counters of BlockDispatcher's cycle model."""

from warploom_golden.dispatch.amounts import Amounts
from warploom_golden.dispatch.verdicts import Verdict
from warploom_spec.resources import RESOURCES

_COUNT = 1 << 32
#: What is counted: the first resource that lacks, else ``offer``.
RESIDENT_STALL_CAUSES = (*RESOURCES, "offer")


def _port(cause: str) -> str:
    return f"stall_{cause}"


class Stalls:
    """Rule 33.

    Parameters
    ----------
    amounts : Amounts
        Says which resource lacks.
    grouped : bool
        Whether SMs stand in groups.
    late : bool
        The counters start at -1 instead of 0, for tests of the wrap.

    Attributes
    ----------
    counters : dict of int
        By port. The outputs of a cycle are copied from it.
    """

    def __init__(self, amounts: Amounts, *, grouped: bool, late: bool):
        self._amounts, self._grouped = amounts, grouped
        self.counters = dict.fromkeys(map(_port, RESIDENT_STALL_CAUSES), -late % _COUNT)
        self._cause: str | None = None

    @property
    def settled(self) -> bool:
        """Whether every stalled cycle is counted."""
        return self._cause is None

    def tick(self, stalled: tuple[int, Verdict | None] | None) -> None:
        """End a cycle; of a stalled one: the active launch's needs, and the placements' verdict."""
        if self._cause is not None:
            port = _port(self._cause)
            self.counters[port] = (self.counters[port] + 1) % _COUNT
        self._cause = None
        if stalled is not None:
            needs, verdict = stalled
            assert verdict is not None
            lacking = self._amounts.lacking(verdict.free, needs)
            # In groups a read may have meant nothing (35 f).
            self._cause = lacking if lacking and (verdict.counts or not self._grouped) else "offer"
