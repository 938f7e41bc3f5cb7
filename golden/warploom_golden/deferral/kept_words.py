"""A driver's writes and reads at the mailbox when it keeps the words that it wrote.

The driver writes only words that differ from what stands there. What stands there is unknown at
the start. LAUNCHes have a section of their own: a LOOP leaves its section's words undefined.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from warploom_golden.deferral.templates import INLINE_FIELD, field_words
from warploom_spec import Config
from warploom_spec.host_commands import STEP_WORD, TASK_WORDS
from warploom_spec.host_map import template_numbers
from warploom_spec.queue_packets import FIRST_WAIT_WORD

#: Accesses beside the words that differ. Of a LAUNCH: the doorbell, and the reads of ERROR and of
#: RESULT1, its number in its stream. Of a LOOP: three words, the doorbell, ERROR and RESULT3.
LAUNCH_ACCESSES: Final = 3
LOOP_ACCESSES: Final = 6
#: The flag that says whether pair 0 counts: its bit in word 0.
_FIRST_FLAG: Final = 8


def launch_places(words: Sequence[int], config: Config) -> tuple[int, ...]:
    """Return the numbers of the words that a LAUNCH is read from; a pair's only if it counts."""
    return tuple(
        number
        for number in template_numbers(config)
        if number != STEP_WORD
        and (number < FIRST_WAIT_WORD or words[0] >> _FIRST_FLAG + number - FIRST_WAIT_WORD & 1)
    )


def template_places(words: Sequence[int], config: Config) -> tuple[int, ...]:
    """Return the numbers of the words that a template is read from."""
    fields = (k for k in range(INLINE_FIELD + config.inline_args) if words[STEP_WORD] >> k & 1)
    steps = (TASK_WORDS + word for field in fields for word in field_words(field))
    return *launch_places(words, config), STEP_WORD, *steps


@dataclass
class KeptWords:
    """Words that stand in a section or in a slot, as far as they are known."""

    known: dict[int, int] = field(default_factory=dict)

    def differ(self, words: Sequence[int], places: Iterable[int]) -> int:
        """Return how many of the words at some places must be written."""
        return sum(self.known.get(place) != words[place] for place in places)

    def write(self, words: Sequence[int], places: Iterable[int]) -> int:
        """Write the words that differ; return how many."""
        new: Mapping[int, int] = {
            place: words[place] for place in places if self.known.get(place) != words[place]
        }
        self.known.update(new)
        return len(new)
