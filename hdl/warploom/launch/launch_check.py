"""Refuses launches for their content, before a ticket is given."""

from dataclasses import dataclass
from typing import Any, Final

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from warploom_spec import Config, ErrorCode, layouts
from warploom_spec.config import BLOCK_LIMITS
from warploom_spec.launch import AXIS_FIELDS, KERNEL_FIELDS, ORDER_FIELDS
from warploom_spec.resources import AMOUNT_FIELDS, BLOCK_AMOUNTS, RANGED, REGISTERS

#: Fields that leave as they came, cut to the width that the configuration needs.
_KEPT: Final = (*KERNEL_FIELDS, *AXIS_FIELDS, "index_address", *AMOUNT_FIELDS, *ORDER_FIELDS)
#: Fields that a refused launch has, too: its answer, and whose entry it took.
_ANSWER: Final = ("error", "argument", "stream", "priority")


def _bit_length(value: Value) -> Value:
    """Return how many bits the value needs; 0 needs none."""
    length: Value = C(0, (len(value) + 1).bit_length())
    for k in range(len(value)):
        length = Mux(value[k], k + 1, length)
    return length


@dataclass(frozen=True)
class _Error:
    """An error that may apply: its code, whether it does, and its argument."""

    code: Value
    applies: Value
    argument: Value


@dataclass(frozen=True)
class _FirstError:
    """The lowest error but BLOCK_REGISTERS.

    ``applies``: there is one, a register; ``lower``: one whose code is below BLOCK_REGISTERS.
    """

    applies: Signal
    lower: Value
    code: Value
    argument: Value


