"""`round_robin` over groups of SMs (35 b)."""

from warploom_golden.dispatch.bits import first_from
from warploom_golden.dispatch.policies.policy import PolicyStep
from warploom_golden.dispatch.policies.round_robin import RoundRobin
from warploom_spec.config import Config
from warploom_spec.resident_limits import sm_groups


class GroupedRoundRobin(RoundRobin):
    """One candidate a group; the first group that has one, from the pointer of groups on."""

    def __init__(self, config: Config):
        super().__init__(config)
        self._groups = sm_groups(config.sms)
        self._group = 0
        self._candidates: list[int | None] = [None] * len(self._groups)
        # Of each group: the first of its places that it may choose.
        self._pointers = [0] * len(self._groups)

    def choose(self, room: int, out: int, known: bool) -> int | None:
        with_one = sum(1 << g for g, sm in enumerate(self._candidates) if sm is not None)
        group = first_from(with_one, self._group, len(self._groups))
        return None if group is None else self._candidates[group]

    def tick(self, step: PolicyStep) -> None:
        super().tick(step)
        if step.picked is not None:
            group = next(g for g, sms in enumerate(self._groups) if step.picked in sms)
            self._group = (group + 1) % len(self._groups)
        if step.clears:
            self._candidates = [None] * len(self._groups)
            self._pointers = [0] * len(self._groups)
            return
        for group, candidate in enumerate(self._candidates):
            if candidate is None or candidate == step.picked or not step.used >> candidate & 1:
                self._choose_anew(group, step)

    def _choose_anew(self, group: int, step: PolicyStep) -> None:
        candidate = self._candidates[group]
        others = step.room & step.used & ~(0 if candidate is None else 1 << candidate)
        first = self._pointers[group]
        for place, sm in enumerate(self._groups[group][first:], first):
            if others >> sm & 1:
                self._candidates[group], self._pointers[group] = sm, place + 1
                return
        self._candidates[group], self._pointers[group] = None, 0
