"""`round_robin` over groups of SMs (35 b)."""

from warploom_golden.dispatch.bits import first_from
from warploom_golden.dispatch.policies.policy import PolicyStep
from warploom_golden.dispatch.policies.round_robin import RoundRobin
from warploom_spec.config import Config
from warploom_spec.resident_limits import GROUP_SMS


class GroupedRoundRobin(RoundRobin):
    """One candidate a group; the first group that has one, from the pointer of groups on."""

    def __init__(self, config: Config):
        super().__init__(config)
        self._groups = -(-config.sms // GROUP_SMS)
        self._group = 0
        self._candidates: list[int | None] = [None] * self._groups
        self._firsts = [GROUP_SMS * g for g in range(self._groups)]
        # Of each group: the first SM that it may choose.
        self._pointers = list(self._firsts)

    def choose(self, room: int, out: int, known: bool) -> int | None:
        with_one = sum(1 << g for g, sm in enumerate(self._candidates) if sm is not None)
        group = first_from(with_one, self._group, self._groups)
        return None if group is None else self._candidates[group]

    def tick(self, step: PolicyStep) -> None:
        super().tick(step)
        if step.picked is not None:
            self._group = (step.picked // GROUP_SMS + 1) % self._groups
        if step.clears:
            self._candidates = [None] * self._groups
            self._pointers = list(self._firsts)
            return
        for group, candidate in enumerate(self._candidates):
            if candidate is None or candidate == step.picked or not step.used >> candidate & 1:
                self._choose_anew(group, step)

    def _choose_anew(self, group: int, step: PolicyStep) -> None:
        candidate, first = self._candidates[group], self._firsts[group]
        others = step.room & step.used & ~(0 if candidate is None else 1 << candidate)
        for sm in range(self._pointers[group], min(first + GROUP_SMS, self._sms)):
            if others >> sm & 1:
                self._candidates[group], self._pointers[group] = sm, sm + 1
                return
        self._candidates[group], self._pointers[group] = None, first
