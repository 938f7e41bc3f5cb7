"""Which slots of one SM hold blocks, whose, and which is the lowest free one."""

from functools import reduce
from operator import add
from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom_spec import Config

#: Slots of a group: the lower half of a slot's number counts within one.
_GROUP: Final = 4
_LOW_BITS: Final = 2
#: Up to this many bits gates are faster than a carry chain, and take less.
_GATES: Final = 16


def any_up_to(bits: Value) -> Value:
    """Return for each bit whether it or a lower one is 1.

    Few bits: as wide gates, in as many steps as the number of bits has digits. More: a carry chain.
    """
    if len(bits) > _GATES:
        return (bits | (~bits + 1))[: len(bits)]
    step = 1
    while step < len(bits):
        bits = bits | Cat(C(0, step), bits[:-step])
        step *= 2
    return bits


def first_of(m: Module, name: str, bits: Value) -> Signal:
    """Return the bits with all but the lowest 1 cleared."""
    first = Signal(len(bits), name=name)
    m.d.comb += first.eq(bits & ~Cat(C(0, 1), any_up_to(bits)[:-1]))
    return first


def lowest_number(bits: Value) -> Value:
    """Return the number of the lowest 1; that of the last bit, or more, if there is none."""
    if len(bits) < 2:
        return C(0, 0)
    half = 1 << (len(bits) - 1).bit_length() - 1
    low, high = bits[:half], lowest_number(bits[half:])
    found = low.any()
    return Cat(Mux(found, lowest_number(low), high), ~found)


def number_of(one_hot: Value) -> Value:
    """Return the number of the single 1; 0 if there is none."""
    width = max(1, (len(one_hot) - 1).bit_length())
    return Cat(
        Cat(one_hot[k] for k in range(len(one_hot)) if k >> bit & 1).any() for bit in range(width)
    )


def decoded(m: Module, name: str, number: Value, width: int, enable: Value) -> Signal:
    """Return ``width`` bits of which bit ``number`` is ``enable`` and the others are 0.

    Both halves of the number are decoded first.
    """
    half = len(number) // 2
    low, high = (
        Signal(1 << half, name=f"{name}_low"),
        Signal(-(-width >> half), name=f"{name}_high"),
    )
    result = Signal(width, name=name)
    m.d.comb += [
        low.eq(Cat(number[:half] == k for k in range(len(low))) if half else 1),
        high.eq(Cat((number[half:] == k) & enable for k in range(len(high)))),
        result.eq(Cat(low[k % len(low)] & high[k >> half] for k in range(width))),
    ]
    return result


