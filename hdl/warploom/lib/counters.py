"""Wide counters without wide adders."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class WideCounters(wiring.Component):
    """Count by one in several counters, each exact in every cycle, without wide adders.

    An adder steps a counter's low bits. A register holds the next value of the high bits, which
    take it when the low bits wrap. While the low bits count on, that register steps to the value
    after, one bit a cycle.

    Parameters
    ----------
    number : int
        How many counters.
    bits : int
        Their width, at least 3.
    ready : bool, optional
        They start at -1, all ones, instead of 0.
    """

    step: Signal
    restart: Signal
    values: list[Signal]

    def __init__(self, number: int, bits: int, *, ready: bool = False) -> None:
        self._ready = ready
        # Between two wraps there is time for two turns: to wait for the ring, and to step the bits.
        self._low = next(low for low in range(1, bits) if 2 * (bits - low + 1) <= 1 << low)
        super().__init__(
            {
                # The counter is one more, modulo 2^bits, after this cycle.
                "step": In(number),
                # The counter starts anew after this cycle, whatever `step` says.
                "restart": In(number),
                # The counters. Registers. (The stubs lack `init`.)
                "values": Out(bits, init=-1 if ready else 0).array(number),  # type: ignore[call-arg]
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        # All registers of high bits step in the same turn; a ring of registers marks its begin.
        turn = len(self.values[0]) - self._low
        ring = Signal(turn + 1, init=1)
        m.d.sync += ring.eq(Cat(ring[-1], ring[:-1]))
        for k, value in enumerate(self.values):
            self._counter(m, k, value, ring)
        return m

    def _counter(self, m: Module, k: int, value: Signal, ring: Signal) -> None:
        """Add one counter."""
        low, high = value[: self._low], value[self._low :]
        # The values after a reset and after a restart are the same: two values would take gates.
        following = Signal(len(high), init=0 if self._ready else 1, name=f"following_{k}")
        due, turning, carry, wraps = (
            Signal(name=f"{name}_{k}") for name in ("due", "turning", "carry", "wraps")
        )
        m.d.comb += wraps.eq(self.step[k] & low.all())
        m.d.sync += [
            low.eq(low + self.step[k]),
            due.eq(wraps | (due & ~ring[0])),
            carry.eq(ring[0] | (carry & following[0])),
        ]
        with m.If(wraps):
            m.d.sync += high.eq(following)
        with m.If(ring[0]):
            m.d.sync += turning.eq(due)
        with m.If(turning & ~ring[0]):
            m.d.sync += following.eq(Cat(following[1:], following[0] ^ carry))
        with m.If(self.restart[k]):
            m.d.sync += [
                value.eq(value.init),
                following.eq(following.init),
                due.eq(0),
                turning.eq(0),
            ]
