"""Blocks in order of their decision, retired in that order."""

from functools import reduce
from operator import add

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom.dispatch.sm.slots import decoded
from warploom_spec import Config


class RetireQueue(wiring.Component):
    """Hold decided blocks; retire up to ``retire_width`` ended ones from the front each cycle.

    Parameters
    ----------
    config : Config
        Depth is all SMs' slots together.

    Attributes
    ----------
    push : In(1)
        A block is decided in this cycle, for SM ``sm``, slot ``slot``, of ``place``.
    busy : In(array)
        Each SM's slots with blocks that have not ended; 0 for a lost SM.
    returned : Out(array of 2 for each SM)
        Blocks of each place retired in the last cycle.
    slots : Out(array)
        Slots of the blocks retired in the cycle before it.
    """

    push: Signal
    sm: Signal
    slot: Signal
    place: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "push": In(1),
                "sm": In(config.sm_bits),
                "slot": In(config.slot_bits),
                "place": In(1),
                "busy": In(config.block_slots).array(config.sms),
                "returned": Out(config.retire_width.bit_length()).array(config.sms, 2),
                "slots": Out(config.block_slots).array(config.sms),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        width = config.retire_width
        rows = -(-config.sms * config.block_slots // width)
        # One bank for each block that may retire at once; block n stands in bank n mod width.
        entry_bits = config.sm_bits + config.slot_bits + 1
        entries = Signal(range(rows * width + 1))
        tail_bank, tail_row = Signal(range(width)), Signal(range(rows))
        head_bank = Signal(range(width))
        rotated = [Signal(range(width), name=f"bank_of_{k}") for k in range(width)]
        retired, ended = Signal(width), Signal(width)
        fronts = Array(Signal(entry_bits, name=f"front_{k}") for k in range(width))
        for bank in range(width):
            memory: Memory = Memory(shape=entry_bits, depth=rows, init=[])
            m.submodules[f"bank_{bank}"] = memory
            write, read = memory.write_port(), memory.read_port(domain="comb")
            leaves = Cat(retired[k] & (rotated[k] == bank) for k in range(width)).any()
            m.d.comb += [
                write.addr.eq(tail_row),
                write.data.eq(Cat(self.slot, self.sm, self.place)),
                write.en.eq(self.push & (tail_bank == bank)),
                fronts[bank].eq(read.data),
            ]
            with m.If(leaves):
                m.d.sync += read.addr.eq(Mux(read.addr == rows - 1, 0, read.addr + 1))
        with m.If(self.push):
            m.d.sync += tail_bank.eq(Mux(tail_bank == width - 1, 0, tail_bank + 1))
            with m.If(tail_bank == width - 1):
                m.d.sync += tail_row.eq(Mux(tail_row == rows - 1, 0, tail_row + 1))

        # A block's slot among all SMs' slots is its place in one word: SM and slot are its digits.
        gap = C(0, (1 << config.slot_bits) - config.block_slots)
        busy = Cat(Cat(mask, gap) for mask in self.busy)
        blocks = []
        for k in range(width):
            raw = Signal(range(2 * width), name=f"raw_bank_of_{k}")
            block = Signal(entry_bits, name=f"block_{k}")
            m.d.comb += [
                raw.eq(head_bank + k),
                rotated[k].eq(Mux(raw >= width, raw - width, raw)),
                block.eq(fronts[rotated[k]]),
                ended[k].eq((entries > k) & ~busy.bit_select(block[:-1], 1)),
                retired[k].eq(ended[: k + 1].all()),
            ]
            blocks.append(block)
        count = Signal(range(width + 1))
        moved = Signal(range(2 * width + 1))
        m.d.comb += [
            count.eq(reduce(add, retired)),
            moved.eq(head_bank + count),
        ]
        m.d.sync += [
            entries.eq(entries + self.push - count),
            head_bank.eq(Mux(moved >= width, moved - width, moved)),
        ]
        self._return(m, retired, blocks)
        return m

    def _return(self, m: Module, retired: Value, blocks: list[Signal]) -> None:
        """Tell each SM what it gets back: how many blocks, and a cycle later which slots."""
        config = self._config
        kept = [Signal.like(block, name=f"retired_{k}") for k, block in enumerate(blocks)]
        valid = Signal(len(blocks))
        m.d.sync += valid.eq(retired)
        m.d.sync += [old.eq(new) for old, new in zip(kept, blocks, strict=True)]
        for sm in range(config.sms):
            own = [valid[k] & (block[config.slot_bits : -1] == sm) for k, block in enumerate(kept)]
            slots: Value = C(0, config.block_slots)
            for k, (here, block) in enumerate(zip(own, kept, strict=True)):
                slots = slots | decoded(
                    m, f"slot_{sm}_{k}", block[: config.slot_bits], config.block_slots, here
                )
            m.d.sync += self.slots[sm].eq(slots)
            for place in range(2):
                of_place = [
                    here & (block[-1] == place) for here, block in zip(own, kept, strict=True)
                ]
                m.d.comb += self.returned[sm][place].eq(reduce(add, of_place))
