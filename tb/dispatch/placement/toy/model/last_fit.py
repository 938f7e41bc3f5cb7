"""`last_fit`: the highest-numbered eligible SM."""

from collections.abc import Sequence

from warploom_golden.dispatch.placement import Policy
from warploom_golden.dispatch.sm.sm import Sm


class LastFit(Policy):
    """Highest number."""

    def choose(self, eligible: Sequence[bool], sms: Sequence[Sm]) -> int:
        return max(number for number, fits in enumerate(eligible) if fits)
