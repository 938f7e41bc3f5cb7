"""Blocks in order of their decision, retired in that order, one a cycle."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom_spec import Config


class RetireQueue(wiring.Component):
    """Hold decided blocks; retire the first one when it is done.

    The blocks of one SM retire in the order of its slots, which are given in turn. So the queue
    keeps only the SM and the place of each block.

    Parameters
    ----------
    config : Config
        Depth is all SMs' slots together.
    """

    push: Signal
    sm: Signal
    place: Signal
    done: Signal
    retire: Signal
    retired: list[Signal]

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A block was decided in the last cycle, for that SM, of that place.
                "push": In(1),
                "sm": In(config.sm_bits),
                "place": In(1),
                # The SM's oldest block that is not retired may be retired.
                "done": In(config.sms),
                # That block is retired in this cycle (combinational).
                "retire": Out(config.sms),
                # By place: it was retired in the last cycle.
                "retired": Out(2).array(config.sms),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        depth = config.sms * config.block_slots
        memory: Memory = Memory(shape=config.sm_bits + 1, depth=depth, init=[])
        m.submodules.memory = memory
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        entries = Signal(range(depth + 1))
        # The first block stands in a register.
        some = Signal()
        valid = Signal()
        load = Signal()
        retire = Signal()
        sm = Signal(config.sm_bits)
        place = Signal()
        m.d.comb += [
            write.data.eq(Cat(self.sm, self.place)),
            write.en.eq(self.push),
            some.eq(entries.any()),
            retire.eq(valid & self.done.bit_select(sm, 1)),
            load.eq((~valid | retire) & some),
            self.retire.eq(Cat(retire & (sm == k) for k in range(config.sms))),
        ]
        for k in range(config.sms):
            m.d.sync += self.retired[k].eq(Cat(self.retire[k] & ~place, self.retire[k] & place))

        def step(pointer: Signal) -> Value:
            return Mux(pointer == depth - 1, 0, pointer + 1)

        with m.If(self.push):
            m.d.sync += write.addr.eq(step(write.addr))
        with m.If(load):
            m.d.sync += [
                read.addr.eq(step(read.addr)),
                sm.eq(read.data[:-1]),
                place.eq(read.data[-1]),
            ]
        m.d.sync += valid.eq(load | (valid & ~retire))
        with m.If(self.push ^ load):
            m.d.sync += entries.eq(entries + Cat(1, load.replicate(len(entries) - 1)))
        return m