class LaunchCheck(wiring.Component):
    """Refuse a launch that breaks a limit; derive the numbers that later blocks need.

    A pipeline that moves as a whole: captured with dx dy, threads, warps, registers, verdict. The
    two products dx dy dz and warp_registers x warps are the only multiplications in the hardware.

    Parameters
    ----------
    config : Config
        The limits.
    """

    i: stream.Interface
    tables: Signal
    o: stream.Interface
    refused: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        self._checked = layouts.checked_launch(config).layout()
        super().__init__(
            {
                # Launches. `ready` is combinational: 0 while an answer stands at `o` and is not
                # taken.
                "i": In(stream.Signature(layouts.launch_descriptor(config).layout())),
                # Bit h - 1: mapping table h exists. Sampled in the cycle of the transfer.
                "tables": In(config.max_tables),
                # The launch with error 0 and what was derived, or the lowest-numbered error that
                # applies with its argument, stream and priority, and zeros; `timing.launch_check`
                # enabled edges after the transfer, the transfer's own included. One launch a cycle.
                "o": Out(stream.Signature(self._checked)),
                # The launch at `o` has an error. A register: nothing decodes the code.
                "refused": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        enabled = Signal()
        m.d.comb += [enabled.eq(~self.o.valid | self.o.ready), self.i.ready.eq(enabled)]

        # captured: the launch as it came, dx dy, and whether its table existed in that cycle.
        area = self._kept(m, enabled, "area", self.i.payload.dx * self.i.payload.dy)
        valid, launch = self._register(m, enabled, "captured", self.i.valid, self.i.payload)
        tables = Array([C(1, 1), *self.tables, *[C(0, 1)] * 8][: 1 << self._config.table_bits])
        table_known = self._kept(m, enabled, "table_known", tables[self.i.payload.table])

        # multiplied: the number of threads is known; the errors that need no product are judged.
        plain = self._kept(m, enabled, "plain", self._plain_errors(launch, table_known))
        axes = "xyz" if self._config.makes_indices else ""
        bits = [self._width(launch, axis) for axis in axes]
        widths = [self._kept(m, enabled, f"width_{a}", b) for a, b in zip(axes, bits, strict=True)]
        # Beyond these bits dx dy alone is too much.
        small, large = area[: self._thread_bits], area[self._thread_bits :].any()
        threads = self._kept(m, enabled, "threads", small * launch.dz)
        large_area = self._kept(m, enabled, "large_area", large)
        valid, launch = self._register(m, enabled, "multiplied", valid, launch)

        # counted: warps are known.
        many = large_area | (threads > self._config.max_threads)
        too_many = self._kept(m, enabled, "too_many", many)
        warps = self._kept(m, enabled, "counted_warps", self._warps(threads))
        threads = self._kept(m, enabled, "counted_threads", threads[: self._config.threads_bits])
        needed = self._kept(m, enabled, "needed_bits", sum(widths[1:], widths[0])) if axes else None
        axis_error = self._axis_error(m, enabled, plain[:12])
        plain = self._kept(m, enabled, "counted_plain", plain[12:])
        widths = [self._kept(m, enabled, f"counted_{w.name}", w) for w in widths]
        valid, launch = self._register(m, enabled, "counted", valid, launch)

        # derived: registers are known, and the errors that do not count them.
        index_errors: list[tuple[ErrorCode, Value, Value]] = []
        if needed is not None:
            past = launch.index_address + warps > self._config.index_memory_warps
            index_errors = [
                (ErrorCode.INDEX_BITS, needed > self._config.word_bits, needed),
                (ErrorCode.INDEX_REGION, past, C(0, 1)),
            ]
        errors = self._errors(plain, launch, warps, too_many, index_errors)
        first = self._first_error(m, enabled, axis_error, errors)
        derived = {
            "threads": self._kept(m, enabled, "derived_threads", threads),
            REGISTERS.name: self._kept(m, enabled, "registers", launch.warp_registers * warps),
            "warps": self._kept(m, enabled, "warps", warps),
            "last_mask": self._kept(m, enabled, "last_mask", self._last_mask(threads)),
        }
        for axis, width in zip(axes, widths, strict=True):
            derived[f"width_{axis}"] = self._kept(m, enabled, f"derived_width_{axis}", width)
        valid, launch = self._register(m, enabled, "derived", valid, launch)

        self._verdict(m, enabled, valid, launch, derived, first)
        return m

    @property
    def _thread_bits(self) -> int:
        return self._config.max_threads.bit_length()

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
        word: Any = Signal(self.i.payload.shape(), name=name, reset_less=True)
        with m.If(enabled):
            m.d.sync += [held.eq(valid), word.eq(launch)]
        return held, word

    @staticmethod
    def _kept(m: Module, enabled: Value, name: str, value: Value) -> Signal:
        """Register what is true beside a launch."""
        held = Signal(value.shape(), name=name, reset_less=True)
        with m.If(enabled):
            m.d.sync += held.eq(value)
        return held

    def _width(self, launch: "data.View[data.StructLayout]", axis: str) -> Value:
        """Return the bits that an index along this axis needs."""
        size = launch[f"d{axis}"]
        return _bit_length((size - 1)[: len(size)])

    def _plain_errors(self, launch: "data.View[data.StructLayout]", table_known: Value) -> Value:
        """Return the errors that need no product: axis by axis, the block's amounts, table."""
        config = self._config
        grid = [launch[f"g{axis}"] for axis in "xyz"]
        block = [launch[f"d{axis}"] for axis in "xyz"]
        return Cat(
            *(g == 0 for g in grid),
            *(g > limit for g, limit in zip(grid, config.max_grid, strict=True)),
            *(d == 0 for d in block),
            *(d > limit for d, limit in zip(block, BLOCK_LIMITS, strict=True)),
            *(launch[r.name] > r.limit(config) for r in BLOCK_AMOUNTS),
            ~table_known,
        )

    def _warps(self, threads: Value) -> Value:
        """Return the warps of a block that has not too many threads."""
        config = self._config
        lane_bits = (config.warp_size - 1).bit_length()
        partial = threads[:lane_bits].any()
        return (threads[lane_bits:] + partial)[: config.warps_bits]

    def _last_mask(self, threads: Value) -> Value:
        """Return the lanes of a block's last warp that are threads: all, if none is left over."""
        left_over = threads[: exact_log2(self._config.warp_size)]
        # Bit k: the bits of `left_over` that were looked at make a number above k. A comparator for
        # each lane would cost more than twice the LUTs.
        above: Value = C(0, 1)
        for bit in left_over:
            every = bit.replicate(len(above))
            above = Cat(above | every, above & every)
        return above | (left_over == 0).replicate(len(above))

    def _errors(
        self,
        plain: Value,
        launch: "data.View[data.StructLayout]",
        warps: Value,
        too_many: Value,
        index_errors: list[tuple[ErrorCode, Value, Value]],
    ) -> list[tuple[ErrorCode, Value, Value]]:
        """Return (code, whether it applies, argument), lowest code first.

        Without the errors of an axis, and without BLOCK_REGISTERS.
        """
        config = self._config
        none = C(0, 1)
        amounts = zip(BLOCK_AMOUNTS, plain[:-1], strict=True)
        errors = [
            (ErrorCode.THREADS, too_many, none),
            *index_errors,
            (ErrorCode.BLOCK_WARPS, warps > config.warp_slots, none),
            *((resource.refusal(), too_much, none) for resource, too_much in amounts),
            (ErrorCode.TABLE_UNKNOWN, plain[-1], launch.table),
        ]
        return sorted(errors, key=lambda error: error[0])

    def _axis_error(self, m: Module, enabled: Value, bits: Value) -> _Error:
        """Register the lowest error of an axis. Its codes are below all others."""
        codes = (
            ErrorCode.GRID_ZERO,
            ErrorCode.GRID_RANGE,
            ErrorCode.BLOCK_ZERO,
            ErrorCode.BLOCK_RANGE,
        )
        code: Value = C(0, len(self.o.payload.error))
        axis: Value = C(0, 2)
        for k, number in reversed(list(enumerate(codes))):
            axes = bits[3 * k : 3 * k + 3]
            code = Mux(axes.any(), int(number), code)
            axis = Mux(axes.any(), Mux(axes[0], 0, Mux(axes[1], 1, 2)), axis)
        return _Error(
            code=self._kept(m, enabled, "axis_code", code),
            applies=self._kept(m, enabled, "axis_wrong", bits.any()),
            argument=self._kept(m, enabled, "wrong_axis", axis),
        )

    def _first_error(
        self,
        m: Module,
        enabled: Value,
        axis: _Error,
        errors: list[tuple[ErrorCode, Value, Value]],
    ) -> _FirstError:
        """Register which errors apply, but for BLOCK_REGISTERS; return the lowest one.

        It is chosen behind the registers: the comparisons are in front of them.
        """
        some = Cat(axis.applies, *(applies for _, applies, _ in errors)).any()
        code: Value = C(0, len(self.o.payload.error))
        argument: Value = C(0, len(self.o.payload.argument))
        lower: Value = C(0, 1)
        for number, applies, its_argument in reversed(errors):
            holds = self._kept(m, enabled, f"applies_{number.name.lower()}", applies)
            code = Mux(holds, int(number), code)
            if not isinstance(its_argument, C):
                name = f"argument_{number.name.lower()}"
                its_argument = self._kept(m, enabled, name, its_argument)
            argument = Mux(holds, its_argument, argument)
            if number < ErrorCode.BLOCK_REGISTERS:
                lower = lower | holds
        axis_applies, axis_code, axis_argument = (
            self._kept(m, enabled, f"derived_{name}", value)
            for name, value in (
                ("axis_wrong", axis.applies),
                ("axis_code", axis.code),
                ("wrong_axis", axis.argument),
            )
        )
        return _FirstError(
            applies=self._kept(m, enabled, "wrong", some),
            lower=lower | axis_applies,
            code=Mux(axis_applies, axis_code, code),
            argument=Mux(axis_applies, axis_argument, argument),
        )

    def _counted(self, name: str, value: Value) -> Value:
        """Return a field as it leaves: an amount in units is rounded up to whole cells."""
        units = next((r.cell_units(self._config) for r in RANGED if r.name == name), 1)
        if units == 1:
            return value
        low = exact_log2(units)
        return Cat(C(0, low), (value + (units - 1))[low:])

    def _verdict(
        self,
        m: Module,
        enabled: Value,
        valid: Value,
        launch: "data.View[data.StructLayout]",
        derived: dict[str, Signal],
        first: _FirstError,
    ) -> None:
        """Register the launch, or the lowest error."""
        over = Signal()
        m.d.comb += over.eq(derived[REGISTERS.name] > REGISTERS.limit(self._config))
        out = self.o.payload
        with m.If(enabled):
            m.d.sync += [self.o.valid.eq(valid), self.refused.eq(first.applies | over)]
            m.d.sync += [out.error.eq(first.code), out.argument.eq(first.argument)]
            kept = (name for name in _KEPT if name in self._checked.members)
            m.d.sync += [out[name].eq(self._counted(name, launch[name])) for name in kept]
            m.d.sync += [
                out[f"inline{k}"].eq(launch[f"inline{k}"]) for k in range(self._config.inline_args)
            ]
            m.d.sync += [
                out[name].eq(self._counted(name, value)) for name, value in derived.items()
            ]
            # `over` comes late: a launch that has too many registers, and no other error, keeps its
            # fields.
            with m.If(over & ~first.lower):
                m.d.sync += [out.error.eq(int(ErrorCode.BLOCK_REGISTERS)), out.argument.eq(0)]
        # Beside `enabled`, not inside: then it is these registers' reset, and no gate each.
        with m.If(enabled & first.applies):
            m.d.sync += [out[name].eq(0) for name in self._checked.members if name not in _ANSWER]
