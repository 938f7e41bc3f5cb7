"""A queue whose oldest entry always stands in the same register."""

from typing import Any, Final

from amaranth.hdl import Module, Mux, Shape, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows

#: Of so many entries, or fewer, each has a register; of more, all but the oldest are in a memory.
_REGISTERS: Final = 4


class ShiftQueue(wiring.Component):
    """Hold a few entries. The oldest entry and ``i.ready`` are registers.

    Parameters
    ----------
    shape : ShapeLike
        Of an entry.
    depth : int
        Entries, at least 2.
    """

    i: stream.Interface
    o: stream.Interface
    ready_next: Signal
    valid_next: Signal
    payload_next: Any

    def __init__(self, shape: Any, depth: int) -> None:
        self._shape, self._depth = shape, depth
        super().__init__(
            {
                # `ready` is 1 while fewer than `depth` entries are held (state).
                "i": In(stream.Signature(shape)),
                # The oldest entry; valid one cycle after it came, at the earliest.
                "o": Out(stream.Signature(shape)),
                # `i.ready` and `o.valid` of the next cycle, for a user that registers what follows
                # from them.
                "ready_next": Out(1),
                "valid_next": Out(1),
                # `o.payload` of the next cycle, where `valid_next` is 1.
                "payload_next": Out(shape),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        depth = self._depth
        held = [Signal(name=f"held_{k}") for k in range(depth)]
        following = [Signal(name=f"held_{k}_next") for k in range(depth)]
        # An entry means nothing while it is not held: it needs no reset.
        first: Any = Signal(self._shape, name="entry_0", reset_less=True)
        after: Any = Signal(self._shape, name="after_the_oldest")
        push = Signal()
        pop = Signal()
        behind = self._behind if depth <= _REGISTERS else self._behind_in_memory
        second = behind(m, held, push, pop)
        m.d.comb += [
            self.i.ready.eq(~held[-1]),
            self.o.valid.eq(held[0]),
            self.o.payload.eq(first),
            self.ready_next.eq(~following[-1]),
            self.valid_next.eq(following[0]),
            # An entry that is pushed is the oldest if none is held, or if the only one leaves.
            after.eq(Mux(held[1], second, self.i.payload)),
            self.payload_next.eq(Mux(held[0] & ~pop, first, after)),
            push.eq(self.i.valid & self.i.ready),
            pop.eq(self.o.valid & self.o.ready),
        ]
        for k in range(depth):
            below = held[k - 1] if k else 1
            above = held[k + 1] if k + 1 < depth else 0
            m.d.comb += following[k].eq(
                Mux(pop, above | (push & held[k] & int(k + 1 < depth)), held[k] | (push & below))
            )
            m.d.sync += held[k].eq(following[k])
        with m.If(pop | (push & ~held[0])):
            m.d.sync += first.eq(after)
        return m

    def _behind(self, m: Module, held: list[Signal], push: Signal, pop: Signal) -> Any:
        """Keep the entries behind the oldest one in registers; return the second."""
        depth = self._depth
        entries: list[Any] = [
            Signal(self._shape, name=f"entry_{k}", reset_less=True) for k in range(1, depth)
        ]
        for k, entry in enumerate(entries, 1):
            later = self.i.payload
            if k + 1 < depth:
                later = Mux(held[k + 1], entries[k], later)
            with m.If(pop | (push & held[k - 1] & ~held[k])):
                m.d.sync += entry.eq(later)
        return entries[0]

    def _behind_in_memory(self, m: Module, held: list[Signal], push: Signal, pop: Signal) -> Any:
        """Keep the entries behind the oldest one in a ring; return the second."""
        rows = 1 << (self._depth - 2).bit_length()
        read, written = Signal(range(rows), name="oldest_row"), Signal(range(rows), name="free_row")
        waits = Signal()
        # The only entry that is held is not the oldest any more if it leaves.
        m.d.comb += waits.eq(push & held[0] & (held[1] | ~pop))
        m.d.sync += [read.eq(read + (pop & held[1])), written.eq(written + waits)]
        ring = Rows(m, "ring", Shape.cast(self._shape).width, rows)
        ring.write(waits, written, Value.cast(self.i.payload))
        second: Any = Signal(self._shape, name="second")
        m.d.comb += Value.cast(second).eq(ring.now(read))
        return second
