"""`round_robin`: the first eligible SM behind the one that got the last block."""

from collections.abc import Sequence

from warploom_golden.replay.recorded_policies.policy import Load, Policy, first_from
from warploom_spec.config import Config


class RoundRobin(Policy):
    """First from the pointer on; the pointer moves to one past the SM that got a block."""

    def __init__(self, config: Config):
        super().__init__(config)
        self._pointer = 0

    def choose(self, eligible: Sequence[bool], sms: Sequence[Load]) -> int:
        chosen = first_from(eligible, self._pointer)
        assert chosen is not None
        self._pointer = (chosen + 1) % len(eligible)
        return chosen
