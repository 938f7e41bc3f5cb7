"""`first_fit`: the lowest-numbered eligible SM."""

from collections.abc import Sequence

from warploom_golden.replay.recorded_policies.policy import Load, Policy


class FirstFit(Policy):
    """Lowest number."""

    def choose(self, eligible: Sequence[bool], sms: Sequence[Load]) -> int:
        return eligible.index(True)
