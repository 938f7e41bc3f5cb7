"""Words of a loop's templates and of its LOOP, as the page of LoopExpander has them."""

from collections.abc import Mapping
from typing import Final

from warploom_golden.deferral.calls import Alternate, Constant
from warploom_golden.deferral.loop_rules import Rule
from warploom_spec import Config
from warploom_spec.host_commands import INLINE_WORD, TASK_WORDS, launch_words

#: A template's words: those of a LAUNCH, and behind them what they step by.
TEMPLATE_WORDS: Final = 2 * TASK_WORDS
#: The word that names the fields that change, and from which bit on those that alternate.
CHANGES_WORD: Final = 11
ALTERNATES_BIT: Final = 16
#: Numbers of the fields that can change; inline word k is field ``INLINE_FIELD + k``.
GRID_X, GRID_YZ, ARGUMENTS, INLINE_FIELD = 0, 1, 2, 3
#: Flags of word 0: pair k counts, and it is relative.
WAIT_FLAG, RELATIVE_FLAG = 8, 12
LOOP_OPCODE: Final = 4
_WORD: Final = (1 << 32) - 1
_FIRST_WORDS: Final = {GRID_X: (6,), GRID_YZ: (7,), ARGUMENTS: (3, 4)}


def field_words(field: int) -> tuple[int, ...]:
    """Return the numbers of the words that hold a field that can change."""
    if field < INLINE_FIELD:
        return _FIRST_WORDS[field]
    low = INLINE_WORD + 2 * (field - INLINE_FIELD)
    return low, low + 1


def template_words(
    config: Config, fields: Mapping[str, int], steps: Mapping[int, Rule]
) -> tuple[int, ...]:
    """Return a template's words.

    Parameters
    ----------
    config : Config
        Decides which words a LAUNCH has.
    fields : Mapping of str to int
        The fields of LAUNCH in iteration 0.
    steps : Mapping of int to Rule
        By number of field: how it changes. A constant one does not; of ``GRID_YZ`` the increment
        has z in its upper half.
    """
    words = [*launch_words(config).pack(fields), *(0,) * TASK_WORDS]
    for field, rule in steps.items():
        if isinstance(rule, Constant):
            continue
        words[CHANGES_WORD] |= 1 << field
        second = rule.increment if not isinstance(rule, Alternate) else rule.other
        if isinstance(rule, Alternate):
            words[CHANGES_WORD] |= 1 << ALTERNATES_BIT + field
        for place, word in enumerate(field_words(field)):
            words[TASK_WORDS + word] = second >> 32 * place & _WORD
    return tuple(words)


def loop_words(count: int, first: int, last: int, in_flight: int) -> tuple[int, ...]:
    """Return the words of a LOOP.

    Parameters
    ----------
    count : int
        Iterations, 32 bits.
    first, last : int
        Slots of the first and of the last template.
    in_flight : int
        Launches of the loop that may be unfinished at a time; 0: 4.
    """
    head = (LOOP_OPCODE, count, first | last << 8 | in_flight << 16)
    return *head, *(0,) * (TASK_WORDS - len(head))
