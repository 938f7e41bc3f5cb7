"""Where each resident launch's walk stands; the active one's in registers."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.pipes import held
from warploom.lib.rows import Rows
from warploom_spec import Config
from warploom_spec.layouts import BLOCK_NUMBER_BITS


def precedes(value: Value, other: Value) -> Value:
    """Return whether ``value`` + 1 is ``other``, without a carry chain."""
    return (value ^ other) == Cat(C(1, 1), (value & ~other)[:-1])


class ResidentWalk(wiring.Component):
    """Step through the active launch's grid, and keep the walks of the others in a memory.

    The walk follows a pick by one cycle: in the cycle after a pick it shows the picked block, then
    it steps. Rule 15 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        Widths of streams and grid.
    first_number : int, optional
        Number of each launch's first block.
    """

    changed: Signal
    fresh: Signal
    stream: Signal
    grid: Signal
    ones: Signal
    picked: Signal
    leaves: Signal
    active: Signal
    block: Signal
    number: Signal
    last: Signal

    def __init__(self, config: Config, *, first_number: int = 0) -> None:
        self._config, self._first_number = config, first_number
        size = sum(config.grid_bits)
        super().__init__(
            {
                # The cycle after a change: a walk that is `fresh` begins, another one is loaded.
                "changed": In(1),
                "fresh": In(1),
                # The stream that becomes active: from the cycle of the change to the next one.
                "stream": In(config.stream_bits),
                # The active launch's grid, and which of its axes have one block: from two cycles
                # and one cycle after the change on.
                "grid": In(size),
                "ones": In(3),
                # A block was picked in the cycle before.
                "picked": In(1),
                # The active launch is left in this cycle; whose it is.
                "leaves": In(1),
                "active": In(config.stream_bits),
                # In the cycle after a pick: position and number of the picked block. Registers.
                "block": Out(size),
                "number": Out(BLOCK_NUMBER_BITS),
                # A block that is picked in this cycle is the launch's last one.
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        streams = 1 << self._config.stream_bits
        ends = Signal(3)
        saved = Cat(self.block, self.number)
        leaves, stream = held(m, "left", self.leaves, clear=C(0, 1)), held(m, "whose", self.active)
        places = Rows(m, "places", len(saved), streams, block=True)
        places.write(leaves, stream, saved)
        at_end = Rows(m, "at_end", 3, streams)
        at_end.write(leaves, stream, ends)
        # From a register behind the block memory: two cycles after the change.
        then = held(m, "then", places.later(self.stream))
        ends_then = held(m, "ends_then", at_end.now(self.stream))
        load = Signal()
        begin = Signal()
        m.d.sync += load.eq(self.changed & ~self.fresh)
        m.d.comb += begin.eq(self.changed & self.fresh)
        ends_after = self._step(m, ends, ends_then, then, load, begin)
        m.d.comb += self.last.eq(Mux(self.picked, ends_after.all(), ends.all()))
        with m.If(load | self.picked):
            m.d.sync += self.number.eq(Mux(load, then[-BLOCK_NUMBER_BITS:], self.number + 1))
        with m.If(begin):
            m.d.sync += self.number.eq(self._first_number)
        return m

    def _step(
        self, m: Module, ends: Signal, ends_then: Value, then: Value, load: Value, begin: Value
    ) -> Value:
        """Step the three axes; return which are at their end in the block after this one."""
        low, carry, after = 0, Value.cast(C(1, 1)), []
        for axis, bits in enumerate(self._config.grid_bits):
            place, grid = self.block[low : low + bits], self.grid[low : low + bits]
            moves = self.picked & carry
            # The next but one would be behind the grid: place + 2 == grid.
            closing: Any = (
                precedes(place[1:], grid[1:]) & (place[0] == grid[0]) if bits > 1 else C(0, 1)
            )
            turned = Mux(ends[axis], self.ones[axis], closing)
            after.append(Mux(carry, turned, ends[axis]))
            with m.If(load | moves):
                m.d.sync += place.eq(Mux(load, then[low : low + bits], place + 1))
            with m.If(begin | (moves & ends[axis])):
                m.d.sync += place.eq(0)
            with m.If(self.changed):
                m.d.sync += ends[axis].eq(Mux(self.fresh, self.ones[axis], ends_then[axis]))
            with m.Elif(moves):
                m.d.sync += ends[axis].eq(turned)
            carry = carry & ends[axis]
            low += bits
        return Cat(*after)
