"""`first_fit`: the lowest SM with room (17)."""

from warploom_golden.dispatch.bits import first_from
from warploom_golden.dispatch.policies.policy import Policy


class FirstFit(Policy):
    """Lowest number."""

    def choose(self, room: int, out: int, known: bool) -> int | None:
        return first_from(room, 0, room.bit_length())
