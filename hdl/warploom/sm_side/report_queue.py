"""Reports of an SM's blocks, until the dispatcher takes them."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.fifo import SyncFIFO
from warploom_spec import BlockStatus, Config, layouts


class ReportQueue(wiring.Component):
    """Hold a report for each slot, the oldest first.

    A slot is offered again only after its report was taken, so there is always room.

    Parameters
    ----------
    config : Config
        ``block_slots``.
    """

    over: Any
    over_valid: Signal
    dropped: stream.Interface
    report: stream.Interface

    def __init__(self, config: Config) -> None:
        self._config = config
        report = layouts.block_report(config).layout()
        super().__init__(
            {
                # A pulse: a block has ended.
                "over": In(report),
                "over_valid": In(1),
                # Slots of blocks that were killed before they ran; they wait for the pulse.
                "dropped": In(stream.Signature(config.slot_bits)),
                "report": Out(stream.Signature(report)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        report = self.report.payload
        m.submodules.reports = reports = SyncFIFO(
            width=len(report.as_value()), depth=self._config.block_slots
        )
        dropped: Any = Signal(report.shape())
        m.d.comb += [
            dropped.slot.eq(self.dropped.payload),
            dropped.status.eq(BlockStatus.KILLED),
            self.dropped.ready.eq(~self.over_valid),
            reports.w_data.eq(Mux(self.over_valid, self.over.as_value(), dropped.as_value())),
            reports.w_en.eq(self.over_valid | self.dropped.valid),
            report.eq(reports.r_data),
            self.report.valid.eq(reports.r_rdy),
            reports.r_en.eq(self.report.ready),
        ]
        return m
