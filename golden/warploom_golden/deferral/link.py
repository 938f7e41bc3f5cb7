"""The time that messages take between front end and back end."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link with a fixed time for each message and a time for each byte.

    Attributes
    ----------
    message_ns : float
        Nanoseconds that each message takes one way, whatever its size.
    byte_ns : float
        Further nanoseconds for each byte of a message.
    """

    message_ns: float = 5000.0
    byte_ns: float = 0.1

    def time_ns(self, sizes: list[int]) -> float:
        """Return the nanoseconds that messages take one after the other.

        Parameters
        ----------
        sizes : list of int
            Size of each message in bytes.
        """
        return len(sizes) * self.message_ns + sum(sizes) * self.byte_ns
