"""Which SM the idle pipes look at."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config

#: Cycles without an advance after which the scan takes a pick's turn.
_PATIENCE = 7


class Scan(wiring.Component):
    """Go over the SMs, one a cycle, whenever a pipe is idle; never starve in the first round.

    Rules 23 and 24 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``sms``.
    rotates : bool
        Whether it begins behind the SM that got the last block, else at SM 0.
    round_known : int
        Cycles from the end of a round to the first one in which it is known.
    """

    change: Signal
    idle: Signal
    picked: Signal
    picked_sm: Signal
    returns_look: Signal
    sm: Signal
    share: Signal
    known: Signal

    def __init__(self, config: Config, *, rotates: bool, round_known: int) -> None:
        self._config, self._rotates, self._round_known = config, rotates, round_known
        super().__init__(
            {
                # Another launch becomes active; none is, and none waits: the scan begins anew.
                "change": In(1),
                "idle": In(1),
                # A block was picked in the cycle before, and for which SM.
                "picked": In(1),
                "picked_sm": In(config.sm_bits),
                # The pipe of returns looks at `sm` in this cycle.
                "returns_look": In(1),
                # The SM to look at. A register.
                "sm": Out(config.sm_bits),
                # No block may be picked in this cycle. A register.
                "share": Out(1),
                # All SMs were looked at since the scan began. A register.
                "known": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        sms = self._config.sms
        begin = Signal()
        advance = Signal()
        looking = Signal()
        first = Signal.like(self.sm)
        to_do = Signal(range(sms + 1))
        waited = Signal(3)
        m.d.comb += [
            begin.eq(self.change | self.idle),
            advance.eq(~self.picked | self.returns_look),
            looking.eq(to_do.any()),
        ]
        m.d.sync += [
            waited.eq(Mux(advance, 0, waited + 1)),
            self.share.eq(looking & (waited == _PATIENCE)),
        ]
        with m.If(begin):
            m.d.sync += [to_do.eq(sms), self.sm.eq(first)]
        with m.Elif(advance):
            m.d.sync += self.sm.eq(Mux(self.sm == sms - 1, 0, self.sm + 1))
            with m.If(looking):
                m.d.sync += to_do.eq(to_do - 1)
        if self._rotates:
            with m.If(self.picked):
                m.d.sync += first.eq(Mux(self.picked_sm == sms - 1, 0, self.picked_sm + 1))
        landing = Signal(self._round_known - 1)
        m.d.sync += [
            landing.eq(Cat(~looking, landing[:-1]) & (~begin).replicate(len(landing))),
            self.known.eq((self.known | landing[-1]) & ~begin),
        ]
        return m
