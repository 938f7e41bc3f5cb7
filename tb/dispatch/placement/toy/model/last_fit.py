"""`last_fit`: the highest-numbered SM with room."""

from warploom_golden.dispatch.policies import Policy


class LastFit(Policy):
    """Highest number."""

    def choose(self, room: int, out: int, known: bool) -> int | None:
        return room.bit_length() - 1 if room else None
