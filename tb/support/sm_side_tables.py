"""Payloads for the blocks that stand before a core, and the timing tables of their pages."""

import random
from collections.abc import Mapping, Sequence

from warploom_spec import Packet

#: A cell without anything in it.
NONE = "."


def packed(packet: Packet, **fields: int) -> int:
    """Return a packet's word; fields that are not given are 0."""
    return packet.pack({f.name: 0 for f in packet.present} | fields)


def drawn(packet: Packet, rng: random.Random, **fields: int) -> dict[str, int]:
    """Return a packet's fields; those that are not given are random."""
    return {f.name: rng.getrandbits(f.bits) for f in packet.present} | fields


def rows_of(table: str) -> dict[str, list[str]]:
    """Return the cells of a page's timing table by the name of their row."""
    rows = (line.split() for line in table.strip().splitlines())
    return {name: cells for name, *cells in rows}


def named(
    words: Sequence[int | None], valid: Sequence[int | None], names: Mapping[int | None, str]
) -> list[str]:
    """Return what a table calls a port's words in each cycle."""
    return [names[word] if v else NONE for word, v in zip(words, valid, strict=True)]
