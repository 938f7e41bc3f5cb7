"""Runs one block at a time on a core with start, done and reset."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from warploom.sm_side.offer_queue import OfferQueue
from warploom.sm_side.report_queue import ReportQueue
from warploom_spec import BlockStatus, Config, layouts
from warploom_spec.resident_packets import resident_block


class BlockAtATime(wiring.Component):
    """Stand between the SM's port and a core that runs one block; a kill is the core's reset.

    Parameters
    ----------
    config : Config
        The front end's.
    """

    offer: Signal
    block: Any
    words: Any
    kill: Signal
    report: stream.Interface
    core_reset: Signal
    start: Signal
    running: Any
    running_words: Any
    done: Signal
    fault: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        block = resident_block(config).layout()
        words = layouts.launch_words(config).layout()
        super().__init__(
            {
                # The SM's port.
                "offer": In(1),
                "block": In(block),
                "words": In(words),
                "kill": In(1 << config.stream_bits),
                "report": Out(stream.Signature(layouts.block_report(config).layout())),
                # The core is in reset while no block runs.
                "core_reset": Out(1),
                "start": Out(1),
                # The block that runs, and its launch's words.
                "running": Out(block),
                "running_words": Out(words),
                # The block has ended, and whether it failed.
                "done": In(1),
                "fault": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        m.submodules.queue = queue = OfferQueue(self._config, readers=1)
        m.submodules.reports = reports = ReportQueue(self._config)
        connect(m, queue.dropped, reports.dropped)
        connect(m, reports.report, flipped(self.report))
        m.d.comb += [
            queue.offer.eq(self.offer),
            queue.block.eq(self.block),
            queue.words.eq(self.words),
            queue.kill.eq(self.kill),
            queue.asked[0].eq(self.running.stream),
            self.running_words.eq(queue.told[0]),
        ]

        running = self.running
        ends = Signal()
        status = Mux(self.fault, BlockStatus.FAULT, BlockStatus.OK)
        m.d.comb += [
            self.core_reset.eq(~self.start),
            queue.take.eq(~self.start & ~self.kill.bit_select(queue.first.stream, 1)),
            ends.eq(self.start & (self.done | self.kill.bit_select(running.stream, 1))),
            reports.over_valid.eq(ends),
            reports.over.slot.eq(running.slot),
            reports.over.status.eq(Mux(self.done, status, BlockStatus.KILLED)),
        ]
        with m.If(ends):
            m.d.sync += self.start.eq(0)
        with m.If(queue.take & queue.first_valid):
            m.d.sync += [self.start.eq(1), running.eq(queue.first)]
        return m
