"""`first_fit`: the lowest-numbered eligible SM."""

from collections.abc import Sequence

from warploom_golden.dispatch.placement.placement import Policy
from warploom_golden.dispatch.sm.sm import Sm


class FirstFit(Policy):
    """Lowest number."""

    def choose(self, eligible: Sequence[bool], sms: Sequence[Sm]) -> int:
        return eligible.index(True)
