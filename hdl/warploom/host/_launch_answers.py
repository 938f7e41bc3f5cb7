"""Which section the launch path's next answer is for."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import before
from warploom.lib.fifo import SyncFIFO
from warploom_spec import Config, queue_packets
from warploom_spec.layouts import TICKET_BITS


class LaunchAnswers(wiring.Component):
    """Remember in order which sections wait for the launch path; send the aborts.

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
    abort_answer: "data.View[data.StructLayout]"
    abort: stream.Interface
    awaits: Signal
    launched: Signal
    aborted: Signal
    commands: Signal
    command_answer: "data.View[data.StructLayout]"
    commanded: Signal

    def __init__(self, config: Config) -> None:
        self._sections = config.sections
        code = queue_packets.queue_code(config).layout()
        self._bits = max(1, (config.sections - 1).bit_length())
        super().__init__(
            {
                # The section whose command is judged.
                "section": In(self._bits),
                # The section's launch is sent in this cycle; its abort of `ticket` is to be sent.
                "launches": In(1),
                "aborts": In(1),
                "ticket": In(TICKET_BITS),
                # The section's command goes out in the next cycle, and is answered a cycle later.
                "commands": In(1),
                "command_answer": In(code),
                # The launch path's answers, in the order of launches and of aborts.
                "launch_answer": In(queue_packets.queue_answer(config).layout()),
                "abort_answer": In(code),
                # The oldest abort, from the second cycle after `aborts` on. A register.
                "abort": Out(stream.Signature(queue_packets.launch_abort(config).layout())),
                # The section waits for an answer. Registers.
                "awaits": Out(config.sections),
                # The section was answered in the cycle before. Registers.
                "launched": Out(config.sections),
                "aborted": Out(config.sections),
                "commanded": Out(config.sections),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        self._in_order(m, "launch", self.launches, self.launch_answer, self.launched)
        self._in_order(m, "abort", self.aborts, self.abort_answer, self.aborted)
        self._a_cycle_later(m)
        self._send_aborts(m)
        sent = Signal(self._sections)
        sends = self.launches | self.aborts | self.commands
        answered = self.launched | self.aborted | self.commanded
        m.d.comb += sent.eq(Cat(sends & (self.section == k) for k in range(self._sections)))
        m.d.sync += self.awaits.eq((self.awaits | sent) & ~answered)
        return m

    def _a_cycle_later(self, m: Module) -> None:
        """Say which section's command was answered: the one that was judged two cycles ago."""
        section = before(m, "answered_section", before(m, "sent_section", self.section))
        m.d.sync += self.commanded.eq(
            Cat(self.command_answer.valid & (section == k) for k in range(self._sections))
        )

    def _send_aborts(self, m: Module) -> None:
        """Queue the aborts. A register stands behind the queue: many blocks compare the ticket."""
        m.submodules.queued_aborts = queued = SyncFIFO(width=TICKET_BITS, depth=self._sections)
        ticket = Signal(TICKET_BITS, name="abort_ticket", reset_less=True)
        valid = Signal(name="abort_valid")
        m.d.comb += [
            queued.w_en.eq(self.aborts),
            queued.w_data.eq(self.ticket),
            queued.r_en.eq(~valid | self.abort.ready),
            self.abort.valid.eq(valid),
            self.abort.payload.ticket.eq(ticket),
        ]
        with m.If(queued.r_en):
            m.d.sync += [valid.eq(queued.r_rdy), ticket.eq(queued.r_data)]

    def _in_order(self, m: Module, name: str, sends: Signal, answer: Any, answered: Signal) -> None:
        """Queue the sections that sent one kind of command; say which one was answered."""
        queue = SyncFIFO(width=self._bits, depth=self._sections)
        m.submodules[f"{name}_sections"] = queue
        m.d.comb += [
            queue.w_en.eq(sends),
            queue.w_data.eq(self.section),
            queue.r_en.eq(answer.valid),
        ]
        m.d.sync += answered.eq(
            Cat(answer.valid & (queue.r_data == k) for k in range(self._sections))
        )
