"""A grid's blocks in order of their id: x fastest, one a cycle."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts
from warploom_spec.layouts import BLOCK_NUMBER_BITS


class GridWalker(wiring.Component):
    """Walk a grid's blocks in order of their id, x fastest, one a cycle.

    Each axis keeps its coordinate, the coordinate's successor and whether this is the last one, so
    that a step is a choice between registers; adders and comparators look one step ahead.

    Parameters
    ----------
    config : Config
        ``grid_bits`` are the coordinates' widths.
    first_number : int, optional
        Number of each grid's first block, for tests of the numbers' wrap.
    """

    i: stream.Interface
    o: stream.Interface
    flush: Signal

    def __init__(self, config: Config, *, first_number: int = 0) -> None:
        self._config = config
        self._first_number = first_number
        super().__init__(
            {
                # A grid and the block to begin with, `0 <= start < g` in each axis. `ready` is
                # combinational: no grid is held, or the held one's last block transfers at `o`.
                "i": In(stream.Signature(layouts.grid_walk(config).layout())),
                # Valid one cycle after the grid was transferred, then in every cycle after a
                # transfer: one block a cycle, no bubble between two grids. Falls after `flush`
                # alone. `block_number` counts the grid's blocks that were given before.
                "o": Out(stream.Signature(layouts.walked_block(config).layout())),
                # Forgets the held grid. A grid that transfers at `i` in the same cycle is held all
                # the same, and a transfer at `o` in that cycle stands.
                "flush": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        held = Signal()
        last = Signal()
        step = Signal()
        number = Signal(BLOCK_NUMBER_BITS)

        m.d.comb += [
            self.o.payload.last.eq(last),
            self.o.valid.eq(held),
            step.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(~held | (last & step)),
        ]
        with m.If(self.i.ready):
            m.d.sync += held.eq(self.i.valid)
        with m.Elif(self.flush):
            m.d.sync += held.eq(0)

        # Where the next grid's start, and not a successor, comes next whenever anything does:
        # known from registers, so that no late `ready` reaches the adders.
        load = ~held | last
        carry: Value = Signal(init=1)
        ends = []
        for axis, bits in zip("xyz", self._config.grid_bits, strict=True):
            # Within a held grid a coordinate moves when all lower ones wrap.
            end = self._axis(m, axis, bits, load, step & (carry | load) | ~held)
            ends.append(end)
            carry = end if axis == "x" else carry & end
        m.d.comb += last.eq(ends[0] & ends[1] & ends[2])
        with m.If(step | ~held):
            # The first number comes by the registers' reset, which takes no gates.
            m.d.sync += number.eq(Mux(load, self._first_number, number + 1))
        m.d.comb += self.o.payload.block_number.eq(number)
        return m

    def _axis(self, m: Module, axis: str, bits: int, load: Value, move: Value) -> Signal:
        """Add one coordinate's registers; return whether it is at its highest."""
        place = self.o.payload[f"b{axis}"]
        count = Signal(bits, name=f"count_{axis}")
        following = Signal(bits, name=f"following_{axis}")
        end = Signal(name=f"end_{axis}")
        chosen = Signal(bits, name=f"chosen_{axis}")
        size = Signal(bits, name=f"size_{axis}")
        start, wanted = self.i.payload[f"start_{axis}"], self.i.payload[f"g{axis}"]
        wrapped, ends = Mux(end, 0, following), Mux(end, size == 1, _precedes(following, size))
        m.d.comb += [place.eq(count), chosen.eq(Mux(load, start, wrapped))]
        with m.If(move):
            m.d.sync += [
                count.eq(chosen),
                following.eq(chosen + 1),
                end.eq(Mux(load, _precedes(start, wanted), ends)),
            ]
        with m.If(move & load):
            m.d.sync += size.eq(wanted)
        return end


def _precedes(value: Value, other: Value) -> Value:
    """Return whether the value is one less than the other, without a carry from bit to bit.

    Adding 1 turns bit k where it turned bit k - 1 from 1 to 0.
    """
    turned = Cat(C(1, 1), (value & ~other)[:-1])
    return (value ^ other) == turned
