"""Which warps there are, which one takes the next turn, and how blocks end."""

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import decoded, lowest_number
from warploom_spec import Config
from warploom_spec.errors import BlockStatus
from warploom_spec.sm_packets import warp_end, warp_start


class WarpTable(wiring.Component):
    """An entry for each resident warp: its block, and whether it can take a turn.

    One warp at a time is *current*: it takes a turn while `busy` is 1. A block whose stream is
    killed, or one of whose lanes faulted, is *doomed*: its warps take no further turn, and end all
    at once, a block a cycle.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        entry = range(config.warp_slots)
        super().__init__(
            {
                "kill": In(1 << config.stream_bits),
                # A block comes: its slot is new.
                "block_valid": In(1),
                "block_slot": In(config.slot_bits),
                "block_stream": In(config.stream_bits),
                # A warp comes, unless `closed`, and gets this entry.
                "start": In(stream.Signature(warp_start(config).layout())),
                "closed": In(1),
                "entry": Out(entry),
                # An entry's indices have come.
                "got": In(1),
                "got_entry": In(entry),
                # The warp that can take the next turn; `take` makes it current.
                "picked_valid": Out(1),
                "picked": Out(entry),
                "picked_slot": Out(config.slot_bits),
                "take": In(1),
                # The current warp: a turn goes on; its entry and slot, and warps of its block; the
                # barrier opened since its last turn; it must end.
                "busy": In(1),
                "current": Out(entry),
                "slot": Out(config.slot_bits),
                "block_warps": In(config.warps_bits),
                "opened": Out(1),
                "doomed": Out(1),
                # What its turn says: the turn is over; all its lanes wait; all have ended (until
                # `end_done`); a lane faulted; look whether the block's barrier opens.
                "turned": In(1),
                "block": In(1),
                "end": In(1),
                "end_done": Out(1),
                "fault": In(1),
                "check": In(1),
                # A pulse: warps of a block have ended.
                "ended": Out(warp_end(config).layout()),
                "ended_valid": Out(1),
                # Entries that they had.
                "cleared": Out(config.warp_slots),
                # Entries without a warp that can have none yet, and those that can from now on.
                "dirty": Out(config.warp_slots),
                "cleaned": In(config.warp_slots),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        count = config.warp_slots
        live = Signal(count)
        ready = Signal(count)
        blocked = Signal(count)
        opened = Signal(count)
        slots = Array(Signal(config.slot_bits, name=f"slot_{n}") for n in range(count))
        streams = Array(
            Signal(config.stream_bits, name=f"stream_{n}") for n in range(config.block_slots)
        )
        faulted = Signal(config.block_slots)
        over = Signal(config.block_slots)
        doomed = Signal(count)
        mine = Signal(count)
        # A cycle after `kill`; not of the block that was in the slot before.
        killed = Signal(config.block_slots)
        new = decoded(m, "new", self.block_slot, config.block_slots, self.block_valid)
        m.d.sync += killed.eq(Cat(self.kill.bit_select(one, 1) for one in streams) & ~new)
        m.d.comb += over.eq(faulted | killed)
        for n in range(count):
            m.d.comb += doomed[n].eq(live[n] & over.bit_select(slots[n], 1))
            m.d.comb += mine[n].eq(live[n] & (slots[n] == self.slot))
        here = decoded(m, "here", self.current, count, C(1, 1))
        self._pick(m, live & ready & ~blocked & ~doomed, slots, opened)
        m.d.comb += self.doomed.eq((doomed & here).any())
        started = self._start(m, live, slots)
        self._end(m, doomed & ~Mux(self.busy, mine, 0), slots, live, faulted, here)

        opens = Signal()
        all_started = started[self.slot] == self.block_warps
        m.d.comb += opens.eq(self.check & mine.any() & ~(mine & ~blocked).any() & all_started)
        starts = decoded(m, "starts", self.entry, count, self.start.valid & self.start.ready)
        gots = decoded(m, "gots", self.got_entry, count, self.got)
        m.d.sync += [
            live.eq(live & ~self.cleared | starts),
            ready.eq(ready & ~starts | gots),
            blocked.eq(
                (blocked | Mux(self.turned & self.block, here, 0)) & ~(Mux(opens, mine, 0) | starts)
            ),
            opened.eq((opened | Mux(opens, mine, 0)) & ~(Mux(self.turned, here, 0) | starts)),
        ]
        with m.If(self.fault):
            m.d.sync += faulted.bit_select(self.slot, 1).eq(1)
        with m.If(self.block_valid):
            m.d.sync += faulted.bit_select(self.block_slot, 1).eq(0)
            m.d.sync += streams[self.block_slot].eq(self.block_stream)
            m.d.sync += started[self.block_slot].eq(0)
        return m

    def _pick(self, m: Module, able: Any, slots: Any, opened: Signal) -> None:
        """Choose the next warp behind the current one, and take it."""
        count = self._config.warp_slots
        eligible = Signal(count)
        behind = Signal(count)
        m.d.comb += eligible.eq(able)
        m.d.comb += behind.eq(Cat(eligible[n] & (self.current < n) for n in range(count)))
        number = Mux(behind.any(), lowest_number(behind), lowest_number(eligible))
        m.d.comb += [self.picked_valid.eq(eligible.any()), self.picked.eq(number)]
        m.d.comb += self.picked_slot.eq(slots[self.picked])
        with m.If(self.take):
            m.d.sync += [self.current.eq(self.picked), self.slot.eq(self.picked_slot)]
            m.d.sync += self.opened.eq(opened.bit_select(self.picked, 1))

    def _start(self, m: Module, live: Signal, slots: Any) -> Any:
        """Give a warp that comes the lowest clean entry; return each slot's count of warps."""
        config = self._config
        started = Array(
            Signal(config.warps_bits, name=f"started_{n}") for n in range(config.block_slots)
        )
        clean = Signal(config.warp_slots)
        starts = self.start.valid & self.start.ready
        m.d.comb += self.start.ready.eq(clean.any() & ~self.closed)
        m.d.comb += [self.entry.eq(lowest_number(clean)), self.dirty.eq(~live & ~clean)]
        m.d.sync += clean.eq(clean & ~Mux(starts, 1 << self.entry, 0) | self.cleaned)
        slot = self.start.payload.slot
        with m.If(starts):
            m.d.sync += [
                slots[self.entry].eq(slot),
                started[slot].eq(started[slot] + 1),
            ]
        return started

    def _end(
        self, m: Module, reaped: Any, slots: Any, live: Signal, faulted: Signal, here: Signal
    ) -> None:
        """End a doomed block's warps, or else the current warp whose lanes have ended.

        A doomed block is chosen a cycle before its warps end.
        """
        count = self._config.warp_slots
        reapable = Signal(count)
        reaps = Signal()
        slot = Signal.like(self.slot)
        theirs = Signal(count)
        m.d.comb += theirs.eq(Cat(live[n] & (slots[n] == slot) for n in range(count)))
        m.d.comb += reapable.eq(reaped & ~Mux(reaps, theirs, 0))
        m.d.comb += [self.end_done.eq(self.end & ~reaps), self.ended_valid.eq(self.end | reaps)]
        m.d.sync += reaps.eq(reapable.any())
        m.d.sync += slot.eq(slots[lowest_number(reapable)[: len(self.entry)]])
        with m.If(reaps):
            fault = faulted.bit_select(slot, 1)
            m.d.comb += self.ended.slot.eq(slot)
            m.d.comb += self.ended.status.eq(Mux(fault, BlockStatus.FAULT, BlockStatus.KILLED))
            m.d.comb += self.ended.warps.eq(sum(theirs[n] for n in range(count)))
            m.d.comb += self.cleared.eq(theirs)
        with m.Else():
            m.d.comb += [self.ended.slot.eq(self.slot), self.ended.status.eq(BlockStatus.OK)]
            m.d.comb += [self.ended.warps.eq(1), self.cleared.eq(Mux(self.end, here, 0))]
