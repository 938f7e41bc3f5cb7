"""Cycle model of RecordQueue: final records by words, in order until the host has read them."""

from collections import deque
from collections.abc import Mapping

from warploom_spec import resident_packets
from warploom_spec.config import Config
from warploom_spec.queue_packets import FINAL_RECORD_WORDS
from warploom_spec.word_layout import WORD_BITS


class RecordQueue:
    """Cycle model of RecordQueue.

    Ports and rules: ``docs/launch/record_queue.md``. Numbers in comments are the page's rules.

    Parameters
    ----------
    config : Config
        ``queue_depth``.
    """

    def __init__(self, config: Config):
        self._most = config.records
        self._packet = resident_packets.record_word(config)
        self.reset()

    def reset(self) -> None:
        """Forget all records (7)."""
        # Records that are held, each a list of words; and the words of the one that comes.
        self._held: deque[list[int]] = deque()
        self._coming = [0] * FINAL_RECORD_WORDS
        self._next_word = 0
        # What was read in the cycle before, at its place in `oldest` (3).
        self._read = 0
        self._oldest = self._records = self._taken = 0

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle, which are registers."""
        del inputs
        return {"oldest": self._oldest, "records": self._records, "record_taken": self._taken}

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        self._records = len(self._held)  # 6
        self._taken = int(bool(inputs["pop"] and self._held))  # 2
        if self._taken:
            self._held.popleft()
            self._oldest = self._read = self._next_word = 0  # 5
        else:
            self._load()
        word = self._packet.unpack(inputs["record"])
        if word["valid"]:
            self._enter(word)

    def _load(self) -> None:
        """Show the word that was read, and read the next one (3)."""
        self._oldest |= self._read
        self._read = 0
        if self._held and self._next_word < FINAL_RECORD_WORDS:
            self._read = self._held[0][self._next_word] << WORD_BITS * self._next_word
            self._next_word += 1

    def _enter(self, word: Mapping[str, int]) -> None:
        """Take a word (1); words that do not come are 0 (4)."""
        self._coming[word["word"]] = word["data"]
        if word["last"]:
            assert len(self._held) < self._most, "a record comes, and has no place"
            self._held.append(self._coming)
            self._coming = [0] * FINAL_RECORD_WORDS
