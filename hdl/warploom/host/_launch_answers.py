"""Which section the launch path's next answer is for."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.fifo import SyncFIFO
from warploom_spec import Config, host_packets, layouts
from warploom_spec.layouts import TICKET_BITS


class LaunchAnswers(wiring.Component):
    """Remember in order which sections wait for the launch path; send the stops of aborts.

    Parameters
    ----------
    config : Config
        ``sections``: each waits for one answer at most.
    """

    section: Signal
    launches: Signal
    aborts: Signal
    ticket: Signal
    launch_answer: "data.View[data.StructLayout]"
    stop_answer: "data.View[data.StructLayout]"
    stop: stream.Interface
    awaits: Signal
    launched: Signal
    aborted: Signal

    def __init__(self, config: Config) -> None:
        self._sections = config.sections
        self._bits = max(1, (config.sections - 1).bit_length())
        super().__init__(
            {
                # The section whose command is judged.
                "section": In(self._bits),
                # The section's launch is sent in this cycle; its abort of `ticket` is to be sent.
                "launches": In(1),
                "aborts": In(1),
                "ticket": In(TICKET_BITS),
                # The launch path's answers, in the order of launches and of stops.
                "launch_answer": In(layouts.launch_answer(config).layout()),
                "stop_answer": In(host_packets.stop_answer(config).layout()),
                # The oldest stop, from the cycle after `aborts` on.
                "stop": Out(stream.Signature(layouts.launch_stop(config).layout())),
                # The section waits for an answer. Registers.
                "awaits": Out(config.sections),
                # The section is answered in this cycle (combinational in the answers).
                "launched": Out(config.sections),
                "aborted": Out(config.sections),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        sections = range(self._sections)
        self._in_order(m, "launch", self.launches, self.launch_answer, self.launched)
        self._in_order(m, "abort", self.aborts, self.stop_answer, self.aborted)
        m.submodules.stops = stops = SyncFIFO(width=TICKET_BITS, depth=self._sections)
        m.d.comb += [
            stops.w_en.eq(self.aborts),
            stops.w_data.eq(self.ticket),
            stops.r_en.eq(self.stop.ready),
            self.stop.valid.eq(stops.r_rdy),
            self.stop.payload.ticket.eq(stops.r_data),
        ]
        sent = Signal(self._sections)
        m.d.comb += sent.eq(
            Cat((self.launches | self.aborts) & (self.section == k) for k in sections)
        )
        m.d.sync += self.awaits.eq((self.awaits | sent) & ~(self.launched | self.aborted))
        return m

    def _in_order(self, m: Module, name: str, sends: Signal, answer: Any, answered: Signal) -> None:
        """Queue the sections that sent one kind of command; say which one is answered."""
        queue = SyncFIFO(width=self._bits, depth=self._sections)
        m.submodules[f"{name}_sections"] = queue
        m.d.comb += [
            queue.w_en.eq(sends),
            queue.w_data.eq(self.section),
            queue.r_en.eq(answer.valid),
            answered.eq(Cat(answer.valid & (queue.r_data == k) for k in range(self._sections))),
        ]
