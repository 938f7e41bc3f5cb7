"""`round_robin`: the first SM with room from the pointer on (18)."""

from warploom_golden.dispatch.bits import first_from
from warploom_golden.dispatch.policies.policy import Policy, PolicyStep
from warploom_spec.config import Config


class RoundRobin(Policy):
    """First from the pointer on; a pick makes the pointer one past the picked SM."""

    def __init__(self, config: Config):
        super().__init__(config)
        self._sms = config.sms
        self._pointer = 0
        # The scan begins at the pointer of the cycle before (23).
        self.first = 0

    @property
    def settled(self) -> bool:
        return self.first == self._pointer

    def choose(self, room: int, out: int, known: bool) -> int | None:
        return first_from(room, self._pointer, self._sms)

    def tick(self, step: PolicyStep) -> None:
        self.first = self._pointer
        if step.picked is not None:
            self._pointer = (step.picked + 1) % self._sms
