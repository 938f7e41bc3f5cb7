"""Which slots of one SM hold blocks, whose, and which is the lowest free one."""

from functools import reduce
from operator import add

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config


def lowest_of(bits: Value) -> tuple[Value, Value]:
    """Return the number of the lowest bit that is 1, and whether there is one.

    A tree: each level chooses between two halves.
    """
    if len(bits) == 1:
        return C(0, 0), bits[0]
    half = 1 << ((len(bits) - 1).bit_length() - 1)
    low, low_any = lowest_of(bits[:half])
    high, high_any = lowest_of(bits[half:])
    return Cat(Mux(low_any, low, high)[: (half - 1).bit_length()], ~low_any), low_any | high_any


def decoded(number: Value, width: int, enable: Value) -> Value:
    """Return ``width`` bits of which bit ``number`` is ``enable`` and the others are 0."""
    return Cat((number == k) & enable for k in range(width))


class SmSlots(wiring.Component):
    """Keep one SM's slots: taken at a decision, running from the offer's taking on.

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
    offered, offer_slot, taken : In
        The offer that stands in this cycle, and whether the SM takes it.
    slot : In
        The slot whose completion is processed in this cycle; ``hit``, ``hit_place``: it is running,
        and whose block. ``completed``: it ends now.
    stop_kill : In(2)
        Places whose running blocks are to be killed. ``victims``: their slots in this cycle.
    start, acknowledged : In(1)
        The victims become named at the end of the cycle; the named slots end at its end.
    returned : In(block_slots)
        ``in_order``: slots that are returned at the end of the cycle.
    killed, present : Out(2)
        Places of which this acknowledgement really kills a block; that have running blocks after
        this cycle.
    busy : Out(block_slots)
        Slots with a block that has not ended.
    freed : Out
        Slots that become free at the end of the cycle.
    """

    lowest: Signal
    room: Signal
    placed: Signal
    head_place: Signal
    offered: Signal
    offer_slot: Signal
    taken: Signal
    slot: Signal
    hit: Signal
    hit_place: Signal
    completed: Signal
    stop_kill: Signal
    victims: Signal
    start: Signal
    acknowledged: Signal
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
                "room": Out(1, init=1),
                "placed": In(1),
                "head_place": In(1),
                "offered": In(1),
                "offer_slot": In(config.slot_bits),
                "taken": In(1),
                "slot": In(config.slot_bits),
                "hit": Out(1),
                "hit_place": Out(1),
                "completed": In(1),
                "stop_kill": In(2),
                "victims": Out(slots),
                "start": In(1),
                "acknowledged": In(1),
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
        ending, kept, remaining = Signal(slots), Signal(slots), Signal(slots)
        lowest = Signal(slots)
        m.d.comb += [
            lowest.eq(decoded(self.lowest, slots, self.room)),
            ending.eq(
                decoded(self.slot, slots, self.completed)
                | Mux(self.acknowledged, self.named, 0)
            ),
            kept.eq(running & ~ending),
            remaining.eq(kept | decoded(self.offer_slot, slots, self.taken)),
            self.hit.eq((running & decoded(self.slot, slots, C(1))).any()),
            self.hit_place.eq((place & decoded(self.slot, slots, C(1))).any()),
            self.victims.eq(
                running & Mux(self.stop_kill[0], ~place, 0)
                | running & Mux(self.stop_kill[1], place, 0)
            ),
            self.busy.eq(running | decoded(self.offer_slot, slots, self.offered)),
        ]
        m.d.sync += [
            running.eq(remaining),
            place.eq(Mux(self.placed, Mux(self.head_place, place | lowest, place & ~lowest), place)),
        ]
        named = Signal(slots)
        m.d.comb += named.eq(
            Mux(self.start, self.victims, Mux(self.acknowledged, 0, self.named))
        )
        m.d.sync += self.named.eq(named)
        dying = Signal(slots)
        m.d.comb += [
            dying.eq(
                Mux(self.acknowledged, self.named & running, 0)
                & ~decoded(self.slot, slots, self.completed)
            ),
            self.killed.eq(Cat((dying & ~place).any(), (dying & place).any())),
            self.present.eq(Cat((remaining & ~place).any(), (remaining & place).any())),
        ]
        self._find(m, kept, named, lowest)
        return m

    def _find(self, m: Module, kept: Value, named: Value, lowest: Value) -> None:
        """Keep the lowest free slot: the next one if it is given out, else the lower of the two."""
        slots = self._config.block_slots
        blocked, blocked_now = Signal(slots), Signal(slots)
        if self._config.reclaim == "in_order":
            held = Signal(slots)
            m.d.comb += [blocked.eq(held & ~self.returned), blocked_now.eq(held)]
            m.d.sync += held.eq(blocked | Mux(self.placed, lowest, 0))
        else:
            m.d.comb += [
                blocked.eq(kept | decoded(self.offer_slot, slots, self.offered)),
                blocked_now.eq(self.busy),
            ]
        found, some = lowest_of(~(blocked | named | lowest))
        with m.If(self.placed | ~self.room | (some & (found < self.lowest))):
            m.d.sync += [self.lowest.eq(found), self.room.eq(some)]
        becoming = (blocked_now | self.named) & ~(blocked | named)
        m.d.comb += self.freed.eq(reduce(add, becoming))
