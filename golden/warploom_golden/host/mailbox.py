"""Cycle model of Mailbox: doorbells and task registers, and what becomes of a command."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from warploom_spec import host_packets, layouts
from warploom_spec.config import Config
from warploom_spec.host_commands import (
    FLAG_SKIP_PRIMARY,
    LAUNCH_COMMANDS,
    TASK_WORDS,
    UNIT_COMMANDS,
    Opcode,
    abort_words,
    command_words,
    launch_words,
    run_words,
)
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import (
    OFFSETS,
    RESULT_WORDS,
    SECTION_BASE,
    SECTION_BYTES,
    SECTION_WORDS,
)

ALL_STROBES = 0b1111
#: Words that a unit's cores write.
CORE_WORDS = tuple(f"RESULT{8 + k}" for k in range(RESULT_WORDS))


@dataclass
class Section:
    """What a section holds but its task register: all of it is 0 after a reset."""

    doorbell: int = 0
    #: A launch or an abort of it was sent and not answered.
    awaits: bool = False
    #: STATUS, ASSIGNED, ERROR and RESULT words that are not 0, by name.
    outcome: dict[str, int] = field(default_factory=dict)

    def ring(self) -> None:
        """Take the section: its words are 0 until its command completes."""
        self.doorbell = 1
        self.outcome.clear()

    def complete(self, words: Mapping[str, int]) -> None:
        """Write an outcome's words and clear the doorbell."""
        self.outcome.update(words)
        self.doorbell = 0
        self.awaits = False


@dataclass(frozen=True)
class Verdict:
    """What a command completes with at once."""

    code: HostError
    argument: int = 0


