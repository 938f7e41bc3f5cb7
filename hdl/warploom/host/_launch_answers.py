"""Which section the launch path's next answer is for, and what goes to it through a queue."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.fifo import SyncFIFO
from warploom_spec import Config, queue_packets
from warploom_spec.resident_packets import resident_command


class LaunchAnswers(wiring.Component):
    """Remember in order which sections wait for the launch path; send aborts and commands.

    Parameters
    ----------
    config : Config
        ``sections``: each waits for one answer at most.
    """

    section: Signal
    aborts: Signal
    commands: Signal
    sent_abort: "data.View[data.StructLayout]"
    sent_command: "data.View[data.StructLayout]"
    leaves: Signal
    launch_section: Signal
    goes: Signal
    launch_answer: "data.View[data.StructLayout]"
    abort_answer: "data.View[data.StructLayout]"
    command_answer: "data.View[data.StructLayout]"
    abort: stream.Interface
    command: stream.Interface
    awaits: Signal
    launched: Signal
    aborted: Signal
    commanded: Signal
    turned_away: Signal

    def __init__(self, config: Config) -> None:
        self._sections = config.sections
        code = queue_packets.queue_code(config).layout()
        abort = queue_packets.launch_abort(config).layout()
        command = resident_command(config).layout()
        self._bits = max(1, (config.sections - 1).bit_length())
        self._has_loops = config.has_loops
        # The section's launch is answered, or turned away, in this cycle.
        now = {"answers_now": Out(config.sections), "turns_away_now": Out(config.sections)}
        super().__init__(
            {
                # The section whose command is judged: its abort or command is to be sent.
                "section": In(self._bits),
                "aborts": In(1),
                "commands": In(1),
                "sent_abort": In(abort),
                "sent_command": In(command),
                # The section whose launch waits no more: it goes in this cycle, or is turned away.
                "launch_section": In(self._bits),
                "leaves": In(1),
                "goes": In(1),
                # The launch path's answers, in the order of launches, aborts and commands.
                "launch_answer": In(queue_packets.queue_answer(config).layout()),
                "abort_answer": In(code),
                "command_answer": In(code),
                # The oldest abort and command, from the second cycle after the judgement on.
                # Registers.
                "abort": Out(stream.Signature(abort)),
                "command": Out(stream.Signature(command)),
                # The section waits for an answer. Registers.
                "awaits": Out(config.sections),
                # The section was answered, or turned away, in the cycle before. Registers.
                "launched": Out(config.sections),
                "aborted": Out(config.sections),
                "commanded": Out(config.sections),
                "turned_away": Out(config.sections),
                **(now if config.has_loops else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        self._in_order(
            m, "launch", self.goes, self.launch_section, self.launch_answer, self.launched
        )
        self._in_order(m, "abort", self.aborts, self.section, self.abort_answer, self.aborted)
        self._in_order(
            m, "command", self.commands, self.section, self.command_answer, self.commanded
        )
        self._send(m, "abort", self.aborts, self.sent_abort, self.abort)
        self._send(m, "command", self.commands, self.sent_command, self.command)
        answered = self.launched | self.aborted | self.commanded | self.turned_away
        judged = self._one_hot(self.section, self.aborts | self.commands)
        left = self._one_hot(self.launch_section, self.leaves)
        m.d.sync += [
            self.turned_away.eq(left & ~self.goes.replicate(self._sections)),
            self.awaits.eq((self.awaits | judged | left) & ~answered),
        ]
        if self._has_loops:
            ports: Any = self
            m.d.comb += ports.turns_away_now.eq(left & ~self.goes.replicate(self._sections))
        return m

    def _one_hot(self, section: Value, enable: Value) -> Value:
        """Return a bit for each section: that of one, if ``enable``."""
        return Cat(enable & (section == k) for k in range(self._sections))

    def _send(self, m: Module, name: str, sends: Signal, packet: Any, to: Any) -> None:
        """Queue what is sent. A register stands behind the queue: much logic looks at it."""
        fields = Value.cast(packet)
        width = len(fields)
        queue = SyncFIFO(width=width, depth=self._sections)
        m.submodules[f"queued_{name}s"] = queue
        shown = Signal(width, name=f"{name}_fields", reset_less=True)
        valid = Signal(name=f"{name}_valid")
        m.d.comb += [
            queue.w_en.eq(sends),
            queue.w_data.eq(fields),
            queue.r_en.eq(~valid | to.ready),
            to.valid.eq(valid),
            to.payload.eq(shown),
        ]
        with m.If(queue.r_en):
            m.d.sync += [valid.eq(queue.r_rdy), shown.eq(queue.r_data)]

    def _in_order(
        self, m: Module, name: str, sends: Signal, section: Signal, answer: Any, answered: Signal
    ) -> None:
        """Queue the sections that sent one kind of command; say which one was answered."""
        queue = SyncFIFO(width=self._bits, depth=self._sections)
        m.submodules[f"{name}_sections"] = queue
        m.d.comb += [
            queue.w_en.eq(sends),
            queue.w_data.eq(section),
            queue.r_en.eq(answer.valid),
        ]
        now = self._one_hot(queue.r_data, answer.valid)
        m.d.sync += answered.eq(now)
        if self._has_loops and name == "launch":
            ports: Any = self
            m.d.comb += ports.answers_now.eq(now)
