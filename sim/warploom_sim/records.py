"""The binary event files that the replay's test bench writes: layout of a record, reading."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.event_model import Table
from warploom_spec import Config, Field, Packet, layouts

WORD_BITS: Final = 64
_CYCLE: Final = Field("cycle", 64, "cycle in which it stands at the port")
_SM: Final = Field("sm", 16, "number of the SM")
_TICKET: Final = Field("ticket", 32, "ticket")
STALLS: Final = (
    "stall_order",
    "stall_slots",
    "stall_warps",
    "stall_registers",
    "stall_shared",
    "stall_barriers",
    "stall_offer",
)
#: Why a run stopped, by the code in its end record.
FINISHED, SILENT, TOO_MANY = range(3)


def record_packets(config: Config) -> dict[str, Packet]:
    """Return the layout of each event file's records, by the kind of event."""
    fields: Mapping[str, tuple[Field, ...]] = {
        "answers": layouts.launch_answer(config).fields,
        "decisions": (_TICKET, *layouts.index_decision(config).fields),
        "done": layouts.index_decision(config).fields,
        "warps": layouts.packed_warp(config).fields,
        "words": (Field("place", 16, "resident place"), *layouts.launch_words(config).fields),
        "offers": (_SM, _TICKET, *layouts.block_offer(config).fields),
        "completions": (_SM, *layouts.block_completion(config).fields),
        "ended": layouts.end_record(config).fields,
        "errors": (
            Field("source", 16, "0: the dispatcher, 1: the index generator"),
            # Without the pulse's own bit.
            *layouts.error_record(config).fields[1:],
        ),
    }
    return {kind: Packet(kind, (_CYCLE, *rest)) for kind, rest in fields.items()}


def end_packet() -> Packet:
    """Return the layout of the one record that a run writes when it stops."""
    stalls = (Field(name, 32, "stalled cycles") for name in STALLS)
    return Packet("end", (_CYCLE, Field("reason", 32, "why it stopped"), *stalls))


def record_words(packet: Packet) -> int:
    """Return how many 64-bit words a record takes."""
    return -(-packet.bits // WORD_BITS)


def read_records(path: Path, packet: Packet) -> NDArray[np.uint64]:
    """Return a file's records, one row of words each; a record cut at the end is left out."""
    words = np.fromfile(path, "<u8").astype(np.uint64)
    size = record_words(packet)
    return words[: len(words) // size * size].reshape(-1, size)


def decode(rows: NDArray[np.uint64], packet: Packet) -> Table:
    """Take records apart: a column for each field, of a field wider than 64 bits a row of words.

    Events are put in order of cycle, and of SM where there is one: the SMs write side by side.
    """
    table = {
        field.name: _field(rows, packet.offsets[field.name], field.bits) for field in packet.present
    }
    keys = [table[name] for name in ("sm", "cycle") if name in table]
    order = np.lexsort(keys)
    return {name: column[order] for name, column in table.items()}


def _field(rows: NDArray[np.uint64], low: int, bits: int) -> NDArray[np.uint64]:
    if bits <= WORD_BITS:
        return _bits(rows, low, bits)
    parts = [
        _bits(rows, low + start, min(WORD_BITS, bits - start))
        for start in range(0, bits, WORD_BITS)
    ]
    return np.stack(parts, axis=1)


def _bits(rows: NDArray[np.uint64], low: int, bits: int) -> NDArray[np.uint64]:
    word, shift = divmod(low, WORD_BITS)
    value = rows[:, word] >> np.uint64(shift)
    if shift + bits > WORD_BITS:
        value = value | rows[:, word + 1] << np.uint64(WORD_BITS - shift)
    if bits < WORD_BITS:
        value = value & np.uint64((1 << bits) - 1)
    return value
