"""The four placement policies, which choose a block's SM, on masks of SMs.

This code follows ``docs/dispatch/block_dispatcher.md`` and shares nothing with the dispatcher's
other models.
"""

from collections import deque

from warploom_golden.oracles.predicted_policies import check_predicted
from warploom_spec import Config

#: The placement policies that `SmChoice` knows.
POLICIES = ("first_fit", "round_robin", "least_loaded", "freed_first")


def first_from(mask: int, start: int) -> int:
    """Return the number of the lowest set bit at or above ``start``, else of the lowest of all.

    ``mask`` must not be 0.
    """
    above = mask >> start
    if above:
        return start + (above & -above).bit_length() - 1
    return (mask & -mask).bit_length() - 1


class SmChoice:
    """A placement policy and its state.

    Parameters
    ----------
    config : Config
        Placement policy, number of SMs, slots of one SM.

    Raises
    ------
    WarploomError
        If the placement policy is not known here.
    """

    def __init__(self, config: Config):
        check_predicted(config.policy, POLICIES, "merging/sm_choice.py")
        self._policy = config.policy
        self._sms = config.sms
        self._depth = config.sms * config.block_slots
        self._pointer = 0
        # For `freed_first`: the queue of SMs, each SM's freed slots that have not entered the
        # queue, and the mask of the SMs that have such slots.
        self._queue: deque[int] = deque()
        self._waiting = [0] * config.sms
        self._some_wait = 0
        self._entry_pointer = 0

    def choose(self, rooms: int, used_warps: list[int]) -> int:
        """Return one of the SMs in the mask ``rooms``, which is not 0.

        Parameters
        ----------
        rooms : int
            Mask of the SMs that have room.
        used_warps : list of int
            Occupied warp slots of each SM, for ``least_loaded``.
        """
        if self._policy == "first_fit":
            return first_from(rooms, 0)
        if self._policy == "least_loaded":
            fits = (sm for sm in range(self._sms) if rooms >> sm & 1)
            return min(fits, key=lambda sm: (used_warps[sm], sm))
        if self._policy == "freed_first" and self._queue:
            head = self._queue.popleft()
            if rooms >> head & 1:
                return head
        # `round_robin`. `freed_first` too, when its queue gives no SM: here its order table is
        # always as after reset, which is round robin's order.
        chosen = first_from(rooms, self._pointer)
        self._pointer = (chosen + 1) % self._sms
        return chosen

    def freed(self, sm: int) -> None:
        """Note that a slot of an SM became free at the end of this cycle."""
        if self._policy == "freed_first":
            self._waiting[sm] += 1
            self._some_wait |= 1 << sm

    def entrant(self) -> int | None:
        """Return the SM that enters the queue of `freed_first` in this cycle, or None.

        Call before the cycle's decision.
        """
        if not self._some_wait or len(self._queue) == self._depth:
            return None
        sm = first_from(self._some_wait, self._entry_pointer)
        self._entry_pointer = (sm + 1) % self._sms
        return sm

    def end_cycle(self, entrant: int | None, resident: bool) -> None:
        """Put the entrant into the queue at the end of the cycle.

        When no launch is resident, the queue is emptied instead. Call before `freed` is called for
        the same cycle.
        """
        if not resident:
            self._queue.clear()
            self._waiting = [0] * self._sms
            self._some_wait = 0
        elif entrant is not None:
            self._queue.append(entrant)
            self._waiting[entrant] -= 1
            if not self._waiting[entrant]:
                self._some_wait &= ~(1 << entrant)
