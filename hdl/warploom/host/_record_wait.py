"""How long the records that wait have waited."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: Bits of IRQ_TIMEOUT.
_BITS = 32


class RecordWait(wiring.Component):
    """Say when records have waited for IRQ_TIMEOUT cycles.

    The counter goes down to -1: its highest bit says that the time is over, without a comparison.
    """

    timeout: Signal
    starts: Signal
    late: Signal

    def __init__(self) -> None:
        super().__init__(
            {
                # IRQ_TIMEOUT; 0: never. `starts` must be 1 in the cycle in which it is new.
                "timeout": In(_BITS),
                # The count starts in this cycle.
                "starts": In(1),
                # The time is over: from `timeout` + 2 cycles after the last start on.
                "late": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        left = Signal(_BITS + 1)
        # A cycle behind a new value: the count has not ended by then.
        limited = Signal()
        m.d.sync += limited.eq(self.timeout.any())
        with m.If(self.starts):
            m.d.sync += left.eq(self.timeout)
        with m.Elif(~left[-1]):
            m.d.sync += left.eq(left - 1)
        m.d.comb += self.late.eq(left[-1] & limited)
        return m
