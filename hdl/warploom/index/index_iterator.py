"""A warp of thread indices a cycle, by adders and comparators alone."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.index._iterator_lanes import Lanes, base
from warploom.index._iterator_setup import Setup, Sizes, constants
from warploom_spec import Config, layouts


class IndexIterator(wiring.Component):
    """Make the indices of all threads of a block, W of them in every cycle.

    Three units in a row: `Setup` derives the block's constants, `_Walk` steps the first lane's
    position from warp to warp, and `Lanes` makes the other lanes from it. A position is kept as the
    distances from the end of the row, the plane and the block, side by side in one number. A step
    is one subtraction from this number: its borrows run from x to y to z. A result below 0 says
    that the warp was the last.

    Parameters
    ----------
    config : Config
        ``warp_size``, ``max_threads``, ``word_bits``, ``step_from_host``.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A block shape. `ready` while the setup unit is empty.
                "i": In(stream.Signature(layouts.index_config(config).layout())),
                # One warp a cycle; the first `timing.iterator_setup` + 1 + `timing.iterator_pipe`
                # cycles after the transfer at `i`. While a warp is refused everything but the setup
                # unit stands still.
                "o": Out(stream.Signature(layouts.index_lanes(config).layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        sizes = Sizes(self._config)
        m.submodules.setup = setup = Setup(self._config)
        m.submodules.walk = walk = _Walk(self._config)
        m.submodules.lanes = lanes = Lanes(sizes)
        # All of these say whether the stages may move. Each drives hundreds of registers, so each
        # has its own source: `enable` for the lanes, `vacant` for the walk, `vacant_for_block` for
        # the block's constants, `occupied` for the lanes' resets. The reset values of the last two
        # differ, which keeps synthesis from merging them. The difference has no effect: in the
        # cycle after a reset the setup unit has nothing ready and the lanes hold no warp.
        enable = Signal()
        enable_walk = Signal()
        vacant = Signal(init=1)
        vacant_for_block = Signal()
        occupied = Signal(init=1)
        wiring.connect(m, wiring.flipped(self.i), setup.i)
        m.d.comb += [
            enable.eq(~self.o.valid | self.o.ready),
            enable_walk.eq(vacant | self.o.ready),
            walk.enable.eq(enable_walk),
            walk.ripe.eq(setup.ripe),
            walk.new_single.eq(setup.single),
            # The constants are loaded at a last warp and without a warp, even if the setup unit
            # has nothing ready; such constants are never used. So the load's enable, which hundreds
            # of registers wait for, is one gate.
            walk.take.eq((vacant_for_block | self.o.ready) & walk.last),
            setup.take.eq(enable_walk & walk.loads),
            walk.new_address.eq(setup.address),
            walk.new_warps.eq(setup.warps),
            walk.new.eq(setup.constants),
            lanes.enable.eq(enable),
            lanes.clear.eq(~occupied | self.o.ready),
            lanes.constants.eq(walk.constants),
            lanes.base.eq(walk.base),
        ]
        before_o = self._output(m, enable, walk, lanes)
        with m.If(enable):
            m.d.sync += [
                vacant.eq(~before_o),
                vacant_for_block.eq(~before_o),
                occupied.eq(before_o),
            ]
        return m

    def _output(self, m: Module, enable: Signal, walk: "_Walk", lanes: Lanes) -> Value:
        """Delay address, flags and widths like the lanes; return the value before ``o.valid``."""
        config = self._config
        k = walk.constants
        o = self.o.payload
        moving: list[tuple[Value, Value]] = [
            (o.address, walk.address),
            (o.first, walk.first),
            (o.last, walk.last),
            *((o[f"width_{axis}"], k[f"width_{axis}"]) for axis in "xyz"),
        ]
        beside: Value = Cat(value for _, value in moving)
        valid: Value = walk.valid
        for stage in range(1, Lanes.STAGES + 1):
            kept = Signal.like(beside, name=f"beside_{stage}", reset_less=True)
            there = Signal(name=f"valid_{stage}")
            with m.If(enable):
                m.d.sync += [kept.eq(beside), there.eq(valid)]
            beside, before, valid = kept, valid, there
        m.d.comb += [
            Cat(value for value, _ in moving).eq(beside),
            self.o.valid.eq(valid),
            o.mask.eq(lanes.mask),
        ]
        bits, lane = config.word_bits, Sizes(config).lane
        m.d.comb += [
            o.lanes.word_select(n, bits).eq(lanes.lanes.word_select(n, lane))
            for n in range(config.warp_size)
        ]
        return before


class _Walk(wiring.Component):
    """The generation unit: the place of each warp's first thread, one a cycle.

    The registers hold the next warp's position, so that a register says in each cycle whether the
    current warp is the last one. A dimension that wrapped stays below 0 for a cycle. The next step
    adds its number of columns or rows; for the few low bits that the lanes need, a small adder does
    so at once.
    """

    enable: Signal
    ripe: Signal
    loads: Signal
    take: Signal
    new_address: Signal
    new_warps: Signal
    new_single: Signal
    new: data.View
    valid: Signal
    first: Signal
    last: Signal
    address: Signal
    constants: data.View
    base: data.View

    def __init__(self, config: Config) -> None:
        self._config = config
        self._sizes = Sizes(config)
        block = constants(self._sizes)
        super().__init__(
            {
                # The unit moves on.
                "enable": In(1),
                # The setup unit has a block's constants; the unit loads them if it is enabled.
                "ripe": In(1),
                "loads": Out(1),
                # The block's constants are taken at the end of this cycle.
                "take": In(1),
                # The setup unit's block.
                "new_address": In(config.index_address_bits),
                "new_warps": In(config.warps_bits),
                "new_single": In(1),
                "new": In(block),
                # A warp; it is the block's first or last one; its address. Registers, but `valid`.
                "valid": Out(1),
                "first": Out(1),
                "last": Out(1),
                "address": Out(config.index_address_bits),
                # The warp's block, and the position of its first thread.
                "constants": Out(block),
                "base": Out(base(self._sizes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        block = data.View(
            self.constants.shape(),
            Signal(self.constants.shape().size, name="block", reset_less=True),
        )
        m.d.comb += self.constants.eq(block)
        with m.If(self.take):
            m.d.sync += block.eq(self.new)
        self._count(m, self._step(m))
        return m

    def _count(self, m: Module, ends: Value) -> None:
        """Count warps and addresses; take the next block when this one ends.

        ``ends``: in a cycle that moves on, the next warp is the last one by its position.
        """
        full = Signal()
        nothing = Signal()
        first = Signal()
        # The unit is empty, or at its last warp. One register, because `take` drives hundreds.
        free = Signal(init=1)
        address = Signal.like(self.address, reset_less=True)
        left = Signal(self._config.warps_bits, reset_less=True)
        one_more = Signal()  # After this warp.
        m.d.comb += [
            self.last.eq(free),
            self.loads.eq(self.ripe & free),
            self.valid.eq(full & ~nothing),
            self.first.eq(first),
            self.address.eq(address),
            self.base.restart.eq(free),
        ]
        with m.If(self.enable):
            m.d.sync += [
                full.eq(full & ~free),
                first.eq(0),
                address.eq(address + 1),
                left.eq(left - 1),
                one_more.eq(left == 3),
                # A free unit stays free if it takes a block of one warp, or no block.
                free.eq(Mux(free, self.new_single | self.new.left_z[-1], one_more | ends)),
            ]
            with m.If(self.loads):
                m.d.sync += [
                    full.eq(1),
                    first.eq(1),
                    nothing.eq(self.new_warps == 0),
                    address.eq(self.new_address),
                    left.eq(self.new_warps),
                    one_more.eq(self.new_warps == 2),
                ]

    def _step(self, m: Module) -> Value:
        """Subtract the step from the next warp's distances, over all dimensions at once.

        Returns whether the warp after the next one is beyond the block's end.
        """
        k = self.constants
        whole = self._sizes.whole
        layout = data.StructLayout(
            {"x": whole[0], "low_x": 1, "y": whole[1], "low_y": 1, "z": whole[2] + 1}
        )
        wraps = {a: Signal(name=f"wraps_{a}") for a in "xy"}
        held, place, step, stepped = (
            data.View(layout, Signal(layout.size, name=n, reset_less=True))
            for n in ("held", "place", "step", "stepped")
        )
        added = {a: Signal(whole[i], name=f"added_{a}") for i, a in enumerate("xy")}
        m.d.comb += [
            *(place[axis].eq(held[axis]) for axis in "xyz"),
            *(step[axis].eq(added[axis]) for axis in "xy"),
            step.z.eq(k.step_z),
            place.low_x.eq(0),
            stepped.as_value().eq(place.as_value() - step.as_value()),
        ]
        below = {"x": stepped.low_x, "y": stepped.low_y}
        with m.If(self.enable):
            m.d.sync += held.eq(stepped)
            for axis in "xy":
                # A wrapped dimension gets its size d back. left = last - step = d - 1 - step, so
                # -(~left) = d - step is added.
                back = ~k[f"left_{axis}"]
                m.d.sync += [
                    wraps[axis].eq(below[axis]),
                    added[axis].eq(Mux(below[axis], back, k[f"step_{axis}"])),
                ]
            with m.If(self.loads):
                m.d.sync += [held[axis].eq(self.new[f"left_{axis}"]) for axis in "xyz"]
                for axis in "xy":
                    m.d.sync += [wraps[axis].eq(0), added[axis].eq(self.new[f"step_{axis}"])]
        m.d.comb += [self.base.wraps_x.eq(wraps["x"]), self.base.wraps_y.eq(wraps["y"])]
        self._corrected(m, place, wraps)
        return Value.cast(stepped.z[-1])

    def _corrected(self, m: Module, place: data.View, wraps: dict[str, Signal]) -> None:
        """Keep the low bits of a warp's distances, corrected for wraps."""
        for axis, bits in zip("xyz", self._sizes.near, strict=True):
            low = Signal(bits, name=f"low_{axis}", reset_less=True)
            far = Signal(name=f"far_{axis}", reset_less=True)
            distance = place[axis]
            near, beyond = distance[:bits], distance[bits:].any()
            if axis in wraps:
                wrapped = wraps[axis]
                last = self.constants[f"last_{axis}"]
                # A wrapped distance is between -2**bits and -1: of the sum with d, only d's own
                # high bits and the low sum's carry are left.
                total = near + last[:bits] + 1
                high = last[bits:]
                reaches = (high[1:].any()) | (high[0] & total[bits])
                near, beyond = Mux(wrapped, total[:bits], near), Mux(wrapped, reaches, beyond)
            new = self.new[f"last_{axis}"]
            with m.If(self.enable):
                m.d.sync += [
                    low.eq(Mux(self.loads, new[:bits], near)),
                    far.eq(Mux(self.loads, new[bits:].any(), beyond)),
                ]
            m.d.comb += [self.base[axis].eq(low), self.base[f"far_{axis}"].eq(far)]
