"""Refuses launches for their content, before a ticket is given."""

from typing import Any, Final

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib import faults
from warploom_spec import Config, ErrorCode, layouts
from warploom_spec.config import BLOCK_LIMITS, MAX_BLOCK_BARRIERS

#: Fields that leave as they came, cut to the width that the configuration needs.
_KEPT: Final = (
    *("code", "arguments", "address_space"),
    *("gx", "gy", "gz", "dx", "dy", "dz", "index_address"),
    *("warp_registers", "shared", "barriers"),
    *("stream", "after_previous", "priority", "idempotent", "mode", "table"),
)
#: Fields of the answer that a refused launch has.
_ANSWER: Final = ("error", "argument")


def _bit_length(value: Value) -> Value:
    """Return how many bits the value needs; 0 needs none."""
    length: Value = C(0, (len(value) + 1).bit_length())
    for k in range(len(value)):
        length = Mux(value[k], k + 1, length)
    return length


class LaunchCheck(wiring.Component):
    """Refuse a launch that breaks a limit; derive the numbers that later blocks need.

    A pipeline that moves as a whole: captured, dx dy, threads, warps and registers, verdict. The
    two products dx dy dz and warp_registers x warps are the only multiplications in the hardware.

    Parameters
    ----------
    config : Config
        The limits.
    fault : str, optional
        One of `FAULTS`, for tests of the tests.

    Attributes
    ----------
    i : Stream[launch_descriptor], in
        Launches. ``ready`` is combinational: 0 while an answer stands at ``o`` and is not taken.
    tables : In(max_tables)
        Bit h - 1: mapping table h exists. Sampled in the cycle of the transfer.
    o : Stream[checked_launch], out
        The launch with error 0 and what was derived, or the lowest-numbered error that applies with
        its argument and zeros; `timing.launch_check` enabled edges after the transfer, the
        transfer's own included. One launch a cycle.

    Raises
    ------
    WarploomError
        If ``fault`` is not one of `FAULTS`.
    """

    #: ``warps``: a block's last, partial warp is forgotten. ``width_z``: z's width is that of dz.
    #: ``range``: a grid of the largest size is refused.
    FAULTS: Final = ("warps", "width_z", "range")

    i: stream.Interface
    tables: Signal
    o: stream.Interface

    def __init__(self, config: Config, *, fault: str | None = None) -> None:
        self._config = config
        self._fault = faults.checked("LaunchCheck", fault, self.FAULTS)
        self._checked = layouts.checked_launch(config).layout()
        super().__init__(
            {
                "i": In(stream.Signature(layouts.launch_descriptor(config).layout())),
                "tables": In(config.max_tables),
                "o": Out(stream.Signature(self._checked)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        enabled = Signal()
        m.d.comb += [enabled.eq(~self.o.valid | self.o.ready), self.i.ready.eq(enabled)]

        # captured: the launch as it came, and whether its table existed in that cycle.
        valid, launch = self._register(m, enabled, "captured", self.i.valid, self.i.payload)
        tables = Array([C(1, 1), *self.tables, *[C(0, 1)] * 8][: 1 << self._config.table_bits])
        table_known = self._kept(m, enabled, "table_known", tables[self.i.payload.table])

        # multiplied: dx dy is known; the errors that need no product are judged.
        plain = self._kept(m, enabled, "plain", self._plain_errors(launch, table_known))
        area = self._kept(m, enabled, "area", launch.dx * launch.dy)
        bits = [self._width(launch, axis) for axis in "xyz"]
        widths = [self._kept(m, enabled, f"width_{a}", b) for a, b in zip("xyz", bits, strict=True)]
        valid, launch = self._register(m, enabled, "multiplied", valid, launch)

        # counted: the number of threads is known.
        threads = self._kept(m, enabled, "threads", area * launch.dz)
        needed = self._kept(m, enabled, "needed_bits", widths[0] + widths[1] + widths[2])
        plain = self._kept(m, enabled, "counted_plain", plain)
        widths = [self._kept(m, enabled, f"counted_{w.name}", w) for w in widths]
        valid, launch = self._register(m, enabled, "counted", valid, launch)

        # derived: warps and registers are known; a block of more threads than fit is refused.
        config = self._config
        warps = self._warps(threads)
        derived = {
            "threads": self._kept(m, enabled, "derived_threads", threads[: config.threads_bits]),
            "registers": self._kept(m, enabled, "registers", launch.warp_registers * warps),
            "warps": self._kept(m, enabled, "warps", warps),
        }
        too_many = self._kept(m, enabled, "too_many", threads > config.max_threads)
        past = launch.index_address + warps > config.index_memory_warps
        past = self._kept(m, enabled, "past_memory", past)
        needed = self._kept(m, enabled, "derived_bits", needed)
        plain = self._kept(m, enabled, "derived_plain", plain)
        for axis, width in zip("xyz", widths, strict=True):
            derived[f"width_{axis}"] = self._kept(m, enabled, f"derived_width_{axis}", width)
        valid, launch = self._register(m, enabled, "derived", valid, launch)

        errors = self._errors(plain, launch, derived, too_many, past, needed)
        self._verdict(m, enabled, valid, launch, derived, errors)
        return m

    def _register(
        self,
        m: Module,
        enabled: Value,
        name: str,
        valid: Value,
        launch: "data.View[data.StructLayout]",
    ) -> "tuple[Signal, data.View[data.StructLayout]]":
        """Carry a launch over one enabled edge."""
        held = Signal(name=f"{name}_valid")
        # Of a layout's signal the stubs do not know that it is a view.
        word: Any = Signal(self.i.payload.shape(), name=name)
        with m.If(enabled):
            m.d.sync += [held.eq(valid), word.eq(launch)]
        return held, word

    @staticmethod
    def _kept(m: Module, enabled: Value, name: str, value: Value) -> Signal:
        """Register what is true beside a launch."""
        held = Signal(value.shape(), name=name)
        with m.If(enabled):
            m.d.sync += held.eq(value)
        return held

    def _width(self, launch: "data.View[data.StructLayout]", axis: str) -> Value:
        """Return the bits that an index along this axis needs."""
        size = launch[f"d{axis}"]
        if self._fault == "width_z" and axis == "z":
            return _bit_length(size)
        return _bit_length((size - 1)[: len(size)])

    def _plain_errors(self, launch: "data.View[data.StructLayout]", table_known: Value) -> Value:
        """Return the errors that need no product: axis by axis, then shared, barriers, table."""
        config = self._config
        grid = [launch[f"g{axis}"] for axis in "xyz"]
        block = [launch[f"d{axis}"] for axis in "xyz"]
        most = [g - (self._fault == "range") for g in config.max_grid]
        return Cat(
            *(g == 0 for g in grid),
            *(g > limit for g, limit in zip(grid, most, strict=True)),
            *(d == 0 for d in block),
            *(d > limit for d, limit in zip(block, BLOCK_LIMITS, strict=True)),
            launch.shared > config.shared_units,
            launch.barriers > min(MAX_BLOCK_BARRIERS, config.barriers),
            ~table_known,
        )

    def _warps(self, threads: Value) -> Value:
        """Return the warps of a block that has not too many threads."""
        config = self._config
        lane_bits = (config.warp_size - 1).bit_length()
        partial = threads[:lane_bits].any() & (self._fault != "warps")
        return (threads[lane_bits:] + partial)[: config.warps_bits]

    def _errors(
        self,
        plain: Value,
        launch: "data.View[data.StructLayout]",
        derived: dict[str, Signal],
        too_many: Value,
        past_memory: Value,
        needed_bits: Signal,
    ) -> list[tuple[ErrorCode, Value, Value]]:
        """Return (code, whether it applies, argument) from the lowest code up."""
        config = self._config
        none = C(0, 1)

        def axes(code: ErrorCode, bits: Value) -> tuple[ErrorCode, Value, Value]:
            return code, bits.any(), Mux(bits[0], 0, Mux(bits[1], 1, 2))

        return [
            axes(ErrorCode.GRID_ZERO, plain[0:3]),
            axes(ErrorCode.GRID_RANGE, plain[3:6]),
            axes(ErrorCode.BLOCK_ZERO, plain[6:9]),
            axes(ErrorCode.BLOCK_RANGE, plain[9:12]),
            (ErrorCode.THREADS, too_many, none),
            (ErrorCode.INDEX_BITS, needed_bits > config.word_bits, needed_bits),
            (ErrorCode.INDEX_REGION, past_memory, none),
            (ErrorCode.BLOCK_WARPS, derived["warps"] > config.warp_slots, none),
            (ErrorCode.BLOCK_REGISTERS, derived["registers"] > config.register_units, none),
            (ErrorCode.BLOCK_SHARED, plain[12], none),
            (ErrorCode.BLOCK_BARRIERS, plain[13], none),
            (ErrorCode.TABLE_UNKNOWN, plain[14], launch.table),
        ]

    def _verdict(
        self,
        m: Module,
        enabled: Value,
        valid: Value,
        launch: "data.View[data.StructLayout]",
        derived: dict[str, Signal],
        errors: list[tuple[ErrorCode, Value, Value]],
    ) -> None:
        """Register the launch, or the lowest error alone."""
        code: Value = C(0, len(self.o.payload.error))
        argument: Value = C(0, len(self.o.payload.argument))
        for number, applies, its_argument in reversed(errors):
            code = Mux(applies, int(number), code)
            argument = Mux(applies, its_argument, argument)
        refused = Signal()
        m.d.comb += refused.eq(Cat(applies for _, applies, _ in errors).any())
        out = self.o.payload
        with m.If(enabled):
            m.d.sync += [self.o.valid.eq(valid), out.error.eq(code), out.argument.eq(argument)]
            m.d.sync += [out[name].eq(launch[name]) for name in _KEPT]
            m.d.sync += [
                out[f"inline{k}"].eq(launch[f"inline{k}"]) for k in range(self._config.inline_args)
            ]
            m.d.sync += [out[name].eq(value) for name, value in derived.items()]
            with m.If(refused):
                m.d.sync += [
                    out[name].eq(0) for name in self._checked.members if name not in _ANSWER
                ]
