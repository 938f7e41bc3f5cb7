"""`least_loaded`: the eligible SM with the fewest warps."""

from collections.abc import Sequence

from warploom_golden.replay.recorded_policies.policy import Load, Policy


class LeastLoaded(Policy):
    """Fewest occupied warps, ties to the lowest number."""

    def choose(self, eligible: Sequence[bool], sms: Sequence[Load]) -> int:
        candidates = (number for number, fits in enumerate(eligible) if fits)
        return min(candidates, key=lambda number: sms[number].occupied_warps)
