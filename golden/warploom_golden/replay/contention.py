"""How quickly blocks come on beside others on their SM: rates and work.

The rule is the one of ``docs/replay/contention.md``.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Full speed: what a block comes on in a cycle on an SM that is not crowded.
ONE: Final = 1 << 16
#: Least length of a block in cycles at full speed.
LEAST: Final = 4


def rate(warps: int, knee: int) -> int:
    """Return how far each block comes in a cycle, of `ONE`.

    Parameters
    ----------
    warps : int
        Warps that the SM holds.
    knee : int
        Warps that it runs at full speed, at least 1.
    """
    return min(ONE, ONE * knee // warps) if warps else ONE


def block_work(lengths: NDArray[np.int64], recorded_load: int, knee: int) -> NDArray[np.int64]:
    """Return the work of blocks, of `ONE` a cycle at full speed.

    Parameters
    ----------
    lengths : array of int64
        Cycles that each took beside as many warps as were recorded.
    recorded_load : int
        Warps that an SM of the recorded GPU held.
    knee : int
        As for `rate`.
    """
    return np.maximum(LEAST * ONE, lengths * rate(recorded_load, knee))
