"""Cycle model of OfferQueue: an SM's offers, for a core that cannot take each in its cycle."""

from collections import deque
from collections.abc import Mapping

from warploom_spec.config import Config
from warploom_spec.resident_packets import resident_block


class OfferQueue:
    """Cycle model of OfferQueue.

    Ports and rules: ``docs/sm_side/offer_queue.md``. Numbers in comments are the page's.

    Parameters
    ----------
    config : Config
        Widths and the number of block slots.
    readers : int, optional
        Streams whose words can be read at once.
    """

    def __init__(self, config: Config, readers: int = 3):
        self._readers = range(readers)
        self._block = resident_block(config)
        self._slots = 1 << config.slot_bits
        self._drops = config.sm_kill
        self.reset()

    def reset(self) -> None:
        """Forget all blocks."""
        #: Blocks that wait, by slot, and slots in the line behind the front.
        self._waiting: dict[int, int] = {}
        self._line: deque[int] = deque()
        self._front: int | None = None
        self._look = 0
        #: By stream (5).
        self._words: dict[int, int] = {}

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        first, dropped = self._first(inputs), self._dropped(inputs)
        return {
            "first": first,
            "first_valid": int(first is not None),
            "dropped__valid": int(dropped is not None),
            "dropped__payload": dropped,
            **{f"told__{k}": self.words_of(inputs[f"asked__{k}"]) for k in self._readers},
        }

    def words_of(self, stream: int) -> int | None:
        """Return a stream's launch words, None before its first offer (5)."""
        return self._words.get(stream)

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        dropped = self._dropped(inputs)
        offer = self._block.unpack(inputs["block"]) if inputs["offer"] else None
        slot = offer["slot"] if offer else None
        known = {*self._line, self._front}
        self._move(inputs, slot)
        if dropped is None or inputs["dropped__ready"]:  # 4
            self._look = (self._look + 1) % self._slots
            self._waiting.pop(-1 if dropped is None else dropped, None)
        if offer:  # 1, 5
            self._waiting[offer["slot"]] = inputs["block"]
            self._words[offer["stream"]] = inputs["words"]
            if slot not in known:
                self._line.append(offer["slot"])

    def _first(self, inputs: Mapping[str, int]) -> int | None:
        """Return the block in front, unless it is dropped (2, 4)."""
        if self._front is None or self._front == self._dropped(inputs):
            return None
        return self._waiting.get(self._front)

    def _move(self, inputs: Mapping[str, int], offered: int | None) -> None:
        """Let the front go, and the next slot come to the front (2, 3)."""
        first, slot = self._first(inputs), self._front
        if slot is not None:
            if first is None and (slot in self._waiting or slot == offered):
                return
            if first is not None and not inputs["take"]:
                return
            self._waiting.pop(slot, None)
        self._front = self._line.popleft() if self._line else None

    def _dropped(self, inputs: Mapping[str, int]) -> int | None:
        """Return the slot that is looked at, if its block is to be dropped (4)."""
        block = self._waiting.get(self._look)
        if block is None or not self._drops:
            return None
        stream = self._block.unpack(block)["stream"]
        return self._look if inputs["kill"] >> stream & 1 else None