class Mailbox:
    """Cycle model of Mailbox.

    Ports and rules: ``docs/host/mailbox.md``. Every method names the rule that it follows.
    The task registers are 0 at power-up; a reset leaves them as they are.

    Parameters
    ----------
    config : Config
        Sections, units and cores of a unit; widths of a launch.
    launches : bool
        Whether there is a launch path behind it.
    """

    def __init__(self, config: Config, *, launches: bool = True):
        self._config = config
        self._launches = launches
        self._write = host_packets.bus_write(config)
        self._read = host_packets.bus_read(config)
        self._answer = host_packets.bus_answer(config)
        self._run = host_packets.unit_run(config)
        self._done = host_packets.unit_done(config)
        self._result = host_packets.unit_result(config)
        self._descriptor = layouts.launch_descriptor(config)
        self._launch_answer = layouts.launch_answer(config)
        self._stop = layouts.launch_stop(config)
        self._stop_answer = host_packets.stop_answer(config)
        self._head = command_words(config)
        self._run_words = run_words(config)
        self._launch_words = launch_words(config)
        self._abort_words = abort_words(config)
        self._words = {word.offset: word for word in SECTION_WORDS}
        self._tasks = [[0] * TASK_WORDS for _ in range(config.sections)]
        self.reset()

    def reset(self) -> None:
        """Clear everything but the task registers."""
        self._sections = [Section() for _ in range(self._config.sections)]
        self._judged: int | None = None
        self._disconnected = [0] * self._config.units
        self._runs = [0] * self._config.units
        self._answered: int | None = None
        #: Sections whose launch or abort was not answered, and stops that were not sent.
        self._launched: deque[int] = deque()
        self._aborting: deque[int] = deque()
        self._stops: deque[int] = deque()

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle; ``answer`` is compared in the cycle after a read."""
        write = self._write.unpack(inputs["write"])
        values: dict[str, int | None] = {
            "write_refused": int(bool(write["valid"]) and self._refuses(write, inputs)),
            "answer": self._answered,
            "disconnected": sum(bit << unit for unit, bit in enumerate(self._disconnected)),
            **{f"run__{unit}": word for unit, word in enumerate(self._runs)},
        }
        return values | self._launch_outputs(inputs) if self._launches else values

    def _launch_outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Rules 8, 9 and 16."""
        sent = self._sent_launch(inputs)
        return {
            "launch": sent,
            "launch_valid": int(sent is not None),
            "stop__valid": int(bool(self._stops)),
            "stop__payload": self._stops[0] if self._stops else None,
            "waiting": int(any(section.doorbell for section in self._sections)),
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        write = self._write.unpack(inputs["write"])
        read = self._read.unpack(inputs["read"])
        closed = bool(inputs.get("closed", 0))
        self._answered = self._read_word(read["address"], closed) if read["valid"] else None
        performs = bool(write["valid"]) and not self._refuses(write, inputs)
        judged, self._judged = self._judged, None
        self._runs = [0] * self._config.units
        interrupted = [s for s in self._sections if closed and s.doorbell and not s.awaits]
        if self._launches:
            self._send_stop(inputs)
        if judged is not None and not closed:
            self._serve(judged, inputs["missing"])
        if self._launches:
            self._take_launch_path_answers(inputs)
        self._take_unit_answers(inputs, closed)
        for section in interrupted:
            section.outcome.clear()
            section.complete({"ERROR": HostError.RESET})
        if performs:
            self._perform(write)

    # Writes and reads

    def _place(self, word_address: int) -> tuple[int, int] | None:
        """Return section and byte offset of a word; None outside the map."""
        section, offset = divmod(4 * word_address - SECTION_BASE, SECTION_BYTES)
        if not 0 <= section < self._config.sections or offset not in self._words:
            return None
        return section, offset

    def _refuses(self, write: Mapping[str, int], inputs: Mapping[str, int]) -> bool:
        """Rule 1, (a) to (f): the first that holds answers."""
        place = self._place(write["address"])
        if inputs.get("closed", 0) or place is None:
            return True
        section, offset = place
        word = self._words[offset]
        if word.access == "ro":
            return True
        if not write["strobes"]:
            return False
        if word.name == "DOORBELL" and write["strobes"] != ALL_STROBES:
            return True
        if self._sections[section].doorbell:
            return True
        return word.name == "DOORBELL" and write["data"] > 1

    def _perform(self, write: Mapping[str, int]) -> None:
        """Rule 1, (c), (g) and (h), and rule 4: do a write that is not refused."""
        place = self._place(write["address"])
        assert place is not None, "a write outside the map is refused"
        section, offset = place
        if self._words[offset].name == "DOORBELL":
            if write["strobes"] and write["data"]:
                self._sections[section].ring()
                self._judged = section
            return
        mask = sum(0xFF << 8 * byte for byte in range(4) if write["strobes"] >> byte & 1)
        task, number = self._tasks[section], (offset - OFFSETS["T0"]) // 4
        task[number] = task[number] & ~mask | write["data"] & mask

    def _read_word(self, word_address: int, closed: bool) -> int:
        """Rules 3 and 13: return the packed answer to a read in this cycle's state."""
        place = self._place(word_address)
        if place is None or closed:
            return self._answer.pack({"refused": 1, "data": 0})
        section, offset = place
        word, held = self._words[offset], self._sections[section]
        if word.name == "DOORBELL":
            data = held.doorbell
        elif word.name in CORE_WORDS and held.doorbell:
            data = 0  # Rule 13: they show when the task completes.
        else:
            data = held.outcome.get(word.name, 0)
        return self._answer.pack({"refused": 0, "data": data})

    # Serving

    def _serve(self, number: int, missing: int) -> None:
        """Rules 5 to 9: complete a section's command or hand it on."""
        verdict, opcode = self._verdict(number, missing), self._opcode(number)
        section = self._sections[number]
        if verdict is not None:
            section.complete({"ERROR": verdict.code | verdict.argument << 16})
            if verdict.code == HostError.OK and opcode is Opcode.DISCONNECT:
                self._disconnected[number] = 1
            return
        match opcode:
            case Opcode.RUN:
                self._runs[number] = self._task(number)
            case Opcode.LAUNCH:
                section.awaits = True
                self._launched.append(number)
            case Opcode.ABORT:
                section.awaits = True
                ticket = self._abort_words.unpack(self._tasks[number])["ticket"]
                self._aborting.append(number)
                self._stops.append(self._stop.pack({"ticket": ticket, "drain": 0}))
            case None | Opcode.NOP | Opcode.DISCONNECT:
                raise AssertionError(f"{opcode!r} completes at once")
            case _:
                assert_never(opcode)

    def _verdict(self, number: int, missing: int) -> Verdict | None:
        """Rule 5: return what a command completes with at once; None if it is handed on."""
        opcode, has_unit = self._opcode(number), number < self._config.units
        if has_unit and self._disconnected[number]:
            return Verdict(HostError.DISCONNECTED)
        if opcode is None or (opcode in LAUNCH_COMMANDS and not self._launches):
            return Verdict(HostError.BAD_OPCODE)
        if opcode in UNIT_COMMANDS and not has_unit:
            return Verdict(HostError.NO_UNIT)
        match opcode:
            case Opcode.NOP | Opcode.DISCONNECT:
                return Verdict(HostError.OK)
            case Opcode.ABORT:
                return None
            case Opcode.LAUNCH:
                word = self._too_large(number)
                return None if word is None else Verdict(HostError.FIELD_RANGE, word)
            case Opcode.RUN:
                return self._judge_task(number, missing)
            case _:
                assert_never(opcode)

    def _judge_task(self, number: int, missing: int) -> Verdict | None:
        """Rule 5 (d), (e) and (g) for a RUN."""
        if missing >> number & 1:
            return Verdict(HostError.CORE_MISSING)
        cores = self._config.cores_per_unit - int(self._skips_primary(number))
        if self._parts(number) > cores:
            return Verdict(HostError.BAD_SPLIT)
        return None if self._parts(number) else Verdict(HostError.OK)

    def _opcode(self, number: int) -> Opcode | None:
        """Return a section's command; None if the page's table has no such opcode."""
        opcode = self._head.unpack(self._tasks[number])["opcode"]
        return Opcode(opcode) if opcode in list(Opcode) else None

    def _skips_primary(self, number: int) -> bool:
        return bool(self._head.unpack(self._tasks[number])["flags"] & FLAG_SKIP_PRIMARY)

    def _parts(self, number: int) -> int:
        """Rule 5 (e): with small = 0 only the larger parts hold anything."""
        task = self._run_words.unpack(self._tasks[number])
        return task["parts"] if task["small"] else min(task["parts"], task["larger"])

    def _too_large(self, number: int) -> int | None:
        """Rule 5 (f): return the first word with a value that its field cannot hold."""
        values = self._launch_words.unpack(self._tasks[number])
        words = [
            self._launch_words.by_name[field.name].word
            for field in self._descriptor.fields
            if values[field.name] >> field.bits
        ]
        return min(words, default=None)

    def _task(self, number: int) -> int:
        """Rule 7: return the packed ``unit_run`` of a section's command."""
        task = self._run_words.unpack(self._tasks[number])
        same = ("larger", "small", "first", "code", "arguments")
        return self._run.pack(
            {
                "valid": 1,
                "skip_primary": int(self._skips_primary(number)),
                "parts": self._parts(number),
                **{name: task[name] for name in same},
            }
        )

    # The launch path

    def _sent_launch(self, inputs: Mapping[str, int]) -> int | None:
        """Rule 8: return the packed ``launch_descriptor`` that is sent in this cycle."""
        number = self._judged
        if number is None or inputs["closed"] or self._opcode(number) is not Opcode.LAUNCH:
            return None
        if self._verdict(number, inputs["missing"]) is not None:
            return None
        values = self._launch_words.unpack(self._tasks[number])
        names = [field.name for field in self._descriptor.fields]
        return self._descriptor.pack({name: values[name] for name in names})

    def _send_stop(self, inputs: Mapping[str, int]) -> None:
        """Rule 9: the oldest stop leaves when it transfers."""
        if self._stops and inputs["stop__ready"]:
            self._stops.popleft()

    def _take_launch_path_answers(self, inputs: Mapping[str, int]) -> None:
        """Rules 10 and 11: the oldest launch, the oldest abort is answered."""
        launch = self._launch_answer.unpack(inputs["launch_answer"])
        if launch["valid"]:
            error = launch["code"] | launch["argument"] << 16
            section = self._sections[self._launched.popleft()]
            section.complete({"ERROR": error, "RESULT0": launch["ticket"]})
        stop = self._stop_answer.unpack(inputs["stop_answer"])
        if stop["valid"]:
            self._sections[self._aborting.popleft()].complete({"ERROR": stop["code"]})

    # The units

    def _take_unit_answers(self, inputs: Mapping[str, int], closed: bool) -> None:
        """Rules 12 to 14: what the units say in this cycle."""
        for unit in range(self._config.units):
            if not closed:
                self._take_unit_answer(unit, inputs)
            if inputs["unit_reset"] >> unit & 1:
                self._disconnected[unit] = 0

    def _take_unit_answer(self, unit: int, inputs: Mapping[str, int]) -> None:
        section = self._sections[unit]
        result = self._result.unpack(inputs[f"result__{unit}"])
        if result["valid"]:
            assert result["word"] < RESULT_WORDS
            section.outcome[CORE_WORDS[result["word"]]] = result["data"]
        done = self._done.unpack(inputs[f"done__{unit}"])
        if done["valid"]:
            section.complete(
                {
                    "STATUS": done["status"],
                    "ASSIGNED": done["assigned"],
                    "ERROR": done["code"] | done["core"] << 8 | done["argument"] << 16,
                    "RESULT1": done["task"],
                }
            )
