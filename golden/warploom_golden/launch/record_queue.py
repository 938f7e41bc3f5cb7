"""Cycle model of RecordQueue: final records, kept in order until the host has read them."""

from collections import deque
from collections.abc import Mapping

from warploom_spec import queue_packets
from warploom_spec.config import Config
from warploom_spec.word_layout import WORD_BITS


class RecordQueue:
    """Cycle model of RecordQueue.

    Ports and rules: ``docs/launch/record_queue.md``. Numbers in comments are the page's rules.

    Parameters
    ----------
    config : Config
        ``queue_depth``, and the width of a record's stream.
    """

    def __init__(self, config: Config):
        self._config = config
        self._packet = queue_packets.final_record(config)
        self._words = queue_packets.final_record_words(config)
        self.reset()

    def reset(self) -> None:
        """Forget all records (6)."""
        self._memory: deque[int] = deque()
        self._shown: int | None = None
        # What the outputs show: the state of the cycle before (5), and what a pop did in it (3).
        self._oldest = self._records = self._taken = 0

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle, which are registers."""
        del inputs
        return {"oldest": self._oldest, "records": self._records, "record_taken": self._taken}

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        fields = self._packet.unpack(inputs["record"])
        comes = fields.pop("valid")
        holds = len(self._memory) + (self._shown is not None)
        assert not comes or holds < self._config.records, "a record comes, and has no place"
        self._oldest, self._records = self._shown or 0, holds  # 5
        self._taken = int(bool(inputs["pop"]) and self._shown is not None)  # 3
        if self._taken:
            self._shown = None
        if self._shown is None and self._memory:  # 4
            self._shown = self._memory.popleft()
        if comes:  # 2
            self._memory.append(self._as_words(fields))

    def _as_words(self, fields: Mapping[str, int]) -> int:
        """Return a record's words as one number, word 0 lowest (7)."""
        return sum(word << WORD_BITS * k for k, word in enumerate(self._words.pack(fields)))
