"""The mailbox's side to the launch path: launches, aborts, commands for streams, their answers."""

from typing import Any, Final

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.host._launch_answers import LaunchAnswers
from warploom.host._launch_turns import LaunchTurns
from warploom.lib.bits import before
from warploom_spec import Config, host_packets, queue_packets
from warploom_spec.host_commands import (
    FIRST_RELATIVE_FLAG,
    TASK_WORDS,
    abort_words,
    launch_words,
    mask_words,
)
from warploom_spec.resident_packets import resident_command

_ANSWERS: Final = ("launch_answer", "abort_answer", "command_answer")


def launch_path_ports(config: Config) -> dict[str, Any]:
    """Return what goes to the launch path and comes from it."""
    code = queue_packets.queue_code(config).layout()
    return {
        # A launch, two cycles after its doorbell's write commits, at the earliest. `valid` is 1
        # only in cycles with `ready` = 1.
        "launch": Out(stream.Signature(queue_packets.queued_launch(config).layout())),
        # Priorities with room for a launch; a record's place is free; a broken stream is being
        # mended, and no launch goes.
        "room": In(1 << config.priority_bits),
        "records_left": In(1),
        "clearing": In(1),
        # Pulses: the doorbell of the oldest section that waits for this answer is 0 two cycles
        # later.
        "launch_answer": In(queue_packets.queue_answer(config).layout()),
        # A command for streams, an abort, each three cycles after its doorbell's write commits, at
        # the earliest. Registers.
        "command": Out(stream.Signature(resident_command(config).layout())),
        "command_answer": In(code),
        "abort": Out(stream.Signature(queue_packets.launch_abort(config).layout())),
        "abort_answer": In(code),
    }


class LaunchSide(wiring.Component):
    """Send what is for the launch path, and say which sections it has answered.

    Parameters
    ----------
    config : Config
        Sections; widths of a launch.
    """

    asks: Signal
    ringing: Signal
    rung: Signal
    closed: Signal
    task: Signal
    launches: Signal
    aborts: Signal
    commands: Signal
    opcode: Signal
    read_section: Signal
    awaits: Signal
    launched: Signal
    aborted: Signal
    commanded: Signal
    turned_away: Signal
    full_code: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        bits = max(1, (config.sections - 1).bit_length())
        of_loops = {
            # Sections that loop; whose launch is answered, or turned away, in this cycle.
            "loops": In(config.sections),
            "answers_now": Out(config.sections),
            "turns_away_now": Out(config.sections),
        }
        super().__init__(
            {
                # A doorbell is asked for in this cycle; it is rung; whose.
                "asks": In(1),
                "ringing": In(1),
                "rung": In(bits),
                # What stands in the sections ends; no launch goes.
                "closed": In(1),
                # The task that was read in the cycle before.
                "task": In(32 * TASK_WORDS),
                # If a doorbell was rung in the cycle before: the command is to be sent.
                "launches": In(1),
                "aborts": In(1),
                "commands": In(1),
                "opcode": In(2),
                # The section whose task register is read in this cycle.
                "read_section": Out(bits),
                # The section waits for an answer; it was answered, or turned away, in the cycle
                # before, and why. Registers.
                "awaits": Out(config.sections),
                "launched": Out(config.sections),
                "aborted": Out(config.sections),
                "commanded": Out(config.sections),
                "turned_away": Out(config.sections),
                "full_code": Out(host_packets.HOST_CODE_BITS),
                **(of_loops if config.has_loops else {}),
                **launch_path_ports(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        judging = Signal()
        m.d.sync += judging.eq(self.ringing)
        self._send(m, judging, self._take_turns(m, judging))
        return m

    def _take_turns(self, m: Module, judging: Signal) -> LaunchTurns:
        """Let launches go one after the other."""
        ports: Any = self
        m.submodules.turns = turns = LaunchTurns(self._config)
        words: Any = data.View(launch_words(self._config).layout(), self.task)
        flags = {f"wait{k}_valid": words.flags[k] for k in range(self._config.launch_waits)}
        if self._config.has_loops:
            flags |= self._of_loop(words, turns.section)
        launch = ports.launch
        for field in queue_packets.queued_launch(self._config).present:
            value = flags[field.name] if field.name in flags else words[field.name]
            m.d.comb += launch.payload[field.name].eq(value)
        m.d.comb += [
            turns.waits.eq(judging & self.launches),
            turns.closed.eq(self.closed),
            turns.asks.eq(self.asks),
            turns.asked.eq(self.rung),
            turns.priority.eq(launch.payload.priority),
            turns.pace.eq(launch.ready),
            turns.room.eq(ports.room),
            turns.records_left.eq(ports.records_left),
            turns.clearing.eq(ports.clearing),
            launch.valid.eq(turns.goes),
            self.read_section.eq(turns.read_section),
            self.full_code.eq(turns.code),
        ]
        return turns

    def _of_loop(self, words: Any, section: Value) -> dict[str, Value]:
        """Return which pairs of a launch are relative, and its loop's number + 1, or 0."""
        ports: Any = self
        config = self._config
        found = {
            f"wait{k}_relative": words.flags[FIRST_RELATIVE_FLAG + k]
            for k in range(config.launch_waits)
        }
        number = section + 1 - config.first_loop_section
        return {**found, "loop": Mux(ports.loops.bit_select(section, 1), number, 0)}

    def _send(self, m: Module, judging: Signal, turns: LaunchTurns) -> None:
        """Send aborts and commands; note who awaits answers."""
        ports: Any = self
        m.submodules.answers = answers = LaunchAnswers(self._config)
        abort: Any = data.View(abort_words(self._config).layout(), self.task)
        masked: Any = data.View(mask_words(self._config).layout(), self.task)
        m.d.comb += [
            answers.section.eq(before(m, "number", self.rung)),
            answers.aborts.eq(judging & self.aborts),
            answers.commands.eq(judging & self.commands),
            answers.sent_abort.ticket.eq(abort.ticket),
            answers.sent_command.opcode.eq(self.opcode),
            answers.sent_command.mask.eq(masked.mask),
            answers.launch_section.eq(turns.section),
            answers.leaves.eq(turns.leaves),
            answers.goes.eq(turns.goes),
            *(getattr(answers, name).eq(getattr(ports, name)) for name in _ANSWERS),
            *(
                getattr(self, name).eq(getattr(answers, name))
                for name in ("awaits", "launched", "aborted", "commanded", "turned_away")
            ),
        ]
        if self._config.has_loops:
            names = ("answers_now", "turns_away_now")
            m.d.comb += [getattr(self, name).eq(getattr(answers, name)) for name in names]
        wiring.connect(m, answers.abort, wiring.flipped(ports.abort))
        wiring.connect(m, answers.command, wiring.flipped(ports.command))
