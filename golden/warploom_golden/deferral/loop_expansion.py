"""What a LOOP launches: its templates, iteration by iteration, in plain Python.

Written from the rules for templates alone: `to_commands` and this module share no arithmetic.
"""

from collections.abc import Iterator, Sequence

#: Words of each field that can change, in the order of their bits in T11: grid x, grid y and z,
#: the argument pointer, then two words for each inline argument.
_FIELDS = ((6,), (7,), (3, 4), *((12 + 2 * k, 13 + 2 * k) for k in range(8)))
_ROWS = 1
_CHANGES, _ALTERNATES = 11, 16
_LAUNCH = 2


def expand(slots: Sequence[Sequence[int]], loop: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the 32 words of each launch of a LOOP, in order.

    Parameters
    ----------
    slots : sequence of sequence of int
        64 words of each slot of the template memory.
    loop : sequence of int
        The LOOP's words: count, first slot and last slot. From the first to the last one, modulo
        the slots.
    """
    count, first, last = loop[1], loop[2] & 0xFF, loop[2] >> 8 & 0xFF
    body = [slots[(first + k) % len(slots)] for k in range((last - first) % len(slots) + 1)]
    for iteration in range(count):
        for template in body:
            yield _launch(template, iteration)


def _launch(template: Sequence[int], iteration: int) -> tuple[int, ...]:
    """Return one template's launch in one iteration."""
    words, second, changes = list(template[:32]), template[32:], template[_CHANGES]
    for number, places in enumerate(_FIELDS):
        if not changes >> number & 1:
            continue
        if changes >> _ALTERNATES + number & 1:
            for word in places if iteration % 2 else ():
                words[word] = second[word]
        elif number == _ROWS:
            y, z = (
                words[7] + iteration * second[7],
                (words[7] >> 16) + iteration * (second[7] >> 16),
            )
            words[7] = y & 0xFFFF | (z & 0xFFFF) << 16
        else:
            value = _number(words, places) + iteration * _number(second, places)
            for k, word in enumerate(places):
                words[word] = value >> 32 * k & 0xFFFFFFFF
    words[0] = words[0] & ~0xFF | _LAUNCH
    words[_CHANGES] = 0
    return tuple(words)


def _number(words: Sequence[int], places: Sequence[int]) -> int:
    return sum(words[word] << 32 * k for k, word in enumerate(places))