class Halves:
    """A slot's number as a 1 among ``high`` groups and a 1 among the ``low`` slots of a group.

    It is no slot's number while ``low`` is 0.
    """

    def __init__(self, config: Config, name: str) -> None:
        self.low = Signal(_GROUP, name=f"{name}_low")
        self.high = Signal(-(-config.block_slots // _GROUP), name=f"{name}_high")

    def __getitem__(self, slot: int) -> Value:
        return self.low[slot % _GROUP] & self.high[slot // _GROUP]

    def gated(self, m: Module, name: str, enable: Value) -> "list[Value]":
        """Return for each slot whether it is the one, and enabled."""
        low = Signal(_GROUP, name=f"{name}_low")
        m.d.comb += low.eq(self.low & enable.replicate(_GROUP))
        return [low[k % _GROUP] & self.high[k // _GROUP] for k in range(_GROUP * len(self.high))]


class SmSlots(wiring.Component):
    """Keep one SM's slots: taken at a decision, running from the offer's taking on.

    Numbers of slots are kept as two decoded halves, so that a slot's own part of them goes into the
    slot's own logic. The search for the lowest free slot sees registers alone.

    Parameters
    ----------
    config : Config
        ``block_slots``, ``reclaim`` and ``policy``.

    Attributes
    ----------
    lowest, some : Out
        The lowest free slot and whether there is one, as of this cycle's state.
    placed, head_place : In(1)
        A block of that place takes the lowest free slot at the end of the cycle.
    open, taken : In(1)
        The offer port is free in this cycle; the SM takes the standing offer.
    offer_place : In(1)
        Whose block the offer is.
    sent, sent_slot : In
        A completion that is processed in the next cycle: of a block if it runs now and does then.
    slot : Out
        The slot of the completion that is processed in this cycle.
    hit : Out(2)
        Whether its block runs and is the place's. A register.
    coming : Out(2)
        ``hit`` of the next cycle.
    wiped : In(2)
        Blocks of the place end now, that of ``sent_slot`` as well if it is one.
    stop_kill : In(2)
        Places whose running blocks are to be killed.
    victims : Out(block_slots)
        Those blocks.
    start : In(1)
        The victims become named, and stand in ``mask``, at the end of the cycle.
    acknowledged : In(1)
        What the kill named ends at the end of the cycle.
    returned : In(block_slots)
        ``in_order``: slots that are returned at the end of the cycle.
    named : Out(block_slots)
        Slots that the outstanding kill named.
    mask : Out(block_slots)
        The same in the first cycle after ``start``, 0 in others.
    killed, present : Out(2)
        ``in_order``: places of which an acknowledgement kills a block now; that have blocks that
        run now and after this cycle.
    busy : Out(block_slots)
        ``in_order``: slots with a block that has not ended.
    freed : Out
        ``freed_first``: slots that become free at the end of the cycle.
    """

    lowest: Signal
    some: Signal
    placed: Signal
    head_place: Signal
    open: Signal
    taken: Signal
    offer_place: Signal
    sent: Signal
    sent_slot: Signal
    slot: Signal
    hit: Signal
    coming: Signal
    wiped: Signal
    stop_kill: Signal
    victims: Signal
    start: Signal
    acknowledged: Signal
    returned: Signal
    named: Signal
    mask: Signal
    killed: Signal
    present: Signal
    busy: Signal
    freed: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        slots = config.block_slots
        super().__init__(
            {
                "lowest": Out(config.slot_bits),
                "some": Out(1),
                "placed": In(1),
                "head_place": In(1),
                "open": In(1),
                "taken": In(1),
                "offer_place": In(1),
                "sent": In(1),
                "sent_slot": In(config.slot_bits),
                "slot": Out(config.slot_bits),
                "hit": Out(2),
                "coming": Out(2),
                "wiped": In(2),
                "stop_kill": In(2),
                "victims": Out(slots),
                "start": In(1),
                "acknowledged": In(1),
                "returned": In(slots),
                "named": Out(slots),
                "mask": Out(slots),
                "killed": Out(2),
                "present": Out(2),
                "busy": Out(slots),
                "freed": Out(slots.bit_length()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        slots = self._config.block_slots
        running, place = Signal(slots), Signal(slots)
        lowest = Halves(self._config, "lowest")
        offered, done = Halves(self._config, "offered"), Halves(self._config, "done")
        with m.If(self.placed):
            m.d.sync += [offered.low.eq(lowest.low), offered.high.eq(lowest.high)]
        with m.If(self.open & ~self.placed):
            m.d.sync += offered.low.eq(0)
        started = offered.gated(m, "taken", self.taken)
        # A slot is never taken and completed in one cycle: one toggle serves both.
        toggled, remaining = Signal(slots), Signal(slots)
        for k in range(slots):
            m.d.comb += [
                toggled[k].eq(started[k] | done[k]),
                remaining[k].eq((running[k] ^ toggled[k]) & ~(self.named[k] & self.acknowledged)),
                self.victims[k].eq(
                    running[k] & Mux(place[k], self.stop_kill[1], self.stop_kill[0])
                ),
            ]
            # The place of a slot that has just ended is nobody's. All slots' places stand in
            # registers, for kills, and in a memory, for the slot that a completion names.
            with m.If(toggled[k]):
                m.d.sync += place[k].eq(self.offer_place)
        m.d.sync += [running.eq(remaining), self.mask.eq(self.victims)]
        self._look_up(m, running, done)
        with m.If(self.start):
            m.d.sync += self.named.eq(self.victims)
        with m.Else():
            m.d.sync += self.mask.eq(0)
        with m.If(self.acknowledged):
            m.d.sync += self.named.eq(0)

        standing = Cat(offered[k] for k in range(slots))
        stays = remaining | (self.named & ~self.acknowledged.replicate(slots))
        if self._config.reclaim == "in_order":
            held = Signal(slots)
            kept = held & ~self.returned
            given = Cat(lowest[k] & self.placed for k in range(slots))
            m.d.sync += held.eq(kept | given)
            stays = kept | (self.named & ~self.acknowledged.replicate(slots))
            self._watch(m, running, toggled, place, standing)
            blocked = held | self.named
        else:
            blocked = running | self.named | standing
        self._find(m, ~blocked, lowest)
        if self._config.policy == "freed_first":
            if self._config.reclaim == "out_of_order":
                self._free(m)
            else:
                stays = stays | (self.victims & self.start.replicate(slots))
                m.d.comb += self.freed.eq(reduce(add, blocked & ~stays))
        return m

    def _free(self, m: Module) -> None:
        """Count what becomes free: a slot that completes unnamed, all that an ended kill named.

        A kill ends two cycles after its start at the earliest: till then its slots are counted.
        """
        named = Signal(range(self._config.block_slots + 1), name="named_slots")
        spared, free = Signal(2), Signal()
        m.d.sync += named.eq(reduce(add, self.named))
        m.d.comb += [
            spared.eq(self.hit & ~(self.stop_kill & self.start.replicate(2))),
            free.eq(spared.any() & ~self.named.bit_select(self.slot, 1)),
            self.freed.eq(Mux(self.acknowledged, named, 0) + free),
        ]

    def _look_up(self, m: Module, running: Signal, done: Halves) -> None:
        """Find out in a completion's own cycle whether its block runs in the next, and whose it is.

        Whose it is stands in a memory from the decision on.
        """
        memory: Memory = Memory(shape=1, depth=1 << self._config.slot_bits, init=[])
        m.submodules.places = memory
        write, read = memory.write_port(), memory.read_port(domain="comb")
        runs, again = Signal(), Signal()
        m.d.comb += [
            # Whose a free slot would be does no harm.
            write.en.eq(self.some),
            write.addr.eq(self.lowest),
            write.data.eq(self.head_place),
            read.addr.eq(self.sent_slot),
            again.eq(self.hit.any() & (self.slot == self.sent_slot)),
            runs.eq(self.sent & running.bit_select(self.sent_slot, 1) & ~again),
            self.coming.eq(
                Cat(runs & ~read.data & ~self.wiped[0], runs & read.data & ~self.wiped[1])
            ),
        ]
        low, high = self.sent_slot[:_LOW_BITS], self.sent_slot[_LOW_BITS:]
        m.d.sync += [
            self.hit.eq(self.coming),
            self.slot.eq(self.sent_slot),
            done.low.eq(Cat((low == k) & self.coming.any() for k in range(_GROUP))),
            done.high.eq(Cat(high == k for k in range(len(done.high)))),
        ]

    def _find(self, m: Module, free: Value, lowest: "Halves") -> None:
        """Find the lowest free slot."""
        groups = [free[k : k + _GROUP] for k in range(0, len(free), _GROUP)]
        some, high = Signal(len(groups)), Signal(range(len(groups)))
        word = Signal(_GROUP)
        m.d.comb += some.eq(Cat(group.any() for group in groups))
        for number in reversed(range(len(groups))):
            with m.If(some[number]):
                m.d.comb += high.eq(number)
        padded = Cat(free, C(0, _GROUP * len(groups) - len(free)))
        low = Cat(~word[0] & (word[1] | ~word[2]), ~(word[0] | word[1]))
        first = word & ~Cat(C(0, 1), word[0], word[:2].any(), word[:3].any())
        m.d.comb += [
            word.eq(padded.bit_select(Cat(C(0, _LOW_BITS), high), _GROUP)),
            lowest.low.eq(first),
            lowest.high.eq(Cat(high == k for k in range(len(groups)))),
            self.lowest.eq(Cat(low, high)),
            self.some.eq(some.any()),
        ]

    def _watch(
        self, m: Module, running: Value, toggled: Value, place: Value, standing: Value
    ) -> None:
        """Say by slot what counts do not say: what in-order reclaim has not returned."""
        slots = self._config.block_slots
        kept, dying, left = Signal(slots), Signal(slots), Signal(slots)
        m.d.comb += [
            kept.eq(running & ~toggled),
            dying.eq(kept & self.named & self.acknowledged.replicate(slots)),
            left.eq(kept & ~dying),
            self.killed.eq(Cat((dying & ~place).any(), (dying & place).any())),
            self.busy.eq(running | standing),
            self.present.eq(Cat((left & ~place).any(), (left & place).any())),
        ]
