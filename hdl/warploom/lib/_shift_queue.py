"""A queue whose oldest entry always stands in the same register."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


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
        entries: list[Any] = [
            Signal(self._shape, name=f"entry_{k}", reset_less=True) for k in range(depth)
        ]
        push = Signal()
        pop = Signal()
        m.d.comb += [
            self.i.ready.eq(~held[-1]),
            self.o.valid.eq(held[0]),
            self.o.payload.eq(entries[0]),
            self.ready_next.eq(~following[-1]),
            self.valid_next.eq(following[0]),
            # An entry that is pushed is the oldest if none is held, or if the only one leaves.
            self.payload_next.eq(
                Mux(held[0] & ~pop, entries[0], Mux(held[1], entries[1], self.i.payload))
            ),
            push.eq(self.i.valid & self.i.ready),
            pop.eq(self.o.valid & self.o.ready),
        ]
        for k, entry in enumerate(entries):
            below = held[k - 1] if k else 1
            above = held[k + 1] if k + 1 < depth else 0
            m.d.comb += following[k].eq(
                Mux(pop, above | (push & held[k] & int(k + 1 < depth)), held[k] | (push & below))
            )
            m.d.sync += held[k].eq(following[k])
            with m.If(pop):
                if k + 1 < depth:
                    m.d.sync += entry.eq(Mux(held[k + 1], entries[k + 1], self.i.payload))
            with m.Elif(push & below & ~held[k]):
                m.d.sync += entry.eq(self.i.payload)
        return m
