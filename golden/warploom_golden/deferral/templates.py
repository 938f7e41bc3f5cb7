"""Makes the words of a loop's templates and of its LOOP."""

from collections.abc import Mapping
from typing import Final

from warploom_golden.deferral.calls import Alternate, Constant
from warploom_golden.deferral.loop_rules import Rule
from warploom_spec import Config
from warploom_spec.host_commands import (
    FIRST_RELATIVE_FLAG,
    INLINE_WORD,
    TASK_WORDS,
    WAIT_WORDS,
    Opcode,
    loop_words,
    template_words,
)
from warploom_spec.word_layout import WORD_BITS

#: Numbers of the fields that can change; inline word k is field ``INLINE_FIELD + k``.
GRID_X, GRID_YZ, ARGUMENTS, INLINE_FIELD = 0, 1, 2, 3
_WORD: Final = (1 << WORD_BITS) - 1
_FIRST_WORDS: Final = {GRID_X: (6,), GRID_YZ: (7,), ARGUMENTS: (3, 4)}


def field_words(field: int) -> tuple[int, ...]:
    """Return the numbers of the words that hold a field that can change."""
    if field < INLINE_FIELD:
        return _FIRST_WORDS[field]
    low = INLINE_WORD + 2 * (field - INLINE_FIELD)
    return low, low + 1


def quiet_launch(pairs: Mapping[int, int]) -> dict[str, int]:
    """Return the fields of a quiet LAUNCH that its descriptor does not have.

    Parameters
    ----------
    pairs : Mapping of int to int
        What it waits for: by stream, how many launches before the latest accepted one.
    """
    fields = {"opcode": int(Opcode.LAUNCH), "parameter": 0, "quiet": 1}
    fields["flags"] = sum(1 << k | 1 << FIRST_RELATIVE_FLAG + k for k in range(len(pairs)))
    for k, (stream, back) in enumerate([*pairs.items(), *((0, 0),) * WAIT_WORDS][:WAIT_WORDS]):
        fields |= {f"wait{k}_stream": stream, f"wait{k}_count": back}
    return fields


def make_template(
    config: Config, fields: Mapping[str, int], steps: Mapping[int, Rule]
) -> tuple[int, ...]:
    """Return a template's words: those of the launch, and behind them what they step by.

    Parameters
    ----------
    config : Config
        Decides which words a launch has.
    fields : Mapping of str to int
        The fields of LAUNCH in iteration 0.
    steps : Mapping of int to Rule
        By number of field: how it changes. A constant one does not; of ``GRID_YZ`` the increment
        has z in its upper half.
    """
    second = [0] * TASK_WORDS
    changes = alternates = 0
    for field, rule in steps.items():
        if isinstance(rule, Constant):
            continue
        changes |= 1 << field
        alternates |= isinstance(rule, Alternate) << field
        value = rule.other if isinstance(rule, Alternate) else rule.increment
        for place, word in enumerate(field_words(field)):
            second[word] = value >> WORD_BITS * place & _WORD
    first = template_words(config).pack({**fields, "changes": changes, "alternates": alternates})
    return *first, *second


def make_loop(config: Config, count: int, templates: int, in_flight: int = 0) -> tuple[int, ...]:
    """Return the words of a LOOP over so many templates from slot 0 on."""
    return loop_words(config).pack(
        {
            "opcode": int(Opcode.LOOP),
            "flags": 0,
            "parameter": 0,
            "count": count,
            "first_slot": 0,
            "last_slot": templates - 1,
            "in_flight": in_flight,
        }
    )
