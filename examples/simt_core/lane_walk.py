"""Serves a turn's lanes by units that they share, a lane a cycle, lane 0 first."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from simt_core.decoder import DECODED
from simt_core.multiplier import Multiplier
from simt_core.packets import memory_request
from warploom.lib.bits import lowest_number
from warploom_spec import Config

#: Words of one unit of shared memory.
_UNIT_WORDS = 32


class LaneWalk(wiring.Component):
    """Load, store, multiply or shift one value a lane.

    Loads and stores go to the common memory or to the SM's shared memory.
    """

    def __init__(self, config: Config, memory_bits: int) -> None:
        self._config = config
        self._memory_bits = memory_bits
        width = 32 * config.warp_size
        units = range(config.shared_units + 1)
        super().__init__(
            {
                # Begin. `lanes` is read in this cycle alone, the following ones from the next cycle
                # to the end, in which they keep their values.
                "start": In(1),
                "lanes": In(config.warp_size),
                "decoded": In(DECODED),
                # First operands and second ones: addresses and what is stored there, or factors. A
                # lane's operands are not read after its result.
                "firsts": In(width),
                "seconds": In(width),
                # With `with_immediate` this is the second factor.
                "immediate": In(32),
                # Of a product.
                "mask": In(32),
                # The block's shared memory: its first unit, and its size.
                "shared_first": In(units),
                "shared_units": In(units),
                # End as soon as no request is held.
                "stop": In(1),
                "request": Out(stream.Signature(memory_request(memory_bits).layout())),
                # What was loaded, in the cycle after the request's transfer.
                "loaded": In(32),
                # A result: what was loaded, or a product; of one of the lanes.
                "result": Out(32),
                "found": Out(config.warp_size),
                # In one cycle, at the end: all lanes are served; one was not legal; stopped.
                "done": Out(1),
                "fault": Out(1),
                "stopped": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        lanes = self._config.warp_size
        shared: Memory = Memory(shape=32, depth=_UNIT_WORDS * self._config.shared_units, init=[])
        m.submodules.shared = shared
        write = shared.write_port(granularity=8)
        read = shared.read_port()
        m.submodules.multiplier = multiplier = Multiplier()
        # The lowest lane that is left; it is held in the next cycle, and served from then on.
        left, lane, address = Signal(lanes), Signal(range(lanes)), Signal(32)
        held_lane, held_low = Signal.like(lane), Signal(2)
        m.d.comb += lane.eq(lowest_number(left))
        m.d.comb += address.eq(self.firsts.word_select(lane, 32))
        decoded = self.decoded
        half, word = decoded.funct3[0], decoded.funct3[1]
        aligned = ~Mux(word, address[:2].any(), half & address[0])
        window = address[31] & (address[7:31] < self.shared_units)
        value = self.seconds.word_select(lane, 32)
        stored = Mux(word, value, Mux(half, value[:16].replicate(2), value[:8].replicate(4)))
        mask = Mux(word, 0b1111, Mux(half, 0b11, 1) << address[:2])
        # Whether a lane is held, and where it goes; to none of the three if that is not legal.
        names = ("going", "held", "common", "local", "taken", "moves", "asked", "asked_local")
        going, held, common, local, taken, moves, asked, asked_local = (
            Signal(name=name) for name in names
        )
        request = self.request.payload
        m.d.comb += [moves.eq(~held | taken), multiplier.a.eq(address)]
        m.d.comb += multiplier.b.eq(Mux(decoded.with_immediate, self.immediate, value))
        m.d.comb += [multiplier.decoded.eq(decoded), multiplier.take.eq(moves)]
        with m.If(moves):
            m.d.sync += [
                held.eq(left.any()),
                left.eq(left & (left - 1)),
                held_lane.eq(lane),
                held_low.eq(address[:2]),
                common.eq(~decoded.multiply & aligned & (address < 1 << self._memory_bits)),
                local.eq(~decoded.multiply & aligned & window),
                request.address.eq(address[2 : self._memory_bits]),
                request.bytes.eq(mask),
                request.data.eq(stored),
                read.addr.eq(
                    Cat(address[2:7], (self.shared_first + address[7:31])[: len(read.addr) - 5])
                ),
            ]
        m.d.comb += self.request.valid.eq(held & common)
        m.d.comb += self.fault.eq(held & ~(common | local | decoded.multiply))
        m.d.comb += taken.eq(held & (local | decoded.multiply | common & self.request.ready))
        m.d.comb += [request.write.eq(~decoded.load), write.addr.eq(read.addr)]
        m.d.comb += write.data.eq(request.data)
        m.d.comb += write.en.eq(Mux(held & local & ~decoded.load, request.bytes, 0))
        asked_lane, asked_low = Signal.like(lane), Signal(2)
        m.d.sync += [asked.eq(taken & (decoded.load | decoded.multiply)), asked_local.eq(local)]
        m.d.sync += [asked_lane.eq(held_lane), asked_low.eq(held_low)]
        found = Signal(32)
        m.d.comb += found.eq(Mux(asked_local, read.data, self.loaded) >> Cat(0, 0, 0, asked_low))
        sign = ~decoded.funct3[2]
        byte = Cat(found[:8], (sign & found[7]).replicate(24))
        pair = Cat(found[:16], (sign & found[15]).replicate(16))
        loaded = Mux(word, found, Mux(half, pair, byte))
        product = multiplier.product & self.mask
        m.d.comb += self.result.eq(Mux(decoded.multiply, product, loaded))
        m.d.comb += self.found.eq(Mux(asked, 1 << asked_lane, 0))
        m.d.comb += self.done.eq(going & ~left.any() & ~held & ~asked)
        m.d.comb += self.stopped.eq(going & self.stop & (~self.request.valid | self.request.ready))
        with m.If(self.start):
            m.d.sync += [going.eq(1), left.eq(self.lanes)]
        with m.Elif(self.done | self.fault | self.stopped):
            m.d.sync += [going.eq(0), held.eq(0), left.eq(0)]
        return m
