"""Cycle model of BlockAtATime: blocks for a core that runs one from start to done."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import BlockStatus


@dataclass(frozen=True)
class Running:
    """The block that runs: its `block_offer`, place, slot and threads."""

    payload: int
    place: int
    slot: int
    threads: int


class BlockAtATime:
    """Cycle model of BlockAtATime.

    Ports and rules: ``docs/sm_side/block_at_a_time.md``. Numbers in comments are the page's.

    Parameters
    ----------
    config : Config
        Widths.
    """

    def __init__(self, config: Config):
        self._words = layouts.launch_words(config)
        self._offer = layouts.block_offer(config)
        self._block_report = layouts.block_report(config)
        self.reset()

    def reset(self) -> None:
        """Forget the block."""
        self._running: Running | None = None
        #: Payload of `report`.
        self._report: int | None = None

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle, which depend on no input."""
        del inputs
        block = self._running
        return {
            "offer__ready": int(block is None),
            "report__valid": int(self._report is not None),
            "report__payload": self._report,
            "core_reset": int(block is None),
            "start": int(block is not None),
            "block": block.payload if block else None,
            "thread_count": block.threads if block else None,
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        block = self._running or self._offered(inputs)
        self._report = None
        if block is None:
            return
        status = self._status(block, inputs)
        self._running = block if status is None else None
        if status is not None:
            self._report = self._block_report.pack({"slot": block.slot, "status": status})

    def _offered(self, inputs: Mapping[str, int]) -> Running | None:
        """Return the block that transfers in this cycle (1, 2)."""
        if not inputs["offer__valid"]:
            return None
        payload = inputs["offer__payload"]
        offer = self._offer.unpack(payload)
        words = self._words.unpack(inputs[f"words__{offer['place']}"])
        return Running(payload, offer["place"], offer["slot"], words["threads"])

    def _status(self, block: Running, inputs: Mapping[str, int]) -> BlockStatus | None:
        """Return how a block ends in this cycle, None if it goes on (1, 3)."""
        if self._running and inputs["done"]:
            return BlockStatus.FAULT if inputs["fault"] else BlockStatus.OK
        return BlockStatus.KILLED if inputs["kill"] >> block.place & 1 else None
