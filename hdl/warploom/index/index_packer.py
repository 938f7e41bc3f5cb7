"""Thread indices in as few bits as they need: packed for the memory, and unpacked in a core."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts
from warploom_spec.layouts import WIDTH_FIELD_BITS


class IndexPacker(wiring.Component):
    """Clear the lanes without a thread, and register a warp for the memory.

    The words arrive placed: x low, then y, then z, each as wide as its largest index. So clearing
    lanes is all that is left to do. One register stage, one warp a cycle.

    Parameters
    ----------
    config : Config
        ``warp_size``, ``word_bits``.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # `ready` is combinational: no warp is refused at `o` in this cycle.
                "i": In(stream.Signature(layouts.index_lanes(config).layout())),
                # One cycle after `i`, until taken.
                "o": Out(stream.Signature(layouts.packed_warp(config).layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        lanes = self.i.payload
        bits = self._config.word_bits
        # `vacant` is the inverse of `valid`. It drives `ready` alone; `valid` drives hundreds.
        valid = Signal()
        vacant = Signal(init=1)
        layout = self.o.payload.shape()
        # A reset does not clear these registers: their reset inputs clear lanes by the mask.
        packed = data.View(layout, Signal(layout.size, name="packed", reset_less=True))
        m.d.comb += [
            self.o.valid.eq(valid),
            self.o.payload.eq(packed),
            self.i.ready.eq(vacant | self.o.ready),
        ]
        m.d.sync += vacant.eq(~self.i.valid & self.i.ready)
        with m.If(~valid | self.o.ready):
            m.d.sync += valid.eq(self.i.valid)
            for name in ("address", "mask", "first", "last", "width_x", "width_y", "width_z"):
                m.d.sync += packed[name].eq(lanes[name])
            for lane in range(self._config.warp_size):
                word = packed.words.word_select(lane, bits)
                placed = lanes.lanes.word_select(lane, bits)
                m.d.sync += word.eq(placed)
        for lane in range(self._config.warp_size):
            with m.If(self.i.ready & ~lanes.mask[lane]):
                m.d.sync += packed.words.word_select(lane, bits).eq(0)
        return m


class IndexUnpacker(wiring.Component):
    """Take a packed word apart by the widths that came with the block; combinational.

    Parameters
    ----------
    config : Config
        ``word_bits``.
    """

    word: Signal
    width_x: Signal
    width_y: Signal
    width_z: Signal
    index: data.View

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                # A packed index.
                "word": In(config.word_bits),
                # Bits of x, y and z in it.
                **{
                    f"width_{axis}": In(bits)
                    for axis, bits in zip("xyz", WIDTH_FIELD_BITS, strict=True)
                },
                # x, y and z.
                "index": Out(layouts.thread_index(config).layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        rest = self.word
        for axis in "xyz":
            width = getattr(self, f"width_{axis}")
            index = self.index[axis]
            for bit in range(len(index)):
                within = Mux(width > bit, rest[bit], 0) if bit < len(rest) else 0
                m.d.comb += index[bit].eq(within)
            rest = rest >> width
        return m
