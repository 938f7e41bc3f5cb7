"""Gives each block of an SM a contiguous range of each resource, and holds it back until then."""

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts, sm_packets
from warploom_spec.resident_packets import resident_block
from warploom_spec.resources import RANGED


class ResourceRanges(wiring.Component):
    """Place blocks side by side in two rows, one from each end of a resource.

    All ranges of a row have one size. What a block leaves fits the next block of its launch, so a
    row needs only a stack of free ranges. One row is current: blocks are placed in it alone.

    Parameters
    ----------
    config : Config
        ``block_slots``, and how much an SM has of each resource in `RANGED`.
    """

    offer: stream.Interface
    words: Any
    kill: Signal
    report: Any
    report_valid: Signal
    o: stream.Interface
    held_back: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # Blocks. `ready` is combinational in `o.ready`. The words are those of this block.
                "offer": In(stream.Signature(resident_block(config).layout())),
                "words": In(layouts.launch_words(config).layout()),
                # As at the SM's port.
                "kill": In(1 << config.stream_bits),
                # A pulse: a block that left at `o` is over.
                "report": In(layouts.block_report(config).layout()),
                "report_valid": In(1),
                # Blocks with the first unit of each of their ranges, 0 if killed.
                "o": Out(stream.Signature(sm_packets.placed_block(config).layout())),
                # A block waited for ranges in the cycle before.
                "held_back": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        sizes = data.StructLayout(
            {r.name: r.capacity(self._config).bit_length() for r in RANGED},
        )
        leaves = Signal()
        row_size: Any = Signal(sizes)
        change = Signal()
        block, valid, size, same = self._measure(m, row_size, change, leaves)
        with m.If(change):
            m.d.sync += row_size.eq(size)
        kill = Signal.like(self.kill)
        killed = Signal()
        fits = Signal()
        m.d.sync += kill.eq(self.kill)
        m.d.comb += killed.eq(valid & kill.bit_select(block.stream, 1))
        self._place(m, block, size, same, valid & ~killed, change, fits, leaves)
        m.d.comb += leaves.eq((killed | fits) & (~self.o.valid | self.o.ready))
        with m.If(leaves):
            m.d.sync += self.o.valid.eq(1)
            for name in block.shape().members:
                m.d.sync += self.o.payload[name].eq(block[name])
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m

    def _measure(
        self, m: Module, row_size: Any, change: Signal, leaves: Signal
    ) -> tuple[Any, Signal, Any, Signal]:
        """Take offers.

        Returns the block whose size is known, whether there is one, its size, and whether that is
        the current row's.
        """
        config = self._config
        shape = resident_block(config).layout()
        arrived: Any = Signal(shape)
        arrived_valid = Signal()
        measured: Any = Signal(shape)
        measured_valid = Signal()
        size: Any = Signal(row_size.shape())
        arrived_size: Any = Signal(row_size.shape())
        same = Signal()
        goes_on = Signal()
        m.d.comb += [
            goes_on.eq(~measured_valid | leaves),
            self.offer.ready.eq(~arrived_valid | goes_on),
        ]
        words = self.words
        for resource in RANGED:
            assert resource.field is not None
            amount = words[resource.field.name]
            terms = (
                _terms(words.warps, amount, self._config.max_warps)
                if resource.field.of_warp
                else [amount]
            )
            kept = []
            for number, term in enumerate(terms):
                width = len(size[resource.name])
                part = Signal(width, name=f"arrived_{resource.name}_{number}")
                with m.If(self.offer.ready):
                    m.d.sync += part.eq(term)
                kept.append(part)
            m.d.comb += arrived_size[resource.name].eq(sum(kept[1:], kept[0]))
        with m.If(self.offer.ready):
            m.d.sync += [arrived.eq(self.offer.payload), arrived_valid.eq(self.offer.valid)]
        with m.If(goes_on):
            m.d.sync += [
                measured.eq(arrived),
                measured_valid.eq(arrived_valid),
                size.eq(arrived_size),
                same.eq(Value.cast(arrived_size) == Value.cast(row_size)),
            ]
        # The row's size becomes that of this block, which stays.
        with m.If(change):
            m.d.sync += same.eq(1)
        return measured, measured_valid, size, same

    def _place(
        self,
        m: Module,
        block: Any,
        size: Any,
        same: Signal,
        wants: Value,
        change: Signal,
        fits: Signal,
        leaves: Signal,
    ) -> None:
        """Keep both rows and the free ranges; give a range to each block that leaves."""
        config = self._config
        bits = config.slot_bits
        current = Signal()
        live = [Signal(config.block_slots.bit_length(), name=f"live_{row}") for row in range(2)]
        lives = Cat(count.any() for count in live)

        # A row begins anew, or the other row becomes current, for a block of another size.
        settles = Signal()
        stuck = Signal()
        m.d.comb += [stuck.eq(lives.all()), change.eq(wants & ~same & ~stuck)]
        m.d.sync += settles.eq(change)
        with m.If(change):
            m.d.sync += current.eq(current ^ lives.bit_select(current, 1))

        # A block gets a free range, or else the current row grows.
        some = Signal()
        top = Signal(bits)
        room, grown = self._grow(m, size, current, lives, change, settles, leaves & wants & ~some)
        m.d.comb += fits.eq(wants & same & ~settles & (some | room))
        m.d.sync += self.held_back.eq(wants & Mux(same, ~some & ~room & ~settles, stuck))
        takes = Signal()
        m.d.comb += takes.eq(leaves & wants)

        # What each range of the current row is. Its number is how many ranges came before it.
        number = Signal(bits)
        m.d.comb += number.eq(Mux(current, live[1], live[0]))
        firsts: Memory = Memory(shape=size.shape(), depth=1 << bits, init=[])
        m.submodules.firsts = firsts
        write = firsts.write_port()
        read = firsts.read_port(domain="comb")
        chosen = Mux(some, top, number)
        ranged = Signal()
        m.d.comb += [write.addr.eq(number), write.data.eq(grown), write.en.eq(takes & ~some)]
        with m.If(leaves):
            m.d.sync += [read.addr.eq(chosen), ranged.eq(wants)]
        for resource in RANGED:
            unit = Mux(ranged, read.data[resource.name], 0)
            m.d.comb += self.o.payload[f"{resource.name}_first"].eq(unit)
        freed = self._free(m, block, leaves, takes, Cat(chosen, current))
        for row, count in enumerate(live):
            up = takes & (current == row)
            down = freed.valid & (freed.row == row)
            with m.If(up ^ down):
                m.d.sync += count.eq(count + Cat(C(1, 1), down.replicate(len(count) - 1)))

        # The stack of free ranges: each one says which is below it.
        link = data.StructLayout({"range": bits, "some": 1})
        below: Memory = Memory(shape=link, depth=1 << bits, init=[])
        m.submodules.below = below
        below_write = below.write_port()
        below_read = below.read_port(domain="comb")
        under = Signal(link)
        push = Signal()
        m.d.comb += [
            push.eq(freed.valid & (freed.row == current)),
            below_read.addr.eq(top),
            under.eq(Cat(top, some)),
            below_write.addr.eq(freed.range),
            below_write.data.eq(under),
            below_write.en.eq(push),
        ]
        with m.If(takes & some):
            m.d.comb += under.eq(below_read.data)
        m.d.sync += Cat(top, some).eq(Mux(push, Cat(freed.range, C(1, 1)), under))
        with m.If(change):
            m.d.sync += some.eq(0)

    def _grow(
        self,
        m: Module,
        size: Any,
        current: Signal,
        lives: Value,
        change: Signal,
        settles: Signal,
        grows: Value,
    ) -> tuple[Value, Any]:
        """Keep how far both rows reach; return whether the current row can grow, and where to."""
        rooms = []
        grown: Any = Signal(size.shape(), name="grown")
        switch = Signal()
        # The other row is empty.
        alone = Signal(init=1)
        m.d.comb += switch.eq(change & lives.bit_select(current, 1))
        m.d.sync += alone.eq(~switch & ~lives.bit_select(~current, 1))
        for resource in RANGED:
            name, units = resource.name, resource.capacity(self._config)
            step = size[name]
            # Units of the current row, those that are not of it, and its units after it has grown.
            reach = Signal(len(step), name=f"{name}_reach")
            beyond = Signal(len(step), init=units, name=f"{name}_beyond")
            more = Signal(len(step), name=f"{name}_more")
            # Units that are not of the other row, while it is not empty.
            limit = Signal(len(step), name=f"{name}_limit")
            rest = Signal(len(step), name=f"{name}_rest")
            # Whether so many are there, and are there beside the other row; known with `more`.
            inside = Signal(init=1, name=f"{name}_inside")
            room = Signal(name=f"{name}_room")
            total = Signal(len(step) + 1, name=f"{name}_total")
            m.d.comb += [
                rest.eq(units - more),
                grown[name].eq(Mux(current, rest, reach)),
                total.eq(more + step),
            ]
            rooms.append(inside & (alone | room))
            with m.If(grows):
                m.d.sync += [reach.eq(more), beyond.eq(rest)]
            with m.If(grows | settles):
                m.d.sync += [
                    more.eq(total),
                    inside.eq(~_above(total, units)),
                    room.eq(~(limit - total)[len(total)]),
                ]
            with m.If(change):
                m.d.sync += [reach.eq(0), beyond.eq(units), more.eq(0)]
            with m.If(switch):
                m.d.sync += limit.eq(beyond)
        return Cat(rooms).all(), grown

    def _free(self, m: Module, block: Any, leaves: Signal, takes: Signal, given: Value) -> Any:
        """Remember each slot's range; return the range of the block reported a cycle ago."""
        bits = self._config.slot_bits
        entry = data.StructLayout({"range": bits, "row": 1, "valid": 1})
        ranges: Memory = Memory(shape=entry, depth=1 << bits, init=[])
        m.submodules.ranges = ranges
        write = ranges.write_port()
        read = ranges.read_port(domain="comb")
        reported = Signal()
        slot = Signal(bits)
        freed: Any = Signal(entry)
        m.d.sync += [reported.eq(self.report_valid), slot.eq(self.report.slot)]
        m.d.comb += [
            write.addr.eq(block.slot),
            write.data.eq(Cat(given, takes)),
            write.en.eq(leaves),
            read.addr.eq(slot),
            freed.eq(read.data),
            freed.valid.eq(read.data.valid & reported),
        ]
        return freed


def _above(value: Value, limit: int) -> Value:
    """Return whether a value is above a constant: gates, which are fewer than a carry chain."""
    above: Value = C(0, 1)
    for k in range(len(value)):
        above = value[k] & above if limit >> k & 1 else value[k] | above
    return above


def _terms(warps: Value, amount: Value, most: int) -> list[Value]:
    """Return two numbers whose sum is ``amount`` times ``warps``, ``most`` at most: only adders.

    Two bits of ``warps`` select a multiple of the amount.
    """
    once, twice = amount, amount << 1
    multiples = Array([C(0, 1), once, twice, once + twice])
    highest: Value
    low = range(0, len(warps) - 2, 2)
    top = 2 * len(low)
    if most >= 3 << top:
        highest = multiples[warps[top:]]
    else:
        # The two highest bits are never both 1.
        highest = Mux(warps[top], once, 0) | Mux(warps[top + 1 :].any(), twice, 0)
    digits = [multiples[warps[k : k + 2]] << k for k in low]
    return [sum(digits[1:], digits[0]), highest << top] if digits else [highest]
