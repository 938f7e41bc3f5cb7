"""Cycle model of Mailbox: doorbells and task registers, and what becomes of a command."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from warploom_golden.host.mailbox_launches import Completion, LaunchSide
from warploom_golden.host.mailbox_loops import LoopSide
from warploom_golden.host.mailbox_section import Section
from warploom_spec import host_packets, queue_packets, timing
from warploom_spec.config import Config
from warploom_spec.host_commands import (
    FLAG_SKIP_PRIMARY,
    LAUNCH_COMMANDS,
    RESERVED_FIELD,
    TASK_WORDS,
    UNIT_COMMANDS,
    WAIT_WORDS,
    Opcode,
    command_words,
    launch_words,
    loop_words,
    mask_words,
    run_words,
)
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import (
    OFFSETS,
    RESULT_WORDS,
    SECTION_BASE,
    SECTION_BYTES,
    section_words,
)
from warploom_spec.queue_packets import FIRST_WAIT_WORD

#: The word with the mask, and LOOP's with the slots: arguments of their ``FIELD_RANGE``.
MASK_WORD = 1
SLOTS_WORD = 2
ALL_STROBES = 0b1111
#: Words that a unit's cores write.
LOOP_WORDS = "RESULT2", "RESULT3"
CORE_WORDS = tuple(f"RESULT{8 + k}" for k in range(RESULT_WORDS))
#: Cycles with a soft reset, one after the other, after which the mailbox is closed.
CLOSES_AFTER = 3


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
        self._error = host_packets.unit_error(config)
        self._result = host_packets.unit_result(config)
        self._descriptor = queue_packets.queued_launch(config)
        self._head = command_words(config)
        self._run_words = run_words(config)
        self._launch_words = launch_words(config)
        self._mask_words = mask_words(config)
        self._loop_words = loop_words(config)
        self._has_loops = config.has_loops and launches
        self._words = {word.offset: word for word in section_words(config)}
        self._read_latency = timing(config).bus_answer
        self._tasks = [[0] * TASK_WORDS for _ in range(config.sections)]
        self.reset()

    def reset(self) -> None:
        """Clear everything but the task registers."""
        self._sections = [Section() for _ in range(self._config.sections)]
        #: The write that commits in this cycle, and the read that is sampled in it.
        self._committing = self._write.unpack(0)
        self._sampling = self._read.unpack(0)
        #: Answers of reads that were sampled in the cycles before, the oldest first.
        self._answers: deque[int | None] = deque([None] * self._read_latency)
        #: ``soft_reset_active`` of the cycles before, the latest last.
        self._active_before = deque([False] * CLOSES_AFTER)
        self._judged: int | None = None
        self._disconnected = [0] * self._config.units
        #: Units whose ``done`` came in the cycle before and was heard: ERROR takes ``error`` (12).
        self._ended: list[int] = []
        #: The task that is at its unit in this cycle, with the unit.
        self._running: tuple[int, int] | None = None
        self._path = LaunchSide(self._config, self._tasks, self._sections)
        self._loops = None
        if self._has_loops:
            self._loops = LoopSide(self._config, self._sections, self._tasks)
        #: The read of the cycle before is of a loop's result: LoopExpander says what it gives (18).
        self._asks_loop = False
        self._completed = False

    @property
    def _shut(self) -> bool:
        return self._active_before[-1]

    @property
    def _closed(self) -> bool:
        return all(self._active_before)

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle.

        ``write_refused`` and ``answer`` are compared in those cycles in which they mean something.
        """
        write = self._committing
        values: dict[str, int | None] = {
            "write_refused": int(self._refuses(write)) if write["valid"] else None,
            "answer": self._answers[0],
            "disconnected": sum(bit << unit for unit, bit in enumerate(self._disconnected)),
            **{f"run__{unit}": 0 for unit in range(self._config.units)},
        }
        if self._running is not None:
            unit, task = self._running
            values[f"run__{unit}"] = task
        if self._loops is not None:
            values |= self._loops.outputs()
        if self._launches:
            values |= self._path.outputs(inputs, self._closed)
            values["completed"] = int(self._completed)
            values["waiting"] = int(any(section.doorbell for section in self._sections))
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        before = [section.doorbell for section in self._sections]
        write, closed = self._committing, self._closed
        performs = bool(write["valid"]) and not self._refuses(write)
        interrupted = [s for s in self._sections if closed and s.doorbell and not s.awaits]
        # A read of this cycle sees the error of a task that ended in the cycle before.
        self._take_unit_errors(inputs)
        self._sample(inputs)
        for section in self._sections:
            section.doorbell_before = section.doorbell
        due = self._path.completions()
        rung = self._rung(write) if performs else self._rung_by_step()
        if self._launches:
            self._path.take_answers(inputs)
            leaver = self._path.advance(inputs, closed, self._asked(write))
            if leaver is not None:
                self._sections[leaver].awaits = True
        judged, self._judged, self._running = self._judged, None, None
        if judged is not None:
            self._serve(judged, inputs["missing"])
        self._settle(due)
        self._take_unit_answers(inputs, closed)
        for section in interrupted:
            section.outcome.clear()
            section.complete({"ERROR": HostError.RESET})
        if performs:
            self._perform(write)
        self._judged = rung
        self._committing = self._write.unpack(inputs["write"])
        self._step_loops(inputs)
        self._active_before.popleft()
        self._active_before.append(self._launches and bool(inputs["soft_reset_active"]))
        after = (section.doorbell for section in self._sections)
        self._completed = any(
            rung and not rings for rung, rings in zip(before, after, strict=True)
        )  # 15a

    # Writes and reads

    def _place(self, word_address: int) -> tuple[int, int] | None:
        """Return section and byte offset of a word; None outside the map."""
        section, offset = divmod(4 * word_address - SECTION_BASE, SECTION_BYTES)
        if not 0 <= section < self._config.sections or offset not in self._words:
            return None
        return section, offset

    def _refuses(self, write: Mapping[str, int]) -> bool:
        """Rule 1, (a) to (f): the first that holds answers."""
        place = self._place(write["address"])
        if self._shut or place is None:
            return True
        section, offset = place
        word = self._words[offset]
        if word.access == "ro":
            return True
        if not write["strobes"]:
            return False
        if word.name == "DOORBELL" and write["strobes"] != ALL_STROBES:
            return True
        if self._sections[section].doorbell or self._sections[section].doorbell_before:
            return True
        return word.name == "DOORBELL" and write["data"] > 1

    def _perform(self, write: Mapping[str, int]) -> None:
        """Rule 1, (c), (g) and (h), and rule 4: do a write that is not refused."""
        rung = self._rung(write)
        if rung is not None:
            self._sections[rung].ring()
        place = self._place(write["address"])
        assert place is not None, "a write outside the map is refused"
        section, offset = place
        if self._words[offset].name == "DOORBELL":
            return
        mask = sum(0xFF << 8 * byte for byte in range(4) if write["strobes"] >> byte & 1)
        task, number = self._tasks[section], (offset - OFFSETS["T0"]) // 4
        task[number] = task[number] & ~mask | write["data"] & mask

    def _rung(self, write: Mapping[str, int]) -> int | None:
        """Return the section whose doorbell a write that is performed rings."""
        place = self._place(write["address"])
        if place is None or self._words[place[1]].name != "DOORBELL":
            return None
        return place[0] if write["strobes"] and write["data"] else None

    def _sample(self, inputs: Mapping[str, int]) -> None:
        """Rules 3 and 18: sample the read of this cycle, and end the one of the cycle before."""
        read = self._sampling
        if self._asks_loop:
            self._answers[-1] = self._answer.pack({"refused": 0, "data": inputs["loop_result"]})
        self._asks_loop = bool(read["valid"]) and self._is_of_loop(read["address"])
        self._answers.popleft()
        self._answers.append(self._read_word(read["address"]) if read["valid"] else None)
        self._sampling = self._read.unpack(inputs["read"])

    def _read_word(self, word_address: int) -> int:
        """Rules 3 and 13: return the packed answer to a read in this cycle's state."""
        place = self._place(word_address)
        if place is None or self._shut:
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

    def _is_of_loop(self, word_address: int) -> bool:
        """Rule 18: return whether a read of this cycle gives what LoopExpander says."""
        place = self._place(word_address)
        if place is None or self._shut:
            return False
        section, offset = place
        return self._words[offset].name in LOOP_WORDS and self._sections[section].shows_loop

    # Loops

    def _asked(self, write: Mapping[str, int]) -> int | None:
        """Rule 8a: return the section whose doorbell is asked for in this cycle, refused or not."""
        if write["valid"]:
            asks = write["strobes"] == ALL_STROBES and write["data"] == 1
            return self._rung(write) if asks else None
        step = None if self._loops is None else self._loops.commits(shut=False)
        return self._loops.section(step) if self._loops and step and step["ring"] else None

    def _rung_by_step(self) -> int | None:
        """Rule 18: return the section whose ring commits in this cycle."""
        step = None if self._loops is None else self._loops.commits(shut=self._shut)
        return self._loops.section(step) if self._loops and step and step["ring"] else None

    def _settle(self, due: Sequence[Completion]) -> None:
        """Rules 10, 11, 18 and 19: what came in the cycle before."""
        for number, outcome in due:
            if self._loops is not None and self._sections[number].loops:
                self._loops.settle(number, outcome)
            else:
                self._sections[number].complete(outcome)
        if self._loops is not None:
            self._loops.end()

    def _step_loops(self, inputs: Mapping[str, int]) -> None:
        """Rules 18 and 19: what comes in this cycle; its write is there already."""
        if self._loops is not None:
            self._loops.hear(self._path.events)
            step = self._loops.commits(shut=self._shut)
            self._loops.advance(step, inputs["step"], taken=not self._committing["valid"])

    # Serving

    def _serve(self, number: int, missing: int) -> None:
        """Rules 5 to 9a, 17 and 18: complete a section's command, or hand it on."""
        section = self._sections[number]
        opcode = Opcode.LAUNCH if section.loops else self._opcode(number)
        verdict = self._verdict(number, opcode, missing)
        if verdict is not None and section.loops:
            assert self._loops is not None
            self._loops.refuse(number, verdict.code | verdict.argument << 16)
        elif verdict is not None:
            section.complete({"ERROR": verdict.code | verdict.argument << 16})
            if verdict.code == HostError.OK and opcode is Opcode.DISCONNECT:
                self._disconnected[number] = 1
        elif opcode is Opcode.RUN:
            self._running = number, self._task(number)
        elif opcode is Opcode.LOOP:
            assert self._loops is not None
            self._loops.begin(number)
        else:
            assert opcode in LAUNCH_COMMANDS, f"{opcode!r} completes at once"
            section.awaits = self._path.hand_on(number, opcode)

    def _verdict(self, number: int, opcode: Opcode | None, missing: int) -> Verdict | None:
        """Rule 5: return what a command completes with at once; None if it is handed on."""
        has_unit = number < self._config.units
        if has_unit and self._disconnected[number]:
            return Verdict(HostError.DISCONNECTED)
        if opcode is None or (opcode in LAUNCH_COMMANDS and not self._launches):
            return Verdict(HostError.BAD_OPCODE)
        if opcode is Opcode.LOOP and not self._config.has_loops:
            return Verdict(HostError.BAD_OPCODE)
        if opcode in UNIT_COMMANDS and not has_unit:
            return Verdict(HostError.NO_UNIT)
        match opcode:
            case Opcode.NOP | Opcode.DISCONNECT:
                return Verdict(HostError.OK)
            case Opcode.ABORT:
                return None
            case Opcode.LOOP:
                return self._judge_loop(number)
            case Opcode.LAUNCH:
                word = self._too_large(number)
                return None if word is None else Verdict(HostError.FIELD_RANGE, word)
            case Opcode.PREEMPT | Opcode.RESUME | Opcode.ABORT_STREAMS:
                mask = self._mask(number)
                wrong = not mask or mask >> (1 << self._config.stream_bits)
                return Verdict(HostError.FIELD_RANGE, MASK_WORD) if wrong else None
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

    def _judge_loop(self, number: int) -> Verdict | None:
        """Rule 5 (c) and (f) for a LOOP."""
        if number < self._config.first_loop_section:
            return Verdict(HostError.NO_LOOP)
        words = self._loop_words.unpack(self._tasks[number])
        wrong = max(words["first_slot"], words["last_slot"]) >= self._config.loop_templates
        return Verdict(HostError.FIELD_RANGE, SLOTS_WORD) if wrong else None

    def _opcode(self, number: int) -> Opcode | None:
        """Return a section's command; None if the page's table has no such opcode."""
        opcode = self._head.unpack(self._tasks[number])["opcode"]
        return Opcode(opcode) if opcode in list(Opcode) else None

    def _mask(self, number: int) -> int:
        return self._mask_words.unpack(self._tasks[number])["mask"]

    def _skips_primary(self, number: int) -> bool:
        return bool(self._head.unpack(self._tasks[number])["flags"] & FLAG_SKIP_PRIMARY)

    def _parts(self, number: int) -> int:
        """Rule 5 (e): with small = 0 only the larger parts hold anything."""
        task = self._run_words.unpack(self._tasks[number])
        return task["parts"] if task["small"] else min(task["parts"], task["larger"])

    def _too_large(self, number: int) -> int | None:
        """Rule 5 (f): return the first word with a value that this configuration does not have."""
        values = self._launch_words.unpack(self._tasks[number])
        words = [
            self._launch_words.by_name[field.name].word
            for field in self._descriptor.fields
            if not field.name.startswith("wait") and values.get(field.name, 0) >> field.bits
        ]
        if values.get(RESERVED_FIELD, 0):
            words.append(self._launch_words.by_name[RESERVED_FIELD].word)
        for pair in range(WAIT_WORDS):
            beyond = values[f"wait{pair}_stream"] >> self._config.stream_bits
            if values["flags"] >> pair & 1 and (pair >= self._config.launch_waits or beyond):
                words.append(FIRST_WAIT_WORD + pair)
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

    # The units

    def _take_unit_answers(self, inputs: Mapping[str, int], closed: bool) -> None:
        """Rules 12 to 14: what the units say in this cycle, but for their errors."""
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
                    "RESULT1": done["task"],
                }
            )
            self._ended.append(unit)

    def _take_unit_errors(self, inputs: Mapping[str, int]) -> None:
        """Rule 12: ERROR of a task that ended in the cycle before."""
        for unit in self._ended:
            error = self._error.unpack(inputs[f"error__{unit}"])
            word = error["code"] | error["core"] << 8 | error["argument"] << 16
            self._sections[unit].outcome["ERROR"] = word
        self._ended = []
