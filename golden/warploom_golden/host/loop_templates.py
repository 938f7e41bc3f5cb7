"""Templates of LoopExpander's model: their words, and what a launch's words are."""

from warploom_spec.config import Config
from warploom_spec.host_commands import INLINE_WORD, STEP_WORD, TASK_WORDS, Opcode
from warploom_spec.host_map import template_numbers

WORD_MASK = (1 << 32) - 1
HALF_MASK = (1 << 16) - 1
#: Grid rows: the field whose halves step apart.
ROWS_WORD = 7
#: T11: from this bit on it says which fields alternate.
ALTERNATES_LOW = 16

#: Number and value of each word of a launch.
Words = dict[int, int]


class Templates:
    """The words of all slots, which no reset changes.

    Parameters
    ----------
    config : Config
        Slots, and which words a launch has.
    """

    def __init__(self, config: Config) -> None:
        slots = range(config.loop_templates)
        self._numbers = template_numbers(config)
        #: First and second half of each slot.
        self._halves = [([0] * TASK_WORDS, [0] * TASK_WORDS) for _ in slots]
        #: What `undo` takes back: half, number, and the word before.
        self._last: tuple[list[int], int, int] | None = None
        inline = (INLINE_WORD + 2 * k for k in range(config.inline_args))
        #: The words of each field, the lowest one first.
        self._fields = ((6,), (ROWS_WORD,), (3, 4), *((low, low + 1) for low in inline))

    def write(self, slot: int, steps: bool, number: int, data: int) -> None:
        """Write a word of a slot's first or second half."""
        half = self._halves[slot][steps]
        self._last = half, number, half[number]
        half[number] = data

    def settle(self) -> None:
        """Let the last write stay."""
        self._last = None

    def undo(self) -> None:
        """Take the last write back, if it was not settled."""
        if self._last is not None:
            half, number, word = self._last
            half[number] = word
        self._last = None

    def launch(self, slot: int, iteration: int, before: Words) -> Words:
        """Rule 16: return a launch's words in the order in which they are written.

        Parameters
        ----------
        slot : int
            Its template.
        iteration : int
            0 for the first one.
        before : Words
            The words of the iteration before; not looked at in iteration 0.
        """
        first, second = self._halves[slot]
        words = {number: first[number] for number in self._numbers if number != STEP_WORD}
        words[0] = words[0] & ~0xFF | Opcode.LAUNCH
        for field in self._changing(slot) if iteration else ():
            if first[STEP_WORD] >> ALTERNATES_LOW + field & 1:
                chosen = second if iteration % 2 else first
                words |= {number: chosen[number] for number in self._fields[field]}
            else:
                words |= self._stepped(field, before, second)
        return words

    def window(self, slot: int) -> range:
        """Rule 15: return the numbers from the first to the last word that changes."""
        changing = [number for field in self._changing(slot) for number in self._fields[field]]
        return range(min(changing), max(changing) + 1) if changing else range(0)

    def priority(self, slot: int) -> int:
        """Return the field of T5, of which a configuration has the low bits."""
        return self._halves[slot][0][5] >> 24

    def _changing(self, slot: int) -> list[int]:
        changes = self._halves[slot][0][STEP_WORD]
        return [field for field in range(len(self._fields)) if changes >> field & 1]

    def _stepped(self, field: int, before: Words, second: list[int]) -> Words:
        """Return a field's words after one step."""
        if self._fields[field] == (ROWS_WORD,):
            gy = before[ROWS_WORD] + second[ROWS_WORD] & HALF_MASK
            gz = (before[ROWS_WORD] >> 16) + (second[ROWS_WORD] >> 16) & HALF_MASK
            return {ROWS_WORD: gy | gz << 16}
        stepped, carry = {}, 0
        for number in self._fields[field]:
            total = before[number] + second[number] + carry
            stepped[number], carry = total & WORD_MASK, total >> 32
        return stepped
