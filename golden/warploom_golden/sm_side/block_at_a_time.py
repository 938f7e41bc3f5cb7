"""Cycle model of BlockAtATime: blocks for a core that runs one from start to done."""

from collections.abc import Mapping

from warploom_golden.sm_side.offer_queue import OfferQueue
from warploom_golden.sm_side.report_queue import ReportQueue
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import BlockStatus
from warploom_spec.resident_packets import resident_block


class BlockAtATime:
    """Cycle model of BlockAtATime.

    Ports and rules: ``docs/sm_side/block_at_a_time.md``. Numbers in comments are the page's.

    Parameters
    ----------
    config : Config
        Widths.
    """

    def __init__(self, config: Config):
        self._block = resident_block(config)
        self._block_report = layouts.block_report(config)
        self._queue = OfferQueue(config, readers=0)
        self._reports = ReportQueue(config)
        self.reset()

    def reset(self) -> None:
        """Forget all blocks."""
        for part in (self._queue, self._reports):
            part.reset()
        #: The block that runs.
        self._running: int | None = None

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle, which depend on no input."""
        del inputs
        runs = int(self._running is not None)
        words: int | None = None
        if self._running is not None:
            words = self._queue.words_of(self._stream(self._running))
        return {
            **self._reports.outputs(),
            "core_reset": 1 - runs,
            "start": runs,
            "running": self._running,
            "running_words": words,
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        over = self._over(inputs)
        asks = {**inputs, "take": 0, "dropped__ready": int(over is None)}
        first = self._queue.outputs(asks)["first"]
        if self._running is None and first is not None:  # 1
            asks["take"] = int(not inputs["kill"] >> self._stream(first) & 1)
        dropped = self._queue.outputs(asks)["dropped__payload"]
        if over is not None:
            self._running = None
        if asks["take"]:
            self._running = first
        self._reports.tick(inputs, over, dropped)
        self._queue.tick(asks)

    def _stream(self, block: int) -> int:
        return self._block.unpack(block)["stream"]

    def _over(self, inputs: Mapping[str, int]) -> int | None:
        """Return the report of the block that ends in this cycle (3)."""
        if self._running is None:
            return None
        killed = inputs["kill"] >> self._stream(self._running) & 1
        if inputs["done"]:
            status = BlockStatus.FAULT if inputs["fault"] else BlockStatus.OK
        elif killed:
            status = BlockStatus.KILLED
        else:
            return None
        slot = self._block.unpack(self._running)["slot"]
        return self._block_report.pack({"slot": slot, "status": status})
