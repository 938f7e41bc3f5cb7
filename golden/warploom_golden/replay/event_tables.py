"""Tables of events: columns from rows, packed warps, launch words."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from warploom_golden.oracles.index_reference import (
    last_mask,
    packed_warps,
    threads,
    warps,
    widths,
)
from warploom_golden.replay.event_state import Integers
from warploom_spec import Config, LaunchDescriptor, layouts

if TYPE_CHECKING:
    from warploom_golden.replay.event_filter import Accepted

    #: (ticket, launch number, what was accepted).
    Decisions = Sequence[tuple[int, int, Accepted]]
#: (cycle, place, ticket, launch number).
Resident = tuple[int, int, int, int]

#: Columns by name, all of one length; uint64, of fields wider than that one row of words an event.
Table = dict[str, NDArray[np.uint64]]


def columns(rows: Sequence[tuple[int, ...]], names: Sequence[str]) -> Table:
    """Return rows of numbers as columns of these names."""
    array = np.array(rows, np.uint64).reshape(len(rows), len(names))
    return {name: array[:, k] for k, name in enumerate(names)}


def zeros(count: int) -> NDArray[np.uint64]:
    """Return a column of zeros."""
    return np.zeros(count, np.uint64)


def decision_table(decisions: "Decisions") -> Table:
    """Return the index decisions."""
    rows = [(a.decision, ticket, a.hit, a.entry) for ticket, _, a in decisions]
    return columns(rows, ("cycle", "ticket", "hit", "entry"))


def done_table(decisions: "Decisions") -> Table:
    """Return when the indices of each decision are there."""
    rows = [(a.done, a.hit, a.entry) for _, _, a in decisions]
    return columns(rows, ("cycle", "hit", "entry"))


def warp_table(
    decisions: "Decisions", launches: Sequence[LaunchDescriptor], config: Config
) -> Table:
    """Return every packed warp that is written."""
    names = [field.name for field in layouts.packed_warp(config).fields]
    parts: list[Table] = [columns([], ("cycle", *names))]
    parts[0]["words"] = np.zeros((0, _word_count(config)), np.uint64)
    for _, number, accepted in decisions:
        if accepted.hit:
            continue
        launch = launches[number]
        words, mask = packed_warps(launch.block, config)
        count = len(words)
        nth = np.arange(count, dtype=np.uint64)
        bits = np.uint64(1) << np.arange(config.warp_size, dtype=np.uint64)
        part = {
            "cycle": nth + np.uint64(accepted.first_write),
            "address": nth + np.uint64(launch.index_address),
            "words": _join(words, config),
            "mask": mask.astype(np.uint64) @ bits,
            "first": (nth == 0).astype(np.uint64),
            "last": (nth == count - 1).astype(np.uint64),
        }
        for axis, width in zip("xyz", widths(launch.block), strict=True):
            part[f"width_{axis}"] = np.full(count, width, np.uint64)
        parts.append(part)
    return {name: np.concatenate([part[name] for part in parts]) for name in ("cycle", *names)}


def _word_count(config: Config) -> int:
    return -(-config.warp_size * config.word_bits // 64)


def _join(words: NDArray[np.uint32], config: Config) -> NDArray[np.uint64]:
    """Join the lanes' words of each warp to 64-bit words, lane 0 lowest."""
    size = config.word_bits
    lanes = words.astype("<u8").view(np.uint8).reshape(*words.shape, 8)
    bits = np.unpackbits(lanes, axis=2, bitorder="little")[:, :, :size].reshape(len(words), -1)
    padded = np.zeros((len(words), 64 * _word_count(config)), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def word_table(
    words: Sequence[Resident], launches: Sequence[LaunchDescriptor], config: Config
) -> Table:
    """Return the launch words of each place from the cycle on in which they stand there."""
    names = [field.name for field in layouts.launch_words(config).fields]
    rows = []
    for cycle, place, ticket, number in words:
        launch = launches[number]
        values = launch.values(config) | {
            "ticket": ticket,
            "threads": threads(launch.block),
            "warps": warps(launch.block, config.warp_size),
            "last_mask": last_mask(launch.block, config.warp_size),
        }
        for axis, width in zip("xyz", widths(launch.block), strict=True):
            values[f"width_{axis}"] = width
        rows.append((cycle, place, *(values[name] for name in names)))
    return columns(rows, ("cycle", "place", *names))


def placed(log: Integers) -> Table:
    """Return cycle, SM and slot of offers or reports."""
    return dict(zip(("cycle", "sm", "slot"), log[:3].view(np.uint64), strict=True))


def offer_table(
    log: Integers,
    places: NDArray[np.int64],
    launched: Mapping[int, LaunchDescriptor],
    config: Config,
) -> Table:
    """Return offers, in order of decision.

    Parameters
    ----------
    log : array of int64
        Rows cycle, SM, slot, ticket, block number.
    places : array of int64
        The place of each offer's launch.
    launched : mapping of int to LaunchDescriptor
        The launches by their tickets.
    config : Config
        The configuration.
    """
    seen, nth = np.unique(log[3], return_inverse=True)
    rows = []
    for ticket in seen.tolist():
        launch = launched[ticket]
        count = warps(launch.block, config.warp_size)
        shape = (ticket, launch.index_address, count, *widths(launch.block))
        rows.append((*shape, *launch.grid[:2]))
    names = ("ticket", "index_address", "index_warps", "width_x", "width_y", "width_z")
    shapes = columns(rows, (*names, "gx", "gy"))
    table = placed(log)
    table["task"] = zeros(len(table["cycle"]))
    table["place"] = places.astype(np.uint64)
    for name in names:
        table[name] = shapes[name][nth]
    block = log[4].view(np.uint64)
    table["block_number"] = block % (1 << layouts.BLOCK_NUMBER_BITS)
    across, table["bx"] = np.divmod(block, shapes["gx"][nth])
    table["bz"], table["by"] = np.divmod(across, shapes["gy"][nth])
    return table
