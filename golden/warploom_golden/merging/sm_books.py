"""Free resources and slots of each SM, and their return in order of decision."""

import operator
from collections import deque
from typing import Final

from warploom_golden.merging.merged_work import Amounts
from warploom_golden.merging.sm_choice import SmChoice
from warploom_golden.merging.sm_stand_in import NEVER
from warploom_spec import RESOURCES, Config, capacities

WARPS: Final = RESOURCES.index("warps")


class SmBooks:
    """Resources and slots of all SMs.

    A block gets the slot of its SM that has been free longest. After reset the slots are free in
    order of their numbers.

    Parameters
    ----------
    config : Config
        Number of SMs, the resources of one, the placement policy.

    Attributes
    ----------
    rooms : int
        Mask of the SMs that have room for the next block.
    choice : SmChoice
        The placement policy.
    """

    def __init__(self, config: Config):
        self._sms = config.sms
        self._free = [list(capacities(config).values()) for _ in range(config.sms)]
        self._slots = [deque(range(config.block_slots)) for _ in range(config.sms)]
        self._used_warps = [0] * config.sms
        self._need: Amounts = (0,) * len(RESOURCES)
        # Reclaim in order, by block: the first cycle in which it may be retired; for a retired
        # block the cycle in which its resources are returned.
        self._done: dict[int, int] = {}
        self._returns: dict[int, int] = {}
        self.rooms = (1 << config.sms) - 1
        self.choice = SmChoice(config)

    def set_need(self, need: Amounts) -> None:
        """Set what the next block takes, and compute ``rooms`` again for all SMs."""
        if need == self._need:
            return
        self._need = need
        self.rooms = 0
        for sm in range(self._sms):
            self._judge(sm)

    def _judge(self, sm: int) -> None:
        # With a generator in the place of `map` a whole replay takes a tenth longer or more.
        if all(map(operator.ge, self._free[sm], self._need)):
            self.rooms |= 1 << sm
        else:
            self.rooms &= ~(1 << sm)

    def _charge(self, sm: int, amounts: Amounts, sign: int) -> None:
        free = self._free[sm]
        for k, amount in enumerate(amounts):
            free[k] -= sign * amount
        self._used_warps[sm] += sign * amounts[WARPS]
        self._judge(sm)

    def take(self, rooms: int) -> tuple[int, int]:
        """Choose one of the SMs in the mask ``rooms``, and take what the next block needs.

        Return the SM and the slot.
        """
        sm = self.choice.choose(rooms, self._used_warps)
        self._charge(sm, self._need, 1)
        return sm, self._slots[sm].popleft()

    def give_back(self, sm: int, slot: int, amounts: Amounts) -> None:
        """Give a block's resources and slot back to its SM, at the end of a cycle."""
        self._charge(sm, amounts, -1)
        self._slots[sm].append(slot)

    # --- reclaim in order ------------------------------------------------------------------------
    def done(self, block: int, cycle: int) -> None:
        """Note the first cycle in which a block may be retired."""
        self._done[block] = cycle

    def done_at(self, block: int) -> int:
        """Return the first cycle in which a block may be retired; `NEVER` if it is not known."""
        return self._done.get(block, NEVER)

    def retire(self, block: int, returns: int) -> None:
        """Retire a block; its resources are returned at the end of the cycle ``returns``."""
        del self._done[block]
        self._returns[block] = returns

    def returns_by(self, block: int, cycle: int) -> bool:
        """Tell whether a retired block's resources are returned by the end of a cycle."""
        return self._returns[block] <= cycle
