"""What a host has written into templates, and what the LOOPs that it rang may launch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from warploom_spec.config import Config
from warploom_spec.host_commands import (
    INLINE_WORD,
    STEP_WORD,
    TASK_WORDS,
    Opcode,
    loop_words,
)
from warploom_spec.host_map import find_template, template_numbers
from warploom_spec.word_layout import WORD_BITS

#: A task register's words; None is a word that nobody knows.
Task = list[int | None]
#: Launches of a loop that may be offered out of their order: more than the core holds of one loop.
_WINDOW = 24
_WORD = (1 << WORD_BITS) - 1
_HALF = 0xFFFF
#: The field of gy and gz.
_TWO_HALVES = 1


@dataclass(eq=False)
class _Loop:
    """A LOOP that was rung; ``slots`` is None if nobody knows what it launches."""

    count: int
    slots: list[int] | None
    seen: set[int] = field(default_factory=set)


class HostLoops:
    """Templates, and the last LOOP of each section.

    A loop's slots cannot be written while it launches, so its launches are those of the templates
    as they stand when one of them is offered.

    Parameters
    ----------
    config : Config
        Slots and sections.
    """

    def __init__(self, config: Config):
        self._config = config
        self._words = loop_words(config)
        numbers = template_numbers(config)
        #: By slot and half. None: not known; a core that ran before has words there. A reset keeps
        #: them.
        self._templates: list[list[dict[int, int | None]]] = [
            [dict.fromkeys(numbers) for _ in range(2)] for _ in range(config.loop_templates)
        ]
        #: The words of each field that may change; field 1 is gy and gz.
        inline = range(INLINE_WORD, INLINE_WORD + 2 * config.inline_args, 2)
        self._fields = [(6,), (7,), (3, 4), *((low, low + 1) for low in inline)]
        self.restart()

    def restart(self) -> None:
        """Forget all loops."""
        self._loops: dict[int, _Loop] = {}

    def write(self, address: int, data: int | None) -> None:
        """Note a word that was written; None: perhaps."""
        place = find_template(self._config, address)
        if place is not None:
            slot, second, number = place
            self._templates[slot][second][number] = data

    def ring(self, section: int, task: Sequence[int | None]) -> bool:
        """Note a doorbell of a section: its loop, if there was one, has ended.

        Returns
        -------
        bool
            Whether it may loop now.
        """
        self._loops.pop(section, None)
        opcode = None if task[0] is None else task[0] & 0xFF
        can_loop = self._config.has_loops and section >= self._config.first_loop_section
        if not can_loop or opcode not in (None, Opcode.LOOP):
            return False
        if None in task[:3]:
            self._loops[section] = _Loop(1 << 32, None)
            return True
        words = self._words.unpack([word or 0 for word in task])
        first, number = words["first_slot"], self._config.loop_templates
        if max(first, words["last_slot"]) < number:
            length = (words["last_slot"] - first) % number + 1
            slots = [(first + k) % number for k in range(length)]
            self._loops[section] = _Loop(words["count"], slots)
        return True

    def candidates(self) -> Iterator[tuple[tuple[int, int], Task]]:
        """Yield what may be launched next: section and number, and the words of the launch."""
        for section, loop in self._loops.items():
            if loop.slots is None:
                yield (section, 0), [None] * TASK_WORDS
                continue
            last = max(loop.seen, default=-1)
            end = min(last + 1 + _WINDOW, loop.count * len(loop.slots))
            for number in range(max(0, last - _WINDOW), end):
                if number not in loop.seen:
                    iteration, place = divmod(number, len(loop.slots))
                    yield (section, number), self._launch(loop.slots[place], iteration)

    def take(self, key: tuple[int, int]) -> None:
        """Note that a launch was offered."""
        section, number = key
        loop = self._loops[section]
        if loop.slots is not None:
            loop.seen.add(number)

    def _launch(self, slot: int, iteration: int) -> Task:
        """Return the words that a slot launches in an iteration."""
        first, second = self._templates[slot]
        task: Task = [None] * TASK_WORDS
        for number, word in first.items():
            task[number] = word
        task[0] = None if task[0] is None else task[0] & ~0xFF | Opcode.LAUNCH
        changes = first[STEP_WORD]
        for number, words in enumerate(self._fields):
            if changes is None:
                values: list[int | None] = [None] * len(words)
            elif not changes >> number & 1:
                continue
            elif changes >> 16 + number & 1:
                half = second if iteration % 2 else first
                values = [half[word] for word in words]
            else:
                values = self._stepped(number, words, slot, iteration)
            for word, value in zip(words, values, strict=True):
                task[word] = value
        return task

    def _stepped(
        self, number: int, words: tuple[int, ...], slot: int, iteration: int
    ) -> list[int | None]:
        """Return a field's words after so many steps."""
        parts = [[half[word] for word in words] for half in self._templates[slot]]
        if None in parts[0] or None in parts[1]:
            return [None] * len(words)
        first, second = ([part or 0 for part in half] for half in parts)
        if number == _TWO_HALVES:
            # Two halves, without a carry between them.
            low = (first[0] + iteration * second[0]) & _HALF
            high = ((first[0] >> 16) + iteration * (second[0] >> 16)) & _HALF
            return [low | high << 16]
        begin, step = (sum(p << WORD_BITS * k for k, p in enumerate(h)) for h in (first, second))
        value = begin + iteration * step
        return [value >> WORD_BITS * k & _WORD for k in range(len(words))]
