"""Static idempotence check: whether a kernel may be killed and run again from its start.

A kernel that overwrites nothing of what it reads writes the same again when it runs again.
"""

from collections.abc import Iterable

#: First address, and the first one behind the range.
Range = tuple[int, int]


def is_idempotent(reads: Iterable[Range] | None, writes: Iterable[Range] | None) -> bool:
    """Tell whether a kernel's read set and write set are known and do not meet.

    Parameters
    ----------
    reads, writes : iterable of (first, end), or None
        Address ranges, ``end`` not included; None: unknown.

    Returns
    -------
    bool
        False if a set is unknown or the two overlap: then the kernel may be drained, not reset.

    Raises
    ------
    ValueError
        If a range ends before it begins.

    Notes
    -----
    Atomic updates read what they write: the caller lists their ranges in both sets.
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
