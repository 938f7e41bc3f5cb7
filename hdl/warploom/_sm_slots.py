"""Which slots of one SM hold blocks, whose, and which is the lowest free one."""

from functools import reduce
from operator import add

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config


def first_of(m: Module, name: str, bits: Value) -> Signal:
    """Return the bits with all but the lowest 1 cleared: one carry chain."""
    source, first = Signal(len(bits), name=f"{name}_among"), Signal(len(bits), name=name)
    m.d.comb += [source.eq(bits), first.eq(source & -source)]
    return first


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
    low, high = Signal(1 << half, name=f"{name}_low"), Signal(
        -(-width >> half), name=f"{name}_high"
    )
    result = Signal(width, name=name)
    m.d.comb += [
        low.eq(Cat(number[:half] == k for k in range(len(low))) if half else 1),
        high.eq(Cat((number[half:] == k) & enable for k in range(len(high)))),
        result.eq(Cat(low[k % len(low)] & high[k >> half] for k in range(width))),
    ]
    return result


class SmSlots(wiring.Component):
    """Keep one SM's slots: taken at a decision, running from the offer's taking on.

    What ends is known one cycle early and stands in a register, one bit a slot, when it takes
    effect.

    Parameters
    ----------
    config : Config
        ``block_slots`` and ``reclaim``.

    Attributes
    ----------
    lowest, room : Out
        The lowest free slot and whether there is one, as of this cycle's state.
    placed, head_place : In(1)
        A block of that place takes the lowest free slot at the end of the cycle.
    open, taken : In(1)
        The offer port is free in this cycle; the SM takes the standing offer.
    sent, sent_slot : In
        A completion that is processed in the next cycle.
    hit : Out(1), hit_place : Out(1)
        Whether the block of that completion runs in the next cycle, and whose it is.
    stop_kill : In(2)
        Places whose running blocks are to be killed. ``victims``: those that run after what ends in
        this cycle.
    start : In(1)
        The victims become named at the end of the cycle.
    forgiven : In(1)
        An acknowledgement is processed in the next cycle: what the kill named ends then.
    returned : In(block_slots)
        ``in_order``: slots that are returned at the end of the cycle.
    named : Out(block_slots)
        Slots that the outstanding kill named.
    killed, present : Out(2)
        ``in_order``: places of which an acknowledgement kills a block now; that have running blocks
        after this cycle.
    busy : Out(block_slots)
        ``in_order``: slots with a block that has not ended.
    freed : Out
        ``freed_first``: slots that become free at the end of the cycle.
    """

    lowest: Signal
    room: Signal
    placed: Signal
    head_place: Signal
    open: Signal
    taken: Signal
    sent: Signal
    sent_slot: Signal
    hit: Signal
    hit_place: Signal
    stop_kill: Signal
    victims: Signal
    start: Signal
    forgiven: Signal
    returned: Signal
    named: Signal
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
                # The stubs lack `init`.
                "room": Out(1, init=1),  # type: ignore[call-arg]
                "placed": In(1),
                "head_place": In(1),
                "open": In(1),
                "taken": In(1),
                "sent": In(1),
                "sent_slot": In(config.slot_bits),
                "hit": Out(1),
                "hit_place": Out(1),
                "stop_kill": In(2),
                "victims": Out(slots),
                "start": In(1),
                "forgiven": In(1),
                "returned": In(slots),
                "named": Out(slots),
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
        lowest, standing = Signal(slots, init=1), Signal(slots)
        ending, kept, remaining = Signal(slots), Signal(slots), Signal(slots)
        m.d.comb += [
            kept.eq(running & ~ending),
            remaining.eq(kept | Mux(self.taken, standing, 0)),
            self.hit.eq(self.sent & remaining.bit_select(self.sent_slot, 1)),
            self.hit_place.eq(place.bit_select(self.sent_slot, 1)),
            self.victims.eq(
                kept & (Mux(self.stop_kill[0], ~place, 0) | Mux(self.stop_kill[1], place, 0))
            ),
        ]
        completed = decoded(m, "completed", self.sent_slot, slots, self.sent)
        m.d.sync += [
            ending.eq(completed | Mux(self.forgiven, self.named, 0)),
            running.eq(remaining),
        ]
        with m.If(self.placed):
            m.d.sync += standing.eq(lowest)
        with m.Elif(self.open):
            m.d.sync += standing.eq(0)
        for k in range(slots):
            with m.If(self.placed & lowest[k]):
                m.d.sync += place[k].eq(self.head_place)
        with m.If(self.forgiven):
            m.d.sync += self.named.eq(0)
        with m.Elif(self.start):
            m.d.sync += self.named.eq(self.victims)

        if self._config.reclaim == "in_order":
            held = Signal(slots)
            blocked = held & ~self.returned
            m.d.sync += held.eq(blocked | Mux(self.placed, lowest, 0))
            self._watch(m, completed, remaining, running, place, standing)
        else:
            blocked = kept | standing
        self._find(m, blocked | self.named, lowest)
        return m

    def _find(self, m: Module, blocked: Value, lowest: Signal) -> None:
        """Find the lowest slot that is free in the next cycle."""
        slots = self._config.block_slots
        free = Signal(slots)
        given = Mux(self.placed, lowest, 0)
        m.d.comb += [free.eq(~blocked), self.lowest.eq(number_of(lowest))]
        m.d.sync += [
            lowest.eq(first_of(m, "following", free & ~given)),
            self.room.eq((free & ~given).any()),
        ]
        if self._config.policy == "freed_first":
            free_before = Signal(slots, init=-1)
            m.d.sync += free_before.eq(free & ~given)
            m.d.comb += self.freed.eq(reduce(add, free & ~free_before))

    def _watch(
        self,
        m: Module,
        sent: Value,
        remaining: Value,
        running: Value,
        place: Value,
        standing: Value,
    ) -> None:
        """Say by slot what totals do not say: what in-order reclaim has not returned."""
        forgiven = Signal(self._config.block_slots)
        completed = Signal.like(forgiven)
        m.d.sync += [
            forgiven.eq(Mux(self.forgiven, self.named, 0)),
            completed.eq(sent),
        ]
        dying = forgiven & running & ~completed
        m.d.comb += [
            self.busy.eq(running | standing),
            self.killed.eq(Cat((dying & ~place).any(), (dying & place).any())),
            self.present.eq(Cat((remaining & ~place).any(), (remaining & place).any())),
        ]
