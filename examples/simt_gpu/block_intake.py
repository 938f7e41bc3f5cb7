"""Takes blocks at the SM's port, hands on their warps, and reports the blocks' ends."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from simt_core.packets import warp_start
from warploom.lib.bits import lowest_number
from warploom_spec import Config, layouts
from warploom_spec.errors import BlockStatus
from warploom_spec.layouts import PLACES
from warploom_spec.sm_packets import warp_end


class BlockIntake(wiring.Component):
    """Split blocks into warps for SimtCore (``docs/dispatch/sm/port.md``).

    One block is handed on at a time. Each slot has an equal part of the shared memory. A block that
    needs more waits until it is alone, and others wait for its end.

    Parameters
    ----------
    config : Config
        The front end's.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # The SM's port.
                "words": In(layouts.launch_words(config).layout()).array(PLACES),
                "kill": In(PLACES),
                "offer": In(stream.Signature(layouts.block_offer(config).layout())),
                "report": Out(stream.Signature(layouts.block_report(config).layout())),
                # SimtCore's.
                "block": Out(layouts.block_offer(config).layout()),
                "block_valid": Out(1),
                "shared_first": Out(range(config.shared_units + 1)),
                "warp": Out(stream.Signature(warp_start(config).layout())),
                "ended": In(warp_end(config).layout()),
                "ended_valid": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        slots = self._config.block_slots
        offer = self.block
        held = Signal()
        handing = Signal()
        words = Array(self.words)[offer.place]
        killed = self.kill.bit_select(offer.place, 1)
        m.d.comb += self.offer.ready.eq(~held & ~handing)
        with m.If(self.offer.valid & self.offer.ready):
            m.d.sync += [offer.eq(self.offer.payload), held.eq(1)]

        # A block begins when its shared memory is free.
        busy = Signal(slots)
        alone = Signal()
        part = self._config.shared_units // slots
        large = words.shared > part
        # A killed block needs none: its warps are dropped.
        with m.If(held & (killed | ~alone & (~large | ~busy.any()))):
            m.d.comb += self.block_valid.eq(1)
            m.d.sync += [held.eq(0), handing.eq(1), alone.eq(alone | large & ~killed)]
        with m.Elif(alone & ~busy.any() & ~handing):
            m.d.sync += alone.eq(0)
        firsts = Array(part * slot for slot in range(slots))
        m.d.comb += self.shared_first.eq(Mux(large, 0, firsts[offer.slot]))

        # Its warps follow. A warp that the core has refused is held.
        warp = Signal.like(words.warps)
        refused = Signal()
        last = warp + 1 == words.warps
        full = (1 << self._config.warp_size) - 1
        transfers = self.warp.valid & self.warp.ready
        drops = handing & killed & ~refused
        m.d.comb += [
            self.warp.valid.eq(handing & (~killed | refused)),
            self.warp.payload.slot.eq(offer.slot),
            self.warp.payload.warp.eq(warp),
            self.warp.payload.mask.eq(Mux(last, words.last_mask, full)),
            self.warp.payload.row.eq(offer.index_address + warp),
        ]
        m.d.sync += refused.eq(self.warp.valid & ~self.warp.ready)
        with m.If(transfers):
            m.d.sync += warp.eq(warp + 1)
        with m.If(drops | (transfers & last)):
            m.d.sync += [handing.eq(0), warp.eq(0)]
        self._reports(m, offer.slot, transfers, drops, handing, busy)
        return m

    def _reports(
        self,
        m: Module,
        slot: Signal,
        transfers: Signal,
        drops: Signal,
        handing: Signal,
        busy: Signal,
    ) -> None:
        """Count each block's warps; report a block of which none is left."""
        slots = self._config.block_slots
        left = [Signal(len(self.ended.warps), name=f"left_{n}") for n in range(slots)]
        statuses = Array(Signal(BlockStatus, name=f"status_{n}") for n in range(slots))
        over = Signal(slots)
        done = Signal(range(slots))
        for n in range(slots):
            here = slot == n
            begins = self.block_valid & here
            more = transfers & here
            fewer = Mux(self.ended_valid & (self.ended.slot == n), self.ended.warps, 0)
            m.d.sync += left[n].eq(left[n] + more - fewer)
            m.d.comb += over[n].eq(busy[n] & (left[n] == 0) & ~(handing & here))
            reported = self.report.valid & (done == n)
            m.d.sync += busy[n].eq((busy[n] | begins) & ~reported)
        m.d.comb += [
            done.eq(lowest_number(over)),
            self.report.valid.eq(over.any()),
            self.report.payload.slot.eq(done),
            self.report.payload.status.eq(statuses[done]),
        ]
        # A fault counts for more than a kill, and a kill for more than an end.
        with m.If(self.ended_valid & (statuses[self.ended.slot] != BlockStatus.FAULT)):
            with m.If(self.ended.status != BlockStatus.OK):
                m.d.sync += statuses[self.ended.slot].eq(self.ended.status)
        with m.If(self.block_valid):
            m.d.sync += statuses[slot].eq(BlockStatus.OK)
        with m.If(drops & (statuses[slot] != BlockStatus.FAULT)):
            m.d.sync += statuses[slot].eq(BlockStatus.KILLED)
