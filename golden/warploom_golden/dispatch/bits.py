"""Masks with a bit for each stream or SM."""


def numbers(mask: int) -> list[int]:
    """Return the numbers of the bits that are 1."""
    return [n for n in range(mask.bit_length()) if mask >> n & 1]


def first_from(wanted: int, start: int, size: int) -> int | None:
    """Return the first of ``size`` bits that is 1, from ``start`` on, cyclically."""
    wanted = wanted >> start << start or wanted & (1 << size) - 1
    return (wanted & -wanted).bit_length() - 1 if wanted else None
