"""Takes blocks at the SM's port, hands on their warps, and reports the blocks' ends."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from warploom.sm_side.report_queue import ReportQueue
from warploom_spec import BlockStatus, Config, layouts, sm_packets, timing
from warploom_spec.layouts import STATUS_BITS


class BlockToWarps(wiring.Component):
    """Stand between OfferQueue and a core that takes warps and says when one ends.

    One block is held at a time, a warp a cycle. Ends are counted by slot. Warps that the core has
    not got when its stream is killed count as ends.

    Parameters
    ----------
    config : Config
        The front end's.
    """

    offer: stream.Interface
    words: Any
    kill: Signal
    dropped: stream.Interface
    report: stream.Interface
    over: Any
    over_valid: Signal
    warp: stream.Interface
    block: Any
    ended: Any
    ended_valid: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        placed = sm_packets.placed_block(config).layout()
        super().__init__(
            {
                # Blocks; `ready` is 1 while none is held. The words are those of this block.
                "offer": In(stream.Signature(placed)),
                "words": In(layouts.launch_words(config).layout()),
                # As at the SM's port.
                "kill": In(1 << config.stream_bits),
                # Slots of blocks that were killed before they came here.
                "dropped": In(stream.Signature(config.slot_bits)),
                # The SM's port: how blocks ended.
                "report": Out(stream.Signature(layouts.block_report(config).layout())),
                # A pulse: a block that came here is over.
                "over": Out(layouts.block_report(config).layout()),
                "over_valid": Out(1),
                # Warps for the core, and their block.
                "warp": Out(stream.Signature(sm_packets.warp_start(config).layout())),
                "block": Out(placed),
                # A pulse: warps of one block have ended.
                "ended": In(sm_packets.warp_end(config).layout()),
                "ended_valid": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        booting, boot = self._boot(m)
        held = Signal()
        dropping = Signal()
        # Warps of the held block that have not transferred.
        left = Signal(self._config.warps_bits)
        m.d.comb += self.offer.ready.eq(~held & ~booting)
        self._hand_on(m, held, dropping, left)

        # The core's ends, or those of the warps that are dropped.
        end: Any = Signal(self.ended.shape())
        valid = Signal()
        drops = Signal()
        m.d.comb += [
            drops.eq(dropping & ~self.ended_valid),
            end.eq(self.ended),
            valid.eq((self.ended_valid & ~booting) | drops),
        ]
        # It means nothing without an end. `drops` would come later than `ended_valid`.
        with m.If(~self.ended_valid):
            m.d.comb += [
                end.slot.eq(self.block.slot),
                end.status.eq(BlockStatus.KILLED),
                end.warps.eq(left),
            ]
        with m.If(drops):
            m.d.sync += [dropping.eq(0), held.eq(0)]
        self._count(m, end, valid, booting, boot)
        m.submodules.reports = reports = ReportQueue(self._config)
        connect(m, flipped(self.dropped), reports.dropped)
        connect(m, reports.report, flipped(self.report))
        m.d.comb += [reports.over.eq(self.over), reports.over_valid.eq(self.over_valid)]
        return m

    def _boot(self, m: Module) -> tuple[Value, Value]:
        """Return whether the boot goes on, and the slot whose count is cleared in this cycle."""
        cycles = timing(self._config).boot
        boot = Signal(range(cycles + 1))
        booting = Signal(init=1)
        with m.If(booting):
            m.d.sync += boot.eq(boot + 1)
            with m.If(boot == cycles - 1):
                m.d.sync += booting.eq(0)
        return booting, boot

    def _hand_on(self, m: Module, held: Signal, dropping: Signal, left: Signal) -> None:
        """Hold a block, and present its warps until one transfers under a kill."""
        offer, warp = self.offer.payload, self.warp.payload
        takes = Signal()
        moves = Signal()
        killed = Signal()
        last_mask = Signal(self._config.warp_size)
        following = Signal.like(left)
        m.d.comb += [
            takes.eq(self.offer.valid & self.offer.ready),
            moves.eq(self.warp.valid & self.warp.ready),
            killed.eq(self.kill.bit_select(Mux(held, self.block.stream, offer.stream), 1)),
            following.eq(Mux(held, left - 1, self.words.warps)),
            warp.slot.eq(self.block.slot),
        ]
        with m.If(takes):
            m.d.sync += [
                self.block.eq(offer),
                last_mask.eq(self.words.last_mask),
                held.eq(1),
                warp.warp.eq(0),
            ]
            if self._config.makes_indices:
                m.d.sync += warp.row.eq(offer.index_address)
        with m.If(moves):
            m.d.sync += warp.warp.eq(warp.warp + 1)
            if self._config.makes_indices:
                m.d.sync += warp.row.eq(warp.row + 1)
        with m.If(takes | moves):
            last = following == 1
            m.d.sync += [
                left.eq(following),
                warp.mask.eq(
                    Mux(held, last_mask, self.words.last_mask) | (~last).replicate(len(warp.mask))
                ),
            ]
            with m.If(moves & (left == 1)):
                m.d.sync += [held.eq(0), self.warp.valid.eq(0)]
            with m.Else():
                m.d.sync += [self.warp.valid.eq(~killed), dropping.eq(killed)]

    def _count(self, m: Module, end: Any, valid: Signal, booting: Value, boot: Value) -> None:
        """Add an end to its block's count; report the block when all its warps have ended."""
        config = self._config
        depth = 1 << config.slot_bits
        entry = data.StructLayout({"warps": config.warps_bits, "status": STATUS_BITS})
        counts: Memory = Memory(shape=entry, depth=depth, init=[])
        totals: Memory = Memory(shape=config.warps_bits, depth=depth, init=[])
        m.submodules.counts = counts
        m.submodules.totals = totals
        totals_write = totals.write_port()
        total_read = totals.read_port(domain="comb")
        write = counts.write_port()
        read = counts.read_port(domain="comb")

        # An end in one cycle: its block's count before it, and the count that it completes.
        counted: Any = Signal(end.shape())
        counted_valid = Signal()
        before: Any = Signal(entry)
        last = Signal(config.warps_bits)
        # The count after it, in the next cycle.
        total: Any = Signal(entry)
        over = Signal()
        m.d.comb += [
            totals_write.addr.eq(self.offer.payload.slot),
            totals_write.data.eq(self.words.warps),
            totals_write.en.eq(self.offer.valid & self.offer.ready),
            total_read.addr.eq(end.slot),
            read.addr.eq(end.slot),
        ]
        m.d.sync += [
            counted.eq(end),
            counted_valid.eq(valid),
            before.eq(read.data),
            last.eq(total_read.data - end.warps),
        ]
        # Two ends of one block follow each other: the first one's count is not in the memory yet.
        with m.If(counted_valid & (counted.slot == end.slot)):
            m.d.sync += before.eq(write.data)
        m.d.comb += [
            total.warps.eq(before.warps + counted.warps),
            total.status.eq(before.status | counted.status),
            over.eq(before.warps == last),
            write.addr.eq(Mux(booting, boot, counted.slot)),
            write.data.eq(Mux(booting | over, 0, total)),
            write.en.eq(booting | counted_valid),
        ]
        fault, killed = total.status
        m.d.comb += [
            self.over_valid.eq(counted_valid & over),
            self.over.slot.eq(counted.slot),
            self.over.status.eq(Cat(fault, killed & ~fault)),
        ]
