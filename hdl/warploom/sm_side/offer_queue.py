"""Stores an SM's offers for a core that cannot take each in its cycle."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config, layouts
from warploom_spec.resident_packets import resident_block


class OfferQueue(wiring.Component):
    """Keep blocks by slot, in the order of their offers; drop those whose stream is killed.

    The launch words are kept by stream. Each field is a memory of its own: one that is not read
    costs nothing.

    The order is a ring of slots. A dropped block's slot stays in the ring until it comes to its
    front; a block that is offered into it meanwhile stands at its place.

    Parameters
    ----------
    config : Config
        The front end's.
    readers : int, optional
        Streams whose words can be read at once.
    """

    offer: Signal
    block: Any
    words: Any
    kill: Signal
    first: Any
    first_valid: Signal
    take: Signal
    dropped: stream.Interface
    asked: Any
    told: Any

    def __init__(self, config: Config, readers: int = 3) -> None:
        self._config = config
        block = resident_block(config).layout()
        words = layouts.launch_words(config).layout()
        super().__init__(
            {
                # As at the SM's port.
                "offer": In(1),
                "block": In(block),
                "words": In(words),
                "kill": In(1 << config.stream_bits),
                # The block that waits longest; `take` with `first_valid`: it leaves.
                "first": Out(block),
                "first_valid": Out(1),
                "take": In(1),
                # Slots of blocks that were dropped.
                "dropped": Out(stream.Signature(config.slot_bits)),
                # Streams, and their launches' words in the same cycle.
                "asked": In(config.stream_bits).array(readers),
                "told": Out(words).array(readers),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        bits = self._config.slot_bits
        depth = 1 << bits
        blocks = Rows(m, "blocks", resident_block(self._config).bits, depth)
        blocks.write(self.offer, self.block.slot, self.block)
        ring = Rows(m, "ring", bits, depth)
        # Of each slot: a block waits in it; it is in the ring or in front.
        waiting = Signal(depth)
        queued = Signal(depth)
        head = Signal(bits)
        tail = Signal(bits)
        length = Signal(range(depth + 1))
        # The oldest slot, out of the ring; the slot whose block may be dropped.
        front = Signal(bits)
        front_valid = Signal()
        look = Signal(bits)

        waits = Signal()
        takes = Signal()
        skips = Signal()
        pops = Signal()
        pushes = Signal()
        offered = Signal(depth)
        drop = Signal(depth)
        m.d.comb += [
            self.first.eq(blocks.now(front)),
            waits.eq(waiting.bit_select(front, 1)),
            self.first_valid.eq(front_valid & waits & ~(self.dropped.valid & (look == front))),
            takes.eq(self.first_valid & self.take),
            offered.eq(self.offer << self.block.slot),
            # A block that comes into the front's slot in this cycle stands at its place.
            skips.eq(front_valid & ~waits & ~offered.bit_select(front, 1)),
            pops.eq((~front_valid | takes | skips) & length.any()),
            pushes.eq(self.offer & ~queued.bit_select(self.block.slot, 1)),
        ]
        leaves = Signal(depth)
        m.d.comb += leaves.eq((takes | skips) << front)
        ring.write(pushes, tail, self.block.slot)
        m.d.sync += [
            length.eq(length + pushes - pops),
            tail.eq(tail + pushes),
            head.eq(head + pops),
            waiting.eq(waiting & ~(takes << front) & ~drop | offered),
            queued.eq(queued & ~leaves | offered),
        ]
        with m.If(pops):
            m.d.sync += front.eq(ring.now(head))
        with m.If(pops | takes | skips):
            m.d.sync += front_valid.eq(pops)
        self._drop(m, waiting, look, drop)
        for name, shape in self.words.shape().members.items():
            rows = Rows(m, name, shape, 1 << self._config.stream_bits)
            rows.write(self.offer, self.block.stream, self.words[name])
            for asked, told in zip(self.asked, self.told, strict=True):
                m.d.comb += told[name].eq(rows.now(asked))
        return m

    def _drop(self, m: Module, waiting: Signal, look: Signal, drop: Signal) -> None:
        """Look at a slot a cycle; drop the block that waits there if its stream is killed."""
        if not self._config.sm_kill:
            return
        streams = Rows(m, "streams", self._config.stream_bits, 1 << self._config.slot_bits)
        streams.write(self.offer, self.block.slot, self.block.stream)
        m.d.comb += [
            self.dropped.payload.eq(look),
            self.dropped.valid.eq(
                waiting.bit_select(look, 1) & self.kill.bit_select(streams.now(look), 1)
            ),
            drop.eq((self.dropped.valid & self.dropped.ready) << look),
        ]
        with m.If(~self.dropped.valid | self.dropped.ready):
            m.d.sync += look.eq(look + 1)
