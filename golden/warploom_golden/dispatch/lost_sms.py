"""SMs that are lost: visits of silent streams, and the sweep, in BlockDispatcher's model."""

from warploom_golden.dispatch.returns import BooksTurn, Outcome, Round, Sweep
from warploom_golden.dispatch.streams import Streams
from warploom_spec.config import Config

#: Cycles from the visit at which a sweep begins to the first one in which it is on.
_TO_SWEEP = 2
#: Cycles from one row of a sweep to the next (32).
_ROW_EVERY = 4


class LostSms:
    """Rules 31 and 32.

    Parameters
    ----------
    config : Config
        Number of SMs, slots and streams; the time-out.
    lost : int
        SMs that were lost before a soft reset.

    Attributes
    ----------
    lost, lost_before : int
        SMs that are lost, and that were in the cycle before.
    no_sm : bool
        Whether all were lost in the cycle before.
    """

    def __init__(self, config: Config, lost: int = 0):
        self.lost, self.lost_before, self.no_sm = lost, 0, False
        self._kills = config.sm_kill
        self._all = (1 << config.sms) - 1
        self._slots = config.block_slots
        self._rows = config.sms * config.block_slots
        streams = 1 << config.stream_bits
        self._limit = max(1, config.kill_timeout // streams) + 2
        self._silent = [0] * streams
        # Streams of which a block has returned since their last visit, that cycle included.
        self._returned = 0
        # The last sweep, and its next row of both rounds; None while it is off.
        self._sweep: Sweep | None = None
        self._row: int | None = None

    @property
    def settled(self) -> bool:
        """Whether nothing happens while no stream is killed and busy."""
        unchanged = self.lost == self.lost_before and self.no_sm == (self.lost == self._all)
        return unchanged and not (self._returned or any(self._silent) or self._row is not None)

    def look(self, cycle: int) -> BooksTurn | None:
        """Return the row that the sweep looks at in a cycle, if it does (32)."""
        if self._row is None or not self._is_on(cycle - 1) or cycle % _ROW_EVERY != 1:
            return None
        which = Round.FIND if self._row < self._rows else Round.RETURN
        sm, slot = divmod(self._row % self._rows, self._slots)
        return BooksTurn(which, sm, slot, sweep=self._sweep)

    def tick(
        self, cycle: int, turn: int, streams: Streams, outcome: Outcome, row: BooksTurn | None
    ) -> None:
        """End a cycle that visits stream ``turn``, and in which the sweep looks at ``row``."""
        if self._row is not None and row is not None:
            self._row = None if self._row == 2 * self._rows - 1 else self._row + 1
        if self._kills:
            self._visit(cycle, turn, streams)
        if outcome.block is not None and self._kills:
            self._note_return(cycle, outcome.block.launch.stream, swept=outcome.swept)
        self.no_sm = self.lost == self._all
        self.lost_before = self.lost
        if outcome.loses is not None:
            self.lost |= 1 << outcome.loses

    def _is_on(self, cycle: int) -> bool:
        return self._row is not None and self._sweep is not None and self._sweep.begins <= cycle

    def _visit(self, cycle: int, turn: int, streams: Streams) -> None:
        """Count a stream's silent visits; after the last one a sweep begins (31)."""
        silent = streams.kill & streams.busy & ~self._returned
        self._returned &= ~(1 << turn)
        self._silent[turn] = self._silent[turn] + 1 if silent >> turn & 1 else 0
        if self._silent[turn] < self._limit:
            return
        self._silent[turn] = 0
        # One that is on in the next cycle: its last row was not looked at in this one.
        if self._row is None:
            self._sweep, self._row = Sweep(turn, cycle + _TO_SWEEP), 0

    def _note_return(self, cycle: int, stream: int, *, swept: bool) -> None:
        self._returned |= 1 << stream
        sweep = self._sweep
        if sweep is not None and not swept and stream == sweep.stream and sweep.begins <= cycle:
            sweep.reported = True
