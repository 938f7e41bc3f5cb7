"""IndexIterator's constants of a block: steps, corrections and positions, without division."""

from dataclasses import dataclass
from functools import cached_property

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts, timing
from warploom_spec.config import BLOCK_FIELD_BITS, BLOCK_LIMITS
from warploom_spec.layouts import WIDTH_FIELD_BITS

#: Lanes of a group: a node and the seven lanes that are made from it.
GROUP = 8


@dataclass(frozen=True)
class Sizes:
    """Widths that follow from the configuration, after `Setup` has merged narrow dimensions.

    After the merging x has at least 3 columns, or the block has at most 2 threads; y has at least 3
    rows, or z is 1. So a warp contains at most W / 3 ends of rows and W / 9 ends of planes.
    """

    config: Config

    @property
    def warp(self) -> int:
        """Lanes of a warp, W."""
        return self.config.warp_size

    @property
    def span(self) -> int:
        """Lanes that the widths allow for: a whole group at least, also where W is less."""
        return max(self.warp, GROUP)

    @property
    def nodes(self) -> range:
        """First lanes of all groups but the first."""
        return range(GROUP, self.warp, GROUP)

    @cached_property
    def lane(self) -> int:
        """Bits of a lane's word that a legal shape can use."""
        threads = self.config.max_threads
        return min(self.config.word_bits, max(GROUP, (threads - 1).bit_length() + 2))

    @cached_property
    def near(self) -> tuple[int, int, int]:
        """Bits that count the columns, rows and planes that one warp can contain."""
        planes = max(self.span // 9, (self.span - GROUP) // 9 + 1)
        return (self.span - 1).bit_length(), (self.span // 3).bit_length(), planes.bit_length()

    @property
    def up(self) -> int:
        """Bits that say how many bits above their lowest position y and z stand in a word."""
        return ((self.span - 1).bit_length() - 2).bit_length()

    @cached_property
    def whole(self) -> tuple[int, int, int]:
        """Bits of a block's last column, row and plane; always more than `near`."""
        threads = self.config.max_threads
        limits = (2 * BLOCK_LIMITS[1], BLOCK_LIMITS[1], BLOCK_LIMITS[2])
        most = (min(n, threads // least) for n, least in zip(limits, (1, 3, 9), strict=True))
        bits = (max(0, n - 1).bit_length() for n in most)
        x, y, z = (max(b, near + 1) for b, near in zip(bits, self.near, strict=True))
        return x, y, z


def constants(sizes: Sizes) -> data.StructLayout:
    """Lay out the constants of a block that its warps need while they are made.

    ``last``: last column, row and plane. ``step``: index of thread W. ``left``: ``last`` minus
    ``step`` over all three, so negative in z if the block has one warp. ``node_x_8`` and so on:
    index of each node's lane; ``stay_x_8``, ``stay_y_8``: its distance from the end of the row and
    of the plane (at most 7 and 3). ``place_step``: the step, placed; ``up_y``, ``up_z``: how many
    bits above the lowest possible place y and z stand.
    ``fix_x``, ``fix_y``: added to a placed word at a wrap; ``fix_x_2``, ``fix_x_4``, ``fix_xy_4``:
    the same plus 2 or 4 lanes. ``beyond_4``: columns beyond 4, at most 3. ``columns_3``: a row has
    3 columns.
    """
    x, y, z = sizes.near
    last_x, last_y, last_z = sizes.whole
    # No arrays: Yosys's mapper takes a name that ends in a number in brackets for a bit of a bus.
    node = {"node_x": x, "node_y": y, "node_z": z, "stay_x": 3, "stay_y": 2}
    return data.StructLayout(
        {
            "last_x": last_x,
            "last_y": last_y,
            "last_z": last_z,
            "step_x": x + 1,
            "step_y": y,
            "step_z": z,
            "left_x": last_x,
            "left_y": last_y,
            "left_z": last_z + 1,
            **{f"{name}_{s}": bits for s in sizes.nodes for name, bits in node.items()},
            "up_y": sizes.up,
            "up_z": sizes.up,
            "place_step": sizes.lane,
            "fix_x": sizes.lane,
            "fix_y": sizes.lane,
            "fix_x_2": sizes.lane,
            "fix_x_4": sizes.lane,
            "fix_xy_4": sizes.lane,
            "beyond_4": 2,
            "columns_3": 1,
            **{f"width_{a}": b for a, b in zip("xyz", WIDTH_FIELD_BITS, strict=True)},
        }
    )


def up_to(value: Value, bits: int) -> Value:
    """Return the value, cut to the highest number of so many bits."""
    return value[:bits] | value[bits:].any().replicate(bits)


def _bit_length(value: Value) -> Value:
    """Return the place of the highest set bit, counted from 1; 0 for 0."""
    result: Value = C(0, len(value).bit_length())
    for bit in range(len(value)):
        result = Mux(value[bit], bit + 1, result)
    return result


def _fix(last: Value) -> Value:
    """Return 2**width - d of a dimension with d - 1 = ``last``."""
    return Cat(~last[bit] & last[bit + 1 :].any() for bit in range(len(last)))


def _key_bits(values: list[int]) -> int:
    """Return the bits of a table's keys. The last value is for all keys at or above its own."""
    return (len(values) - 2).bit_length()


def _table(m: Module, name: str, key: Value, bits: int, values: list[int], beyond: Value) -> Signal:
    """Register a table's value; keys beyond the table's end get its last value.

    ``beyond`` is 1 when the key has more bits than `_key_bits`. It drives the register's reset
    input, which takes no gates.
    """
    target = Signal(bits, name=name, init=values[-1] & ((1 << bits) - 1), reset_less=True)
    with m.Switch(key[: _key_bits(values)]):
        for k, value in enumerate(values[:-1]):
            with m.Case(k):
                m.d.sync += target.eq(value)
        with m.Default():
            m.d.sync += target.eq(values[-1])
    with m.If(beyond):
        m.d.sync += target.eq(values[-1])
    return target


def placed(sizes: Sizes, index: tuple[Value, Value, Value], up: tuple[Value, Value]) -> Value:
    """Place an index of one warp in a word: x lowest, then y, then z."""
    x, y, z = index
    return (x | (y << 2 << up[0]) | (z << 4 << up[1]))[: sizes.lane]


class Setup(wiring.Component):
    """One configuration on its way to the generation unit.

    Dimensions of 1 and 2 are merged with the next one: (1, b, c) becomes (b, c, 1), and (2, b, c)
    becomes (2 b, c, 1); y and z likewise. The placed words stay the same, since x has no bit or one
    bit there. After the merging at most one row ends within any three lanes. The indices of lanes
    8, 16, ... and of the next warp's first thread come from tables over the number of columns and
    rows. The tables are small: beyond W columns or rows every number gives the same value.

    Parameters
    ----------
    config : Config
        Widths, ``warp_size``, ``step_from_host``.
    """

    i: stream.Interface
    ripe: Signal
    single: Signal
    take: Signal
    address: Signal
    warps: Signal
    constants: data.View

    def __init__(self, config: Config) -> None:
        self._config = config
        self._sizes = Sizes(config)
        super().__init__(
            {
                # `ready` while the unit is empty (a register).
                "i": In(stream.Signature(layouts.index_config(config).layout())),
                # The constants are valid, from `timing.iterator_setup` cycles after the transfer
                # until `take`.
                "ripe": Out(1),
                # `ripe` is 0, or the configuration has at most one warp (a register).
                "single": Out(1),
                # The generation unit takes the constants.
                "take": In(1),
                # The configuration's address and number of warps.
                "address": Out(config.index_address_bits),
                "warps": Out(config.warps_bits),
                # See `constants`.
                "constants": Out(constants(self._sizes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        loaded = Signal()
        age = Signal(timing(self._config).iterator_setup)
        empty = Signal(init=1)
        address = Signal.like(self.address)
        warps = Signal.like(self.warps)
        single = Signal(init=1)
        m.d.comb += [
            loaded.eq(self.i.valid & self.i.ready),
            self.i.ready.eq(empty),
            self.ripe.eq(age[-1]),
            self.single.eq(single),
            self.address.eq(address),
            self.warps.eq(warps),
        ]
        after = Cat(loaded, age[:-2], (age[-2] | age[-1]) & ~self.take)
        m.d.sync += [
            age.eq(after),
            empty.eq(~after.any()),
            single.eq(~after[-1] | (warps <= 1)),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                address.eq(self.i.payload.address),
                warps.eq(self.i.payload.warps),
            ]
        self._beyond: dict[int, Signal] = {}
        last, step = self._merge(m)
        last["late_x"] = Signal.like(last["x"], name="late_x", reset_less=True)
        m.d.sync += last["late_x"].eq(last["x"])
        up_y, up_z = self._fixes(m, last)
        self._steps(m, last, step, up_y, up_z)
        # `last_x` comes from the later one of two registers: the first one drives many gates.
        for axis, register in zip("xyz", ("late_x", "y", "z"), strict=True):
            m.d.comb += self.constants[f"last_{axis}"].eq(last[register])
        return m

    def _merge(self, m: Module) -> tuple[dict[str, Signal], dict[str, Signal]]:
        """Load a configuration and merge its narrow dimensions, in two cycles.

        Returns the last column, row and plane, and the host's step (empty without one).
        """
        given = self.i.payload
        narrow = {
            (axis, size): Signal(name=f"d{axis}_is_{size}", reset_less=True)
            for axis in "xy"
            for size in (1, 2)
        }
        raw = {
            axis: Signal((most - 1).bit_length(), name=f"raw_{axis}", reset_less=True)
            for axis, most in zip("xyz", BLOCK_LIMITS, strict=True)
        }
        host = {
            axis: Signal(bits, name=f"raw_step_{axis}", reset_less=True)
            for axis, bits in zip("xyz", BLOCK_FIELD_BITS, strict=True)
        }
        with m.If(self.i.ready):
            m.d.sync += [raw[axis].eq(given[f"d{axis}"] - 1) for axis in "xyz"]
            m.d.sync += [flag.eq(given[f"d{a}"] == size) for (a, size), flag in narrow.items()]
            if self._config.step_from_host:
                m.d.sync += [host[axis].eq(given[f"step_{axis}"]) for axis in "xyz"]
        for axis in "xyz":
            width = Signal.like(self.constants[f"width_{axis}"], name=f"width_{axis}")
            m.d.sync += width.eq(_bit_length(raw[axis]))
            m.d.comb += self.constants[f"width_{axis}"].eq(width)
        # With 2 b columns the last column is 2 (b - 1) + 1: the last of b, with a bit 1 below it.
        last, self._next_last = self._merged(m, "last", raw, (C(1, 1), C(1, 1)), narrow)
        if not self._config.step_from_host:
            return last, {}
        step, _ = self._merged(m, "step", host, (host["x"][0], host["y"][0]), narrow)
        return last, step

    def _merged(
        self,
        m: Module,
        name: str,
        raw: dict[str, Signal],
        low: tuple[Value, Value],
        narrow: dict[tuple[str, int], Signal],
    ) -> tuple[dict[str, Signal], dict[str, Signal]]:
        """Register an index of the merged dimensions; ``low`` are the bits below y and z.

        Returns the registers, and their values of the next cycle.
        """
        bits = dict(zip("xyz", self._sizes.whole, strict=True))
        kept = {a: Signal(n, name=f"{name}_{a}", reset_less=True) for a, n in bits.items()}
        merged = {a: Signal(n, name=f"next_{name}_{a}") for a, n in bits.items()}
        m.d.sync += [kept[axis].eq(merged[axis]) for axis in "xyz"]
        x, y, z = raw["x"], raw["y"], raw["z"]
        one_x, two_x = narrow["x", 1], narrow["x", 2]
        one_y, two_y = narrow["y", 1], narrow["y", 2]
        with m.If((one_x & (one_y | two_y)) | (two_x & one_y)):
            one_row = Cat(Mux(one_x, low[1], low[0]), z)
            m.d.comb += [merged["x"].eq(Mux(one_x & one_y, z, one_row)), merged["y"].eq(0)]
        with m.Elif(one_x | two_x):
            m.d.comb += [merged["x"].eq(Mux(one_x, y, Cat(low[0], y))), merged["y"].eq(z)]
        with m.Else():
            rows = Mux(two_y, Cat(low[1], z), y)
            m.d.comb += [merged["x"].eq(x), merged["y"].eq(Mux(one_y, z, rows))]
        m.d.comb += merged["z"].eq(Mux(Cat(narrow.values()).any(), 0, z))
        return kept, merged

    def _fixes(self, m: Module, last: dict[str, Signal]) -> tuple[Signal, Signal]:
        """Derive the number that a wrap adds: 2**width - d, which carries into the next dimension.

        Returns how many bits y and z of one warp stand above their lowest possible position.
        """
        k = self.constants
        placed = self._sizes.lane
        fix_x, fix_y, fix_x_4 = (
            Signal(placed, name=n, reset_less=True) for n in ("fix_x", "fix_y", "fix_x_4")
        )
        loose_y = Signal(len(last["y"]), reset_less=True)
        beyond_4 = Signal(2, reset_less=True)
        columns_3 = Signal(reset_less=True)
        width_x, width_y = (Signal(4, name=n, reset_less=True) for n in ("width_mx", "width_my"))
        up_y, up_z = (Signal(self._sizes.up, name=n, reset_less=True) for n in ("up_y", "up_z"))
        m.d.sync += [
            fix_x.eq(_fix(last["x"])),
            loose_y.eq(_fix(last["y"])),
            width_x.eq(_bit_length(last["x"])),
            width_y.eq(_bit_length(last["y"])),
            # Within a warp y is 0 unless x's width is 2 to log2(W) bits, and z is 0 unless both
            # widths together are 4 bits or more.
            up_y.eq(width_x - 2),
            up_z.eq(width_x + width_y - 4),
            columns_3.eq(last["late_x"] == 2),
            beyond_4.eq(Mux(last["late_x"] >= 6, 3, last["late_x"][:2] - 3)),
            fix_y.eq(loose_y << width_x),
            fix_x_4.eq(fix_x + 4),
        ]
        m.d.comb += [
            k.fix_x.eq(fix_x),
            k.fix_y.eq(fix_y),
            k.fix_x_2.eq(fix_x + 2),
            k.fix_x_4.eq(fix_x_4),
            k.fix_xy_4.eq(fix_x_4 + fix_y),
            k.columns_3.eq(columns_3),
            k.beyond_4.eq(beyond_4),
        ]
        return up_y, up_z

    def _steps(
        self,
        m: Module,
        last: dict[str, Signal],
        host: dict[str, Signal],
        up_y: Signal,
        up_z: Signal,
    ) -> None:
        """Derive the index of thread s for each node's lane s and for the next warp."""
        k = self.constants
        # Rows of one plane, of two, ... up to those of a warp.
        bits = (self._sizes.span // 3).bit_length()
        most = (1 << bits) - 1
        self._plane_rows = []
        # Made beside the last row: derived from the last row, this would be the longest path.
        beyond = Signal(name="rows_beyond", reset_less=True)
        m.d.sync += beyond.eq(self._next_last["y"][_key_bits([0] * most) :].any())
        for n in range(1, self._sizes.warp // 9 + 1):
            rows = [min(n * d, most) for d in range(1, most + 1)]
            self._plane_rows.append(_table(m, f"rows_of_{n}", last["y"], bits, rows, beyond))
        far = Signal(name="far_rows", reset_less=True)
        m.d.sync += far.eq(last["y"][self._sizes.near[1] :].any())
        for lane in self._sizes.nodes:
            x, y, z = self._index_of(m, last, lane)
            columns = range(1, lane + GROUP)
            stay = [min(d - 1 - lane % d, GROUP - 1) for d in columns]
            left = last["y"][: len(y)] - y
            m.d.comb += [
                k[f"node_x_{lane}"].eq(x),
                k[f"node_y_{lane}"].eq(y),
                k[f"node_z_{lane}"].eq(z),
                k[f"stay_x_{lane}"].eq(self._late_table(m, last, f"stay_{lane}", 3, stay)),
                k[f"stay_y_{lane}"].eq(up_to(left[: len(y)], 2) | far.replicate(2)),
            ]
        x, y, z = (k[f"step_{axis}"] for axis in "xyz")
        if self._config.step_from_host:
            m.d.comb += [k[f"step_{axis}"].eq(host[axis]) for axis in "xyz"]
        else:
            m.d.comb += Cat(x, y, z).eq(Cat(self._index_of(m, last, self._sizes.warp)))
        ends = len(last["x"]), len(last["x"]) + len(last["y"])
        step = x | (y << ends[0]) | (z << ends[1])
        m.d.comb += [
            k.up_y.eq(up_y),
            k.up_z.eq(up_z),
            k.place_step.eq(placed(self._sizes, (x, y, z), (up_y, up_z))),
            # One subtraction over all three dimensions: a borrow runs into the next one.
            Cat(k.left_x, k.left_y, k.left_z).eq(Cat(last["late_x"], last["y"], last["z"]) - step),
        ]

    def _late_table(
        self, m: Module, last: dict[str, Signal], name: str, bits: int, values: list[int]
    ) -> Signal:
        """Look up a value by the number of columns that only the last cycle needs.

        The key is a registered copy.
        """
        above = _key_bits(values)
        if above not in self._beyond:
            self._beyond[above] = Signal(name=f"beyond_{above}_bits", reset_less=True)
            m.d.sync += self._beyond[above].eq(last["x"][above:].any())
        return _table(m, name, last["late_x"], bits, values, self._beyond[above])

    def _index_of(
        self, m: Module, last: dict[str, Signal], lane: int
    ) -> tuple[Signal, Signal, Signal]:
        """Look up the index of a lane of the first warp, in two cycles.

        If a dimension has fewer than 3 columns (rows), the lane is beyond the block's end: any
        index beyond its row (plane) serves then.
        """
        # The tables' values for 1 and 2 columns are those for 3 and 4.
        columns = [d if d > 2 else d + 2 for d in range(1, lane + 2)]
        near_x, near_y, near_z = self._sizes.near
        x = self._late_table(m, last, f"x_of_{lane}", near_x + 1, [lane % d for d in columns])
        most = lane // 3
        rows = [lane // d for d in columns]
        beyond = last["x"][_key_bits(rows) :].any()
        # Lane 2 is in the first row.
        row = _table(m, f"row_of_{lane}", last["x"], max(1, most.bit_length()), rows, beyond)
        y, z = (
            Signal(bits, name=f"{axis}_of_{lane}", reset_less=True)
            for axis, bits in (("y", near_y), ("z", near_z))
        )
        # All differences are made side by side; the last one that is not negative is chosen.
        rest: Value = row
        planes: Value = C(0, 1)
        for n, multiple in enumerate(self._plane_rows[: most // 3], start=1):
            less = row - multiple
            rest, planes = Mux(less[-1], rest, less), Mux(less[-1], planes, n)
        m.d.sync += [y.eq(rest), z.eq(planes)]
        return x, y, z
