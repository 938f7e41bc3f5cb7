"""`least_loaded`: the eligible SM with the fewest warps."""

from collections.abc import Sequence

from warploom_golden.dispatch.placement.placement import Policy
from warploom_golden.dispatch.sm.sm import Sm


class LeastLoaded(Policy):
    """Fewest occupied warps, ties to the lowest number."""

    def choose(self, eligible: Sequence[bool], sms: Sequence[Sm]) -> int:
        candidates = (number for number, fits in enumerate(eligible) if fits)
        return min(candidates, key=lambda number: sms[number].occupied_warps)
