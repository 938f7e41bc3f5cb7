"""The flags of each stream of BlockDispatcher's cycle model."""

from typing import NamedTuple

from warploom_golden.dispatch.resident_launch import ResidentBlock, ResidentLaunch
from warploom_golden.dispatch.returns import Outcome
from warploom_spec.config import Config


class Changes(NamedTuple):
    """What happens to streams in a cycle.

    Attributes
    ----------
    start : ResidentLaunch or None
        The launch that becomes resident.
    stop : int
        Streams that are stopped by the port.
    picked : ResidentBlock or None
        The block that was picked in the cycle before.
    outcome : Outcome
        What the books' turn does.
    ended : ResidentLaunch or None
        The launch that transfers at `ended`.
    """

    start: ResidentLaunch | None
    stop: int
    picked: ResidentBlock | None
    outcome: Outcome
    ended: ResidentLaunch | None


class Streams:
    """Rules 3 to 6 and 27: one bit a stream of each flag.

    Parameters
    ----------
    config : Config
        Number of streams, and whether SMs kill.

    Attributes
    ----------
    launches : list of ResidentLaunch or None
        The last launch of each stream.
    resident, open, begun, busy, kill, fault, sm_lost, all_placed, not_ok : int
        The page's flags.
    held : int
        The port `hold` of the cycle before.
    busy_before : int
        `busy` of the cycle before.
    """

    def __init__(self, config: Config):
        self._kills = config.sm_kill
        self.launches: list[ResidentLaunch | None] = [None] * (1 << config.stream_bits)
        self.resident = self.open = self.begun = self.busy = self.kill = 0
        self.fault = self.sm_lost = self.all_placed = self.not_ok = 0
        self.held = self.busy_before = 0

    @property
    def alive(self) -> int:
        """Streams whose launch has blocks left to place, or blocks out (4)."""
        return self.resident & (self.open | self.busy)

    @property
    def candidates(self) -> int:
        """Streams that may place (7)."""
        return self.open & ~self.held

    def launch(self, stream: int) -> ResidentLaunch:
        """Return the launch of a stream that has had one."""
        launch = self.launches[stream]
        assert launch is not None
        return launch

    def tick(self, changes: Changes, hold: int) -> None:
        """Set and clear at the end of a cycle."""
        self.held, self.busy_before = hold, self.busy
        # Rule 6 says 'a stop': that of a stream that is alive, as in rule 4.
        stopped = changes.stop & self.alive
        outcome = changes.outcome
        if outcome.block is not None:
            stopped |= self._return(outcome, outcome.block)
        self.open &= ~stopped
        if self._kills:
            self.kill |= stopped
        if changes.picked is not None:
            self._place(changes.picked)
        if changes.ended is not None:
            ended = ~(1 << changes.ended.stream)
            self.resident &= ended
            self.kill &= ended
        if changes.start is not None:
            self._start(changes.start)

    def _return(self, outcome: Outcome, block: ResidentBlock) -> int:
        """Judge a return (5, 27, 32); return the stream's bit if that stops it."""
        bit = 1 << block.launch.stream
        if outcome.emptied is not None:
            self.busy &= ~bit
        if not outcome.ok:
            self.not_ok |= bit
        if not outcome.fault:
            return 0
        self.fault |= bit
        if outcome.swept:
            self.sm_lost |= bit
        return bit

    def _place(self, block: ResidentBlock) -> None:
        """Let a block of the cycle before count (4, 5)."""
        block.launch.out += 1
        bit = 1 << block.launch.stream
        self.busy |= bit
        if block.first:
            self.begun |= bit
        if block.last:
            # Also when a stop of a cycle before has cleared `open`: the page names only one that
            # comes in this cycle (4).
            self.open &= ~bit
            self.all_placed |= bit

    def _start(self, launch: ResidentLaunch) -> None:
        bit = 1 << launch.stream
        self.launches[launch.stream] = launch
        self.resident |= bit
        self.open |= bit
        for name in ("begun", "kill", "fault", "sm_lost", "all_placed", "not_ok"):
            setattr(self, name, getattr(self, name) & ~bit)
