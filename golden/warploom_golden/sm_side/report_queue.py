"""Reports of an SM's blocks, until the dispatcher takes them."""

from collections import deque
from collections.abc import Mapping

from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import BlockStatus


class ReportQueue:
    """Reports in the order of the blocks' ends, an end a cycle.

    Parameters
    ----------
    config : Config
        Widths.
    """

    def __init__(self, config: Config):
        self._packet = layouts.block_report(config)
        self.reset()

    def reset(self) -> None:
        """Forget all reports."""
        self._reports: deque[int] = deque()

    def outputs(self) -> dict[str, int | None]:
        """Return the stream `report`."""
        oldest = self._reports[0] if self._reports else None
        return {"report__valid": int(oldest is not None), "report__payload": oldest}

    def tick(self, inputs: Mapping[str, int], over: int | None, dropped: int | None) -> None:
        """Advance by one clock edge; an end comes before the slot of a dropped block."""
        if self._reports and inputs["report__ready"]:
            self._reports.popleft()
        if over is None and dropped is not None:
            over = self._packet.pack({"slot": dropped, "status": BlockStatus.KILLED})
        if over is not None:
            self._reports.append(over)
