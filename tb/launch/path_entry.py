"""What LaunchPath's ledger knows of a ticket."""

from dataclasses import dataclass
from math import prod

from tb.launch.path_blocks import Run


@dataclass
class Entry:
    """What the ledger knows of a ticket.

    Attributes
    ----------
    fields : dict
        Of the packet ``queued_launch``.
    number : int
        Its count in its stream.
    accepted : int
        Clock of its acceptance.
    waits : list of (int, int)
        Streams and counts.
    record : dict or None
        Its final record.
    done : int
        Blocks of its grid that ran in earlier residences, and are not run again.
    kills : int
        How often it was put back as killed.
    begun : bool
        A block of it was offered.
    run : Run or None
        Its residence, from its first offer on; the last one.
    asked : bool
        An ABORT, ABORT_STREAMS or a soft reset has met it.
    """

    ticket: int
    fields: dict[str, int]
    number: int
    accepted: int
    waits: list[tuple[int, int]]
    record: dict[str, int] | None = None
    done: int = 0
    kills: int = 0
    begun: bool = False
    run: Run | None = None
    resident: bool = False
    asked: bool = False

    @property
    def stream(self) -> int:
        """Return its stream."""
        return self.fields["stream"]

    @property
    def blocks(self) -> int:
        """Return the blocks of its grid."""
        return prod(self.fields[f"g{axis}"] for axis in "xyz")

    @property
    def mode(self) -> int:
        """Return its mode."""
        return self.fields["mode"]

    def linear(self, block: tuple[int, int, int]) -> int:
        """Return a block's number in the grid."""
        x, y, z = block
        return x + self.fields["gx"] * (y + self.fields["gy"] * z)
