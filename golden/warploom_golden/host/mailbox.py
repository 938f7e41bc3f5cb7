"""Cycle model of Mailbox: doorbells and task registers, and what becomes of a command."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from warploom_spec import host_packets
from warploom_spec.config import Config
from warploom_spec.host_commands import FLAG_SKIP_PRIMARY, TASK_WORDS, Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS, RESULT_WORDS, SECTION_BASE, SECTION_BYTES, SECTION_WORDS

ALL_STROBES = 0b1111


@dataclass
class Section:
    """What a section holds but its task register: all of it is 0 after a reset."""

    doorbell: int = 0
    in_service: bool = False
    #: STATUS, ASSIGNED, ERROR and RESULT words that are not 0, by name.
    outcome: dict[str, int] = field(default_factory=dict)

    def complete(self, words: Mapping[str, int]) -> None:
        """Write an outcome's words and clear the doorbell."""
        self.outcome.update(words)
        self.doorbell = 0
        self.in_service = False


class Mailbox:
    """Cycle model of Mailbox.

    Ports and rules: ``docs/host/mailbox.md``. Every method names the rule that it follows.
    The task registers are 0 at power-up; a reset leaves them as they are.

    Parameters
    ----------
    config : Config
        Sections, units and cores of a unit.
    """

    def __init__(self, config: Config):
        self._config = config
        self._write = host_packets.bus_write(config)
        self._read = host_packets.bus_read(config)
        self._answer = host_packets.bus_answer(config)
        self._run = host_packets.unit_run(config)
        self._done = host_packets.unit_done(config)
        self._result = host_packets.unit_result(config)
        self._words = {word.offset: word for word in SECTION_WORDS}
        self._tasks = [[0] * TASK_WORDS for _ in range(config.sections)]
        self.reset()

    def reset(self) -> None:
        """Clear everything but the task registers."""
        self._sections = [Section() for _ in range(self._config.sections)]
        self._pointer = 0
        self._judged: int | None = None
        self._disconnected = [0] * self._config.units
        self._runs = [0] * self._config.units
        self._answered: int | None = None

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle; ``answer`` is compared in the cycle after a read."""
        write = self._write.unpack(inputs["write"])
        return {
            "write_refused": int(bool(write["valid"]) and self._refuses(write)),
            "answer": self._answered,
            "disconnected": sum(bit << unit for unit, bit in enumerate(self._disconnected)),
            **{f"run__{unit}": word for unit, word in enumerate(self._runs)},
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        write = self._write.unpack(inputs["write"])
        read = self._read.unpack(inputs["read"])
        self._answered = self._read_word(read["address"]) if read["valid"] else None
        performs = bool(write["valid"]) and not self._refuses(write)
        taken = self._next_section()
        judged, self._judged = self._judged, taken
        self._runs = [0] * self._config.units
        if judged is not None:
            self._serve(judged, inputs["missing"])
        self._hear_units(inputs)
        if taken is not None:
            self._sections[taken].in_service = True
            self._sections[taken].outcome.clear()
            self._pointer = (taken + 1) % self._config.sections
        if performs:
            self._perform(write)

    # Writes and reads

    def _place(self, word_address: int) -> tuple[int, int] | None:
        """Return section and byte offset of a word; None outside the map."""
        section, offset = divmod(4 * word_address - SECTION_BASE, SECTION_BYTES)
        if not 0 <= section < self._config.sections or offset not in self._words:
            return None
        return section, offset

    def _refuses(self, write: Mapping[str, int]) -> bool:
        """Rule 1, (a) to (e): the first that holds answers."""
        place = self._place(write["address"])
        if place is None:
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
        """Rule 1, (b), (f) and (g): do a write that is not refused."""
        place = self._place(write["address"])
        assert place is not None, "a write outside the map is refused"
        section, offset = place
        if self._words[offset].name == "DOORBELL":
            if write["strobes"] and write["data"]:
                self._sections[section].doorbell = 1
            return
        mask = sum(0xFF << 8 * byte for byte in range(4) if write["strobes"] >> byte & 1)
        task, number = self._tasks[section], (offset - OFFSETS["T0"]) // 4
        task[number] = task[number] & ~mask | write["data"] & mask

    def _read_word(self, word_address: int) -> int:
        """Rule 3: return the packed answer to a read in this cycle's state."""
        place = self._place(word_address)
        if place is None:
            return self._answer.pack({"refused": 1, "data": 0})
        section, offset = place
        word, held = self._words[offset], self._sections[section]
        data = held.doorbell if word.name == "DOORBELL" else held.outcome.get(word.name, 0)
        return self._answer.pack({"refused": 0, "data": data})

    # Serving

    def _next_section(self) -> int | None:
        """Rule 4: return the section that is taken in this cycle."""
        count = self._config.sections
        for step in range(count):
            number = (self._pointer + step) % count
            section = self._sections[number]
            if section.doorbell and not section.in_service:
                return number
        return None

    def _serve(self, number: int, missing: int) -> None:
        """Rules 5 to 7: complete a section's command or hand it to its unit."""
        code = self._verdict(number, missing)
        if code is None:
            self._runs[number] = self._task(number)
            return
        self._sections[number].complete({"ERROR": code})
        if code == HostError.OK and self._opcode(number) == Opcode.DISCONNECT:
            self._disconnected[number] = 1

    def _verdict(self, number: int, missing: int) -> HostError | None:
        """Rule 5: return the code that a command completes with; None if it goes to the unit."""
        opcode, has_unit = self._opcode(number), number < self._config.units
        if has_unit and self._disconnected[number]:
            return HostError.DISCONNECTED
        if opcode not in list(Opcode):
            return HostError.BAD_OPCODE
        if opcode == Opcode.NOP:
            return HostError.OK
        if not has_unit:
            return HostError.NO_UNIT
        if opcode == Opcode.DISCONNECT:
            return HostError.OK
        if missing >> number & 1:
            return HostError.CORE_MISSING
        cores = self._config.cores_per_unit - int(self._skips_primary(number))
        if self._parts(number) > cores:
            return HostError.BAD_SPLIT
        return None if self._parts(number) else HostError.OK

    def _opcode(self, number: int) -> int:
        return self._tasks[number][0] & 0xFF

    def _skips_primary(self, number: int) -> bool:
        return bool(self._tasks[number][0] >> 8 & FLAG_SKIP_PRIMARY)

    def _parts(self, number: int) -> int:
        """Rule 5 (e): with small = 0 only the larger parts hold anything."""
        parts, larger = self._tasks[number][2] & 0xFF, self._tasks[number][2] >> 8 & 0xFF
        return parts if self._tasks[number][3] else min(parts, larger)

    def _task(self, number: int) -> int:
        """Rule 7: return the packed ``unit_run`` of a section's command."""
        words = self._tasks[number]
        return self._run.pack(
            {
                "valid": 1,
                "skip_primary": int(self._skips_primary(number)),
                "parts": self._parts(number),
                "larger": words[2] >> 8 & 0xFF,
                "small": words[3],
                "first": words[1],
                "code": words[4] | words[5] << 32,
                "arguments": words[6] | words[7] << 32,
            }
        )

    def _hear_units(self, inputs: Mapping[str, int]) -> None:
        """Rules 8 to 10: what the units say in this cycle."""
        for unit in range(self._config.units):
            section = self._sections[unit]
            result = self._result.unpack(inputs[f"result__{unit}"])
            if result["valid"]:
                assert result["word"] < RESULT_WORDS
                section.outcome[f"RESULT{8 + result['word']}"] = result["data"]
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
            if inputs["unit_reset"] >> unit & 1:
                self._disconnected[unit] = 0
