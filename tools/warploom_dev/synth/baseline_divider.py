"""The textbook way to thread indices, by division: what the index generator is measured against."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts
from warploom_spec.config import BLOCK_FIELD_BITS


class DividerIndexGenerator(wiring.Component):
    """Give a warp of thread indices a cycle, each lane with two pipelined restoring dividers.

    Lane l of warp w divides its thread's number n = W w + l by dx, then the quotient by dy, one bit
    a stage: x and y are the remainders, z is the last quotient. The divisors travel beside the
    lanes once for all of them, and bits of n that are the lane's own number are constants.

    Parameters
    ----------
    config : Config
        Gives the warp size and the most threads of a block.

    Attributes
    ----------
    i : Stream[index_config], in
        A block's shape; relies on 1 <= dx, dy, dz and warps = ceil(dx dy dz / W). Ready with the
        last warp of the one before: no bubble between two shapes.
    o : Stream, out
        W thread indices (lane 0 lowest) and the mask of lanes with z < dz, ``latency`` cycles after
        the shape was accepted, then every cycle. Not taken, the whole pipeline stands.
    latency : int
        Cycles from a transfer at ``i`` to its first warp at ``o``.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: Config) -> None:
        self._lanes = config.warp_size
        self._number_bits = (config.max_threads - 1).bit_length()
        self._lane_bits = (config.warp_size - 1).bit_length()
        self.latency = 2 * self._number_bits + 2
        lanes = data.ArrayLayout(layouts.thread_index(config).layout(), config.warp_size)
        payload = data.StructLayout({"lanes": lanes, "mask": config.warp_size})
        super().__init__(
            {
                "i": In(stream.Signature(layouts.index_config(config).layout())),
                "o": Out(stream.Signature(payload)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the pipeline."""
        del platform
        m = Module()
        enabled = Signal()
        m.d.comb += enabled.eq(~self.o.valid | self.o.ready)
        warp, shape, valid = self._warps(m, enabled)
        numbers = [
            [*Const(lane, self._lane_bits), *warp[: self._number_bits - self._lane_bits]]
            for lane in range(self._lanes)
        ]
        axes = [shape.dx, shape.dy, shape.dz]
        kept: list[list[Value]] = [[] for _ in numbers]
        for _ in range(2):
            for bit in reversed(range(self._number_bits)):
                step = self._number_bits - 1 - bit
                for lane, number in enumerate(numbers):
                    numbers[lane], kept[lane] = _step(m, enabled, number, kept[lane], axes[0], step)
                axes = [Cat(*_register(m, enabled, [*axis])) for axis in axes]
                (valid,) = _register(m, enabled, [valid])
            axes = axes[1:]
        self._output(m, enabled, numbers, kept, axes[0], valid)
        return m

    def _warps(self, m: Module, enabled: Value) -> tuple[Value, Any, Value]:
        """Hold a shape and count its warps."""
        shape = Signal.like(self.i.payload)
        warp = Signal.like(shape.warps)
        held = Signal()
        last = Signal()
        m.d.comb += [
            last.eq(warp + 1 == shape.warps),
            self.i.ready.eq(enabled & (~held | last)),
        ]
        with m.If(enabled & held):
            m.d.sync += warp.eq(warp + 1)
        with m.If(self.i.ready):
            m.d.sync += [shape.eq(self.i.payload), warp.eq(0), held.eq(self.i.valid)]
        return warp, shape, held

    def _output(
        self,
        m: Module,
        enabled: Value,
        quotients: list[list[Value]],
        kept: list[list[Value]],
        depth: Value,
        valid: Value,
    ) -> None:
        """Register z, which is the last quotient, beside the remainders x and y."""
        bits = self._number_bits
        with m.If(enabled):
            m.d.sync += self.o.valid.eq(valid)
            for lane, quotient in enumerate(quotients):
                out = self.o.payload.lanes[lane]
                z = Cat(*quotient)
                m.d.sync += [
                    out.x.eq(Cat(*kept[lane][:bits])),
                    out.y.eq(Cat(*kept[lane][bits:])),
                    out.z.eq(z[: BLOCK_FIELD_BITS[2]]),
                    self.o.payload.mask[lane].eq(z < depth),
                ]


def _step(
    m: Module, enabled: Value, number: list[Value], kept: list[Value], divisor: Value, step: int
) -> tuple[list[Value], list[Value]]:
    """Divide one bit further: the dividend's highest bit leaves, a bit of the quotient enters.

    ``kept`` ends with the remainder so far, ``step`` bits of it.
    """
    done, remainder = kept[: len(kept) - step], kept[len(kept) - step :]
    trial = Cat(number[-1], *remainder)
    difference = Signal(max(len(trial), len(divisor)) + 1)
    m.d.comb += difference.eq(trial - divisor)
    fits = ~difference[-1]
    rest = Mux(fits, difference, trial)[: step + 1]
    stage = _register(m, enabled, [fits, *number[:-1], *done, *rest])
    return stage[: len(number)], stage[len(number) :]


def _register(m: Module, enabled: Value, bits: Sequence[Value]) -> list[Value]:
    """Return the bits one enabled cycle later; a constant stays one."""
    stage = Signal(sum(not isinstance(bit, Const) for bit in bits), name="stage")
    with m.If(enabled):
        m.d.sync += stage.eq(Cat(bit for bit in bits if not isinstance(bit, Const)))
    registers = iter(stage)
    return [bit if isinstance(bit, Const) else next(registers) for bit in bits]
