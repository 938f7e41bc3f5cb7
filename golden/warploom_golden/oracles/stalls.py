"""A check of the dispatcher's stall counters against the offers."""

from collections import deque
from collections.abc import Mapping

from warploom_spec.config import Config
from warploom_spec.resources import STALL_CAUSES
from warploom_spec.timing import timing


class Stalls:
    """Follows the stall counters, and compares each step with the offers of its cycle.

    Parameters
    ----------
    config : Config
        Sets the counters' latency in cycles and their width in bits.
    """

    def __init__(self, config: Config) -> None:
        found = timing(config)
        self._wrap = 1 << found.stall_counter_bits
        self._shown = dict.fromkeys(STALL_CAUSES, 0)
        # Past cycles, the oldest first: the counters now show the oldest. `_decided`: whether a
        # block was decided, which is offered later. `_left`: whether a launch had blocks left.
        self._decided = deque([False] * (found.stall - found.offer))
        self._left = deque([False] * found.stall)

    def look(self, shown: Mapping[str, int], begun: bool, left: bool) -> str:
        """Take in one cycle; return what is wrong with the counters, or an empty string.

        Parameters
        ----------
        shown : mapping
            The counters' values in this cycle, by port.
        begun : bool
            Whether an offer becomes valid in this cycle.
        left : bool
            Whether in this cycle an accepted launch has blocks that were not offered yet.
        """
        now = {cause: shown[f"stall_{cause}"] for cause in STALL_CAUSES}
        steps = {c: (now[c] - self._shown[c]) % self._wrap for c in STALL_CAUSES}
        self._shown = now
        self._decided.append(begun)
        self._left.append(left)
        decided, had_left = self._decided.popleft(), self._left.popleft()
        rose = [cause for cause in STALL_CAUSES if steps[cause]]
        if any(steps[cause] > 1 for cause in rose):
            return f"stall counters moved by {steps}"
        if rose and not had_left:
            return f"stalls of {rose} with no block left"
        if rose and decided:
            return f"stalls of {rose} in a cycle with a decision"
        if "order" in rose and len(rose) > 1:
            return f"stalls of {rose} in one cycle: a head waits or it does not"
        return ""
