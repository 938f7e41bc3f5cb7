"""What Mailbox's model sends to the launch path, and whose the answers are."""

from collections import deque
from collections.abc import Mapping, Sequence

from warploom_golden.host.mailbox_section import Section
from warploom_spec import queue_packets
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode
from warploom_spec.host_commands import (
    FIRST_RELATIVE_FLAG,
    Opcode,
    abort_words,
    launch_words,
    mask_words,
)
from warploom_spec.queue_packets import QueueOpcode
from warploom_spec.resident_packets import resident_command

#: What a command asks of the queue of launches, by the host's opcode.
ASKS = {
    Opcode.PREEMPT: QueueOpcode.PREEMPT,
    Opcode.RESUME: QueueOpcode.RESUME,
    Opcode.ABORT_STREAMS: QueueOpcode.ABORT_STREAMS,
}
#: Lowest bit of a launch's number in RESULT1.
COUNT_LOW = 16

#: A section and the outcome that completes it at the end of this cycle.
Completion = tuple[int, dict[str, int]]


class SendQueue:
    """A queue of packets with a register behind it, and the sections that were not answered."""

    def __init__(self) -> None:
        self._queue: deque[int] = deque()
        self.shown: int | None = None
        self.sections: deque[int] = deque()

    def add(self, section: int, packet: int) -> None:
        """Rules 9 and 9a: a section's command is judged in this cycle."""
        self.sections.append(section)
        self._queue.append(packet)

    def advance(self, ready: int) -> None:
        """Rule 9: the oldest goes to the register, if it is free or what is in it transfers."""
        if self.shown is None or ready:
            self.shown = self._queue.popleft() if self._queue else None


