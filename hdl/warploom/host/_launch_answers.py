"""Which section the launch path's next answer is for."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import before
from warploom.lib.fifo import SyncFIFO
from warploom_spec import Config, host_packets, layouts, queue_packets
from warploom_spec.layouts import TICKET_BITS


class LaunchAnswers(wiring.Component):
    """Remember in order which sections wait for the launch path; send the stops of aborts.

    Parameters
    ----------
    config : Config
        ``sections``: each waits for one answer at most.
    queues : bool, optional
        Behind it is QueuedLaunchPath: its packets, and commands for streams.
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
    commands: Signal
    command_answer: "data.View[data.StructLayout]"
    commanded: Signal

    def __init__(self, config: Config, *, queues: bool = False) -> None:
        self._sections, self._queues = config.sections, queues
        make_stop = queue_packets.launch_abort if queues else layouts.launch_stop
        make_answer = queue_packets.queue_answer if queues else layouts.launch_answer
        make_code = queue_packets.queue_code if queues else host_packets.stop_answer
        commands = {
            # The section's command goes out in the next cycle, and is answered a cycle later.
            "commands": In(1),
            "command_answer": In(make_code(config).layout()),
            # The section was answered in the cycle before. Registers.
            "commanded": Out(config.sections),
        }
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
                "launch_answer": In(make_answer(config).layout()),
                "stop_answer": In(make_code(config).layout()),
                # The oldest stop, from the second cycle after `aborts` on. A register.
                "stop": Out(stream.Signature(make_stop(config).layout())),
                # The section waits for an answer. Registers.
                "awaits": Out(config.sections),
                # The section was answered in the cycle before. Registers.
                "launched": Out(config.sections),
                "aborted": Out(config.sections),
                **(commands if queues else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        self._in_order(m, "launch", self.launches, self.launch_answer, self.launched)
        self._in_order(m, "abort", self.aborts, self.stop_answer, self.aborted)
        self._send_stops(m)
        sent = Signal(self._sections)
        sends: Value = self.launches | self.aborts
        answered: Value = self.launched | self.aborted
        if self._queues:
            self._a_cycle_later(m)
            sends, answered = sends | self.commands, answered | self.commanded
        m.d.comb += sent.eq(Cat(sends & (self.section == k) for k in range(self._sections)))
        m.d.sync += self.awaits.eq((self.awaits | sent) & ~answered)
        return m

    def _a_cycle_later(self, m: Module) -> None:
        """Say which section's command was answered: the one that was judged two cycles ago."""
        section = before(m, "answered_section", before(m, "sent_section", self.section))
        m.d.sync += self.commanded.eq(
            Cat(self.command_answer.valid & (section == k) for k in range(self._sections))
        )

    def _send_stops(self, m: Module) -> None:
        """Queue the stops. A register stands behind the queue: many blocks compare the ticket."""
        m.submodules.stops = stops = SyncFIFO(width=TICKET_BITS, depth=self._sections)
        ticket = Signal(TICKET_BITS, name="stop_ticket", reset_less=True)
        valid = Signal(name="stop_valid")
        m.d.comb += [
            stops.w_en.eq(self.aborts),
            stops.w_data.eq(self.ticket),
            stops.r_en.eq(~valid | self.stop.ready),
            self.stop.valid.eq(valid),
            self.stop.payload.ticket.eq(ticket),
        ]
        with m.If(stops.r_en):
            m.d.sync += [valid.eq(stops.r_rdy), ticket.eq(stops.r_data)]

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
