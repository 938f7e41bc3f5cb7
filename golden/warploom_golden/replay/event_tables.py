"""Tables of events: columns from rows, index decisions, packed warps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from warploom_golden.oracles.index_reference import packed_warps, widths
from warploom_golden.replay.records import Integers
from warploom_spec import Config, LaunchDescriptor, layouts

if TYPE_CHECKING:
    from warploom_golden.replay.event_filter import Accepted

    #: (ticket, launch number, what was accepted).
    Decisions = Sequence[tuple[int, int, Accepted]]
#: Columns by name, all of one length; uint64, of fields wider than that one row of words an event.
Table = dict[str, NDArray[np.uint64]]


def columns(rows: Sequence[tuple[int, ...]], names: Sequence[str]) -> Table:
    """Return rows of numbers as columns of these names."""
    array = np.array(rows, np.uint64).reshape(len(rows), len(names))
    return {name: array[:, k] for k, name in enumerate(names)}


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


def placed(log: Integers) -> Table:
    """Return cycle, SM and slot of offers or reports."""
    return dict(zip(("cycle", "sm", "slot"), log[:3].view(np.uint64), strict=True))
