"""What messages cost on the way between front end and back end."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link with a fixed time for each message and a time for each byte.

    Attributes
    ----------
    message_ns : float
        Nanoseconds for one message, one way.
    byte_ns : float
        Nanoseconds for each of its bytes.
    """

    message_ns: float = 5000.0
    byte_ns: float = 0.1

    def time_ns(self, sizes: list[int]) -> float:
        """Return the nanoseconds of messages, sent one after the other."""
        return len(sizes) * self.message_ns + sum(sizes) * self.byte_ns
