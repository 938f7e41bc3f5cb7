"""Writes the words of a final record in the background (8)."""

from collections.abc import Sequence

from warploom_spec.packet import Packet

#: Order of the words.
LAUNCH_WORDS = (1, 2, 0, 5, 6, 7)
LOOPS_LAUNCH_WORDS = (1, 2, 0, 5, 6, 3, 7)
PREEMPT_WORDS = (1, 2, 0, 5, 6, 3, 4, 7)
#: This word is the clock of the cycle before it.
CLOCK_WORD = 7


class Writer:
    """The record that is being written.

    Parameters
    ----------
    packet : Packet
        Of the port ``record``.
    """

    def __init__(self, packet: Packet):
        self._packet = packet
        #: Number, data and whether it is the last one, by cycle.
        self._words: dict[int, tuple[int, int, bool]] = {}
        self._busy_to = -1
        self._clock = 0

    def busy(self, cycle: int) -> bool:
        """Return whether it is busy in a cycle from which on no record is made before it."""
        return cycle <= self._busy_to

    def make(self, cycle: int, words: Sequence[int], order: tuple[int, ...]) -> None:
        """Make a record in a cycle, the last step of an event; the last one's word 7 may come."""
        assert not self.busy(cycle + 1), "two records at once"
        self._busy_to = cycle + len(order)
        for k, word in enumerate(order):
            self._words[cycle + 2 + k] = word, words[word], k == len(order) - 1

    def record(self, cycle: int) -> int:
        """Return the output of a cycle."""
        if cycle not in self._words:
            return 0
        word, data, last = self._words[cycle]
        data = self._clock if word == CLOCK_WORD else data
        return self._packet.pack({"valid": 1, "last": last, "word": word, "data": data})

    def step(self, cycle: int, clock: int) -> None:
        """End a cycle."""
        self._words.pop(cycle, None)
        self._clock = clock
