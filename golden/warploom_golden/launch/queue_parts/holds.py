"""Who is held and who is stopped (24, 25)."""

from collections.abc import Sequence

from warploom_golden.launch.queue_parts.rows import Flags, Launch, Row
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import MAX_KILLS


class Holds:
    """The outputs ``hold`` and ``stop``, a bit a stream.

    Attributes
    ----------
    hold, stop : int
        The outputs.
    makes_way, waits, killable : int
        What each stream's resident is, or its last one was; 0 if it never had one.
    """

    def __init__(self) -> None:
        self.makes_way = self.waits = self.killable = 0
        self.hold = self.stop = 0
        self._top = 0

    def start(self, launch: Launch, kills: int, *, sm_kill: bool) -> None:
        """Keep what a launch is that starts (24)."""
        mode, bit = launch.fields["mode"], 1 << launch.stream
        again = bool(launch.fields["idempotent"]) and kills < MAX_KILLS and sm_kill
        self.makes_way = _with(self.makes_way, bit, mode not in (Mode.WAIT, Mode.YIELD))
        self.waits = _with(self.waits, bit, mode == Mode.WAIT)
        self.killable = _with(self.killable, bit, mode in (Mode.AUTO, Mode.RESET) and again)

    def step(self, flags: Flags, rows: Sequence[Row], begun: int) -> None:
        """End a cycle, by the state in it (25)."""
        low = 0
        if self._top:
            low = sum(1 << s for s, row in enumerate(rows) if row.priority < self._top)
        self.hold = (low & self.makes_way | flags.held) & ~(self.waits & begun)
        self.stop = flags.resident & begun & self.killable & (low | flags.held)
        urgent = flags.live & ~flags.stuck & ~flags.held
        self._top = 0
        if urgent:
            self._top = max(row.priority for s, row in enumerate(rows) if urgent >> s & 1)


def _with(mask: int, bit: int, value: bool) -> int:
    """Return a mask with another value of a bit."""
    return mask | bit if value else mask & ~bit
