"""`least_loaded`: the SM with room that has the most free warps (19)."""

from warploom_golden.dispatch.amounts import Amounts
from warploom_golden.dispatch.policies.policy import Policy, PolicyStep
from warploom_spec.config import Config


class LeastLoaded(Policy):
    """Most free warps, ties to the lowest number; nothing before the round is known."""

    LATE_ROOM = True

    def __init__(self, config: Config):
        super().__init__(config)
        self._amounts = Amounts(config)
        self._free = [config.warp_slots] * config.sms
        # Verdicts of the cycle before: they count for picks from the next cycle on.
        self._kept: list[tuple[int, int]] = []

    @property
    def settled(self) -> bool:
        return not self._kept

    def choose(self, room: int, out: int, known: bool) -> int | None:
        if not room or not known:
            return None
        with_room = (n for n in range(len(self._free)) if room >> n & 1)
        return max(with_room, key=lambda n: (self._free[n], -n))

    def tick(self, step: PolicyStep) -> None:
        for sm, warps in self._kept:
            self._free[sm] = warps
        self._kept = []
        placement, returned = step.landing
        # Of a return's that counts whose SM is not out in the cycle of the landing.
        for verdict in (returned, placement):
            if verdict is not None and verdict.own:
                if verdict is returned and step.out >> verdict.sm & 1:
                    continue
                self._kept.append((verdict.sm, self._amounts.amount(verdict.free, "warps")))
