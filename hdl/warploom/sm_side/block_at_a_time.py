"""Runs one block at a time on a core with start, done and reset."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import BlockStatus, Config, layouts
from warploom_spec.layouts import PLACES


class BlockAtATime(wiring.Component):
    """Stand between the SM's port and a core that runs one block; a kill is the core's reset.

    Parameters
    ----------
    config : Config
        The front end's.
    """

    words: Any
    kill: Signal
    offer: stream.Interface
    report: stream.Interface
    core_reset: Signal
    start: Signal
    block: Any
    thread_count: Signal
    done: Signal
    fault: Signal

    def __init__(self, config: Config) -> None:
        offer = layouts.block_offer(config).layout()
        super().__init__(
            {
                # Launch words and a kill bit for each place, as at the SM's port.
                "words": In(layouts.launch_words(config).layout()).array(PLACES),
                "kill": In(PLACES),
                # Blocks; `ready` is 1 while none runs.
                "offer": In(stream.Signature(offer)),
                # How blocks ended; `ready` is not read.
                "report": Out(stream.Signature(layouts.block_report(config).layout())),
                # The core is in reset while no block runs.
                "core_reset": Out(1),
                "start": Out(1),
                # The block that runs, and its threads.
                "block": Out(offer),
                "thread_count": Out(config.threads_bits),
                # The block has ended, and whether it failed.
                "done": In(1),
                "fault": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        offer, report = self.offer.payload, self.report
        threads = Mux(offer.place, self.words[1].threads, self.words[0].threads)
        m.d.comb += [self.offer.ready.eq(~self.start), self.core_reset.eq(~self.start)]
        m.d.sync += report.valid.eq(0)
        with m.If(self.start):
            killed = self.kill.bit_select(self.block.place, 1)
            status = Mux(self.fault, BlockStatus.FAULT, BlockStatus.OK)
            m.d.sync += report.payload.slot.eq(self.block.slot)
            m.d.sync += report.payload.status.eq(Mux(self.done, status, BlockStatus.KILLED))
            with m.If(self.done | killed):
                m.d.sync += [self.start.eq(0), report.valid.eq(1)]
        with m.Elif(self.offer.valid):
            killed = self.kill.bit_select(offer.place, 1)
            m.d.sync += [
                self.block.eq(offer),
                self.thread_count.eq(threads),
                self.start.eq(~killed),
                report.valid.eq(killed),
                report.payload.slot.eq(offer.slot),
                report.payload.status.eq(BlockStatus.KILLED),
            ]
        return m
