"""Finds SMs that do not report a killed launch's blocks."""

from typing import Any

from amaranth.hdl import C, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import decoded
from warploom.lib.pipes import Pipe, held
from warploom.lib.rows import Rows
from warploom_spec import Config

#: A row's way from its turn to the books.
ROW_STAGES = 3


class LostSms(wiring.Component):
    """Time killed launches, sweep over the slots of one that nobody reports, and mark its SMs.

    Rules 31 and 32 of ``docs/dispatch/block_dispatcher.md``. The component keeps ``lost`` over a
    ``restart``; all else starts anew.

    Parameters
    ----------
    config : Config
        ``sms``, ``stream_bits``, ``kill_timeout``; without ``sm_kill`` it does nothing.
    """

    restart: Signal
    kill: Signal
    busy: Signal
    turn: Signal
    at_turn: Signal
    returned: Signal
    reported: Signal
    runs: Signal
    stream: Signal
    sm: Signal
    last_row: Signal
    booting: Signal
    returns_lost: Signal
    steal: Signal
    found: Signal
    lost: Signal
    no_sm: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # All but `lost` starts anew.
                "restart": In(1),
                # Flags of the streams, and the one that is visited.
                "kill": In(streams),
                "busy": In(streams),
                "turn": In(config.stream_bits),
                "at_turn": In(streams),
                # At the books: a block of these streams returns; it was reported, not swept; a
                # block runs in the sweep's row; whose it is, and on which SM.
                "returned": In(streams),
                "reported": In(1),
                "runs": In(1),
                "stream": In(config.stream_bits),
                "sm": In(config.sm_bits),
                # The sweep's last row is looked at in this cycle.
                "last_row": In(1),
                "booting": In(1),
                # The row at the books is one of the round that returns blocks.
                "returns_lost": Out(1),
                # No report is granted in this cycle: a sweep looks at a row. A register.
                "steal": Out(1),
                # The row's SM is found lost in this cycle.
                "found": Out(1),
                # SMs that are lost; all are. Registers.
                "lost": Out(config.sms),
                "no_sm": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        if not self._config.sm_kill:
            # No SM is ever lost.
            return m
        late, late_stream = self._visits(m)
        sweeping = Signal()
        second = Signal()
        mute = Signal()
        whose = Signal.like(self.stream, name="whose")
        quarter = Signal(2)
        with m.If(~sweeping & ~self.booting & late):
            m.d.sync += [sweeping.eq(1), second.eq(0), whose.eq(late_stream), mute.eq(1)]
        with m.Elif(self.reported & (self.stream == whose)):
            m.d.sync += mute.eq(0)
        with m.If(self.last_row):
            m.d.sync += [second.eq(~second), sweeping.eq(~second)]
        # A row comes to the books three cycles after its turn: so does its round.
        round_two = Pipe(m, "second", second, 0, ROW_STAGES)[ROW_STAGES]
        # A row's return is in all books before the next row is looked at.
        m.d.sync += [quarter.eq(quarter + 1), self.steal.eq(sweeping & (quarter == 0))]
        one = decoded(m, "found_one", self.sm, len(self.lost), self.found)
        m.d.comb += [
            self.returns_lost.eq(round_two),
            self.found.eq(self.runs & ~round_two & mute & (self.stream == whose)),
        ]
        m.d.sync += [self.lost.eq(self.lost | one), self.no_sm.eq(self.lost.all())]
        with m.If(self.restart):
            m.d.sync += [
                *(s.eq(0) for s in (sweeping, second, mute, quarter, self.steal)),
                # What was found in this very cycle is kept with the others.
                self.no_sm.eq(0),
            ]
        return m

    def _visits(self, m: Module) -> tuple[Any, Any]:
        """Count silent visits of each stream; return whether they are enough, and whose."""
        config = self._config
        streams = 1 << config.stream_bits
        limit = max(1, config.kill_timeout // streams) + 1
        counts = Rows(m, "silent_visits", limit.bit_length(), streams)
        silent = Signal(streams, init=-1)
        m.d.sync += silent.eq((silent | self.at_turn) & ~self.returned)
        count, stream = held(m, "count", counts.now(self.turn)), held(m, "visited", self.turn)
        counts_on = Signal()
        late = Signal()
        m.d.sync += counts_on.eq((self.kill & self.busy & silent & self.at_turn).any())
        m.d.comb += late.eq(counts_on & (count == limit))
        counts.write(C(1, 1), stream, Mux(counts_on & ~late, count + 1, 0)[: limit.bit_length()])
        with m.If(self.restart):
            m.d.sync += [silent.eq(-1), counts_on.eq(0)]
        return late, stream
