"""Static idempotence check: whether a kernel may be killed and run again from its start.

A kernel that overwrites none of its inputs reads the same inputs in a second run, so it writes the
same results. Page: ``docs/preemption/preemption.md``, 'Static idempotence check'.
"""

from collections.abc import Iterable

#: A range's first address, and the first address behind its last one.
Range = tuple[int, int]


def is_idempotent(reads: Iterable[Range] | None, writes: Iterable[Range] | None) -> bool:
    """Tell whether a kernel's read set and write set are both known and do not overlap.

    Parameters
    ----------
    reads, writes : iterable of (first, end), or None
        Byte address ranges, ``end`` not included. None: the set is unknown.

    Returns
    -------
    bool
        False if a set is unknown or the two sets overlap. Such a kernel may be drained, but not
        killed.

    Raises
    ------
    ValueError
        If a range ends before it begins.

    Notes
    -----
    An atomic update reads its range and writes it: the caller lists the range in both sets.
    """
    if reads is None or writes is None:
        return False
    read, written = list(reads), list(writes)
    for first, end in (*read, *written):
        if end < first:
            raise ValueError(f"range is ({first}, {end}); legal: an end from {first} up")
    return not any(
        max(first, other) < min(end, other_end)
        for first, end in read
        for other, other_end in written
    )
