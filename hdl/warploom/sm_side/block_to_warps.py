"""Takes blocks at the SM's port, hands on their warps, and reports the blocks' ends."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom_spec import BlockStatus, Config, layouts, sm_packets, timing
from warploom_spec.layouts import PLACES, STATUS_BITS


class BlockToWarps(wiring.Component):
    """Stand between the SM's port and a core that takes warps and says when one ends.

    One block is held at a time, a warp a cycle. Ends are counted by slot. Warps that the core has
    not got when its place is killed count as ends.

    Parameters
    ----------
    config : Config
        The front end's.
    """

    words: Any
    kill: Signal
    offer: stream.Interface
    report: stream.Interface
    warp: stream.Interface
    block: Any
    ended: Any
    ended_valid: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        placed = sm_packets.placed_block(config).layout()
        super().__init__(
            {
                # Launch words and a kill bit for each place, as at the SM's port.
                "words": In(layouts.launch_words(config).layout()).array(PLACES),
                "kill": In(PLACES),
                # Blocks; `ready` is 1 while none is held.
                "offer": In(stream.Signature(placed)),
                # How blocks ended; `ready` is not read.
                "report": Out(stream.Signature(layouts.block_report(config).layout())),
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
        place = Signal()
        killed = Signal()
        words: Any = Signal(self.words[0].shape())
        following = Signal.like(left)
        m.d.comb += [
            takes.eq(self.offer.valid & self.offer.ready),
            moves.eq(self.warp.valid & self.warp.ready),
            place.eq(Mux(held, self.block.place, offer.place)),
            killed.eq(self.kill.bit_select(place, 1)),
            words.eq(Mux(place, self.words[1], self.words[0])),
            following.eq(Mux(held, left - 1, words.warps)),
            warp.slot.eq(self.block.slot),
        ]
        with m.If(takes):
            m.d.sync += [self.block.eq(offer), held.eq(1), warp.warp.eq(0)]
            if self._config.makes_indices:
                m.d.sync += [
                    warp.row.eq(offer.index_address),
                    warp.indices.eq(offer.index_warps.any()),
                ]
        with m.If(moves):
            m.d.sync += warp.warp.eq(warp.warp + 1)
            if self._config.makes_indices:
                m.d.sync += warp.row.eq(warp.row + 1)
                with m.If(warp.warp + 1 == self.block.index_warps):
                    m.d.sync += warp.indices.eq(0)
        with m.If(takes | moves):
            last = following == 1
            m.d.sync += [
                left.eq(following),
                warp.mask.eq(words.last_mask | (~last).replicate(len(warp.mask))),
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
        places: Memory = Memory(shape=1, depth=depth, init=[])
        m.submodules.counts = counts
        m.submodules.places = places
        places_write = places.write_port()
        place = places.read_port(domain="comb")
        write = counts.write_port()
        read = counts.read_port(domain="comb")

        # An end in one cycle: its block's count before it, and the count that it completes.
        counted: Any = Signal(end.shape())
        counted_valid = Signal()
        before: Any = Signal(entry)
        last = Signal(config.warps_bits)
        # `last` for each place: the slot's place is known later than how many have ended.
        lasts = [Signal(config.warps_bits, name=f"last_{p}") for p in range(PLACES)]
        # The count after it, in the next cycle.
        total: Any = Signal(entry)
        over = Signal()
        m.d.comb += [
            places_write.addr.eq(self.offer.payload.slot),
            places_write.data.eq(self.offer.payload.place),
            places_write.en.eq(self.offer.valid & self.offer.ready),
            place.addr.eq(end.slot),
            read.addr.eq(end.slot),
            *(lasts[p].eq(self.words[p].warps - end.warps) for p in range(PLACES)),
        ]
        m.d.sync += [
            counted.eq(end),
            counted_valid.eq(valid),
            before.eq(read.data),
            last.eq(Mux(place.data, lasts[1], lasts[0])),
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
        m.d.sync += [
            self.report.valid.eq(counted_valid & over),
            self.report.payload.slot.eq(counted.slot),
            self.report.payload.status.eq(Cat(fault, killed & ~fault)),
        ]