class LaunchSide:
    """State of the mailbox's side to the launch path; rules are those of Mailbox's page.

    Parameters
    ----------
    config : Config
        Widths of a launch.
    tasks : sequence of sequence of int
        The sections' task registers: read, never changed.
    sections : sequence of Section
        The sections, of which some loop: read, never changed.
    """

    def __init__(
        self, config: Config, tasks: Sequence[Sequence[int]], sections: Sequence[Section]
    ) -> None:
        self._config, self._tasks, self._sections = config, tasks, sections
        self._descriptor = queue_packets.queued_launch(config)
        self._launch_answer = queue_packets.queue_answer(config)
        self._command = resident_command(config)
        self._abort = queue_packets.launch_abort(config)
        self._code = queue_packets.queue_code(config)
        self._launch_words = launch_words(config)
        self._abort_words = abort_words(config)
        self._mask_words = mask_words(config)
        #: Sections whose launch waits, and those whose launch was sent and not answered.
        self._waiting: deque[int] = deque()
        self._sent: deque[int] = deque()
        self._aborts, self._commands = SendQueue(), SendQueue()
        #: The section whose task register was read in the cycle before.
        self._was_read = 0
        #: Sections that complete at the end of this cycle.
        self._due: list[Completion] = []

    def outputs(self, inputs: Mapping[str, int], closed: bool) -> dict[str, int | None]:
        """Rules 8b, 9 and 9a: what is at the ports."""
        sends = self._leaver(inputs, closed) is not None and self._refusal(inputs) is None
        return {
            "launch__valid": int(sends),
            "launch__payload": self._launch(self._was_read) if sends else None,
            "abort__valid": int(self._aborts.shown is not None),
            "abort__payload": self._aborts.shown,
            "command__valid": int(self._commands.shown is not None),
            "command__payload": self._commands.shown,
        }

    def hand_on(self, section: int, opcode: Opcode) -> bool:
        """Rules 8 to 9a: take a command that is judged; return whether it awaits an answer."""
        if opcode is Opcode.LAUNCH:
            self._waiting.append(section)
            return False
        task = self._tasks[section]
        if opcode is Opcode.ABORT:
            ticket = self._abort_words.unpack(task)["ticket"]
            self._aborts.add(section, self._abort.pack({"ticket": ticket}))
        else:
            mask = self._mask_words.unpack(task)["mask"]
            packet = self._command.pack({"opcode": int(ASKS[opcode]), "mask": mask})
            self._commands.add(section, packet)
        return True

    def advance(self, inputs: Mapping[str, int], closed: bool, asked: int | None) -> int | None:
        """Advance all but what `hand_on` adds: call it first; ``asked``: whose task is read first.

        Returns
        -------
        int or None
            The section whose launch waits no more: it awaits an answer from the next cycle on.
        """
        self._aborts.advance(inputs["abort__ready"])
        self._commands.advance(inputs["command__ready"])
        leaver = self._leaver(inputs, closed)
        refusal = None if leaver is None else self._refusal(inputs)
        self._was_read = self._reads(asked)
        if leaver is not None:
            self._waiting.popleft()
            if refusal is None:
                self._sent.append(leaver)
            else:
                self._due.append((leaver, {"ERROR": int(refusal)}))
        if closed:
            self._waiting.clear()  # 15
        return leaver

    @property
    def events(self) -> Sequence[Completion]:
        """What happened in this cycle, behind `take_answers` and `advance`."""
        return self._due

    def completions(self) -> list[Completion]:
        """Return what completes at the end of this cycle; call it before `advance`."""
        due, self._due = self._due, []
        return due

    def take_answers(self, inputs: Mapping[str, int]) -> None:
        """Rules 10 and 11: the answers of this cycle."""
        launch = self._launch_answer.unpack(inputs["launch_answer"])
        if launch["valid"]:
            outcome = {
                "ERROR": launch["code"] | launch["argument"] << 16,
                "RESULT0": launch["ticket"],
                "RESULT1": launch["count"] << COUNT_LOW,
            }
            self._due.append((self._sent.popleft(), outcome))
        for name, queue in (("abort", self._aborts), ("command", self._commands)):
            answer = self._code.unpack(inputs[f"{name}_answer"])
            if answer["valid"]:
                self._due.append((queue.sections.popleft(), {"ERROR": answer["code"]}))

    def _reads(self, asked: int | None) -> int:
        """Rule 8a: return the section whose task register is read in this cycle."""
        if asked is not None:
            return asked
        return self._waiting[0] if self._waiting else self._was_read

    def _leaver(self, inputs: Mapping[str, int], closed: bool) -> int | None:
        """Rule 8b: return the section whose launch stops waiting in this cycle."""
        if not self._waiting or self._was_read != self._waiting[0]:
            return None
        goes = inputs["launch__ready"] and not inputs["clearing"] and not closed
        return self._waiting[0] if goes else None

    def _refusal(self, inputs: Mapping[str, int]) -> ErrorCode | None:
        """Rule 8b: return why the launch that stops waiting is refused."""
        priority = self._launch_words.unpack(self._tasks[self._waiting[0]])["priority"]
        if not inputs["room"] >> priority & 1:
            return ErrorCode.QUEUE_FULL
        return None if inputs["records_left"] else ErrorCode.COMPLETION_FULL

    def _launch(self, section: int) -> int:
        """Rule 8b: return the packed ``queued_launch``; of a pair's stream the low bits."""
        values = dict(self._launch_words.unpack(self._tasks[section]))
        streams = (1 << self._config.stream_bits) - 1
        for pair in range(self._config.launch_waits):
            values[f"wait{pair}_valid"] = values["flags"] >> pair & 1
            values[f"wait{pair}_stream"] &= streams
            values[f"wait{pair}_relative"] = values["flags"] >> FIRST_RELATIVE_FLAG + pair & 1
        is_of_loop = self._sections[section].loops
        values["loop"] = section - self._config.first_loop_section + 1 if is_of_loop else 0
        names = [field.name for field in self._descriptor.fields]
        return self._descriptor.pack({name: values[name] for name in names})
