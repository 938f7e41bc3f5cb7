"""The binary event files that the replay's test bench writes: layout of a record, reading."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_tables import Table
from warploom_sim.failure import ProgramError
from warploom_spec import STALL_CAUSES, Config, Field, Packet, layouts, queue_packets
from warploom_spec.resident_packets import record_word, resident_block, resident_start

WORD_BITS: Final = 64
_CYCLE: Final = Field("cycle", 64, "cycle in which it stands at the port")
_SM: Final = Field("sm", 16, "number of the SM")
_TICKET: Final = Field("ticket", 32, "ticket")
#: The dispatcher's stall counters. The host's register of `order` is 0 without one.
STALLS: Final = tuple(f"stall_{cause}" for cause in STALL_CAUSES if cause != "order")
#: LaunchPath's counters of error records, by the ``source`` of a record in ``errors``.
ERROR_COUNTS: Final = ("dispatch_error_count", "index_error_count")
#: Why a run stopped, by the code in its summary record.
FINISHED, SILENT, TOO_MANY = range(3)
#: What a host's record holds. ``ANSWER``: a section's ERROR, RESULT0 and RESULT1. ``POPPED``:
#: RECORD0 to RECORD7. ``LOOKED``: RECORDS, IRQ_STATUS, the threshold written, ``irq`` before and
#: after. ``TRESPASS``: REFUSED, the response to a write that the map does not have, REFUSED,
#: ``irq``. ``ASKED``: ROOM, and the priority of the launch that is to be rung again.
ANSWER, POPPED, LOOKED, TRESPASS, ASKED = range(1, 6)
#: Words of a host's record.
HEARD_WORDS: Final = 8
#: What is wrong with an index read: the block was reported without this warp, and it had time;
#: data came that the SM had not asked for.
LACKS, UNASKED = 1, 2
#: What a closing record has for a cycle: an event file's last record, followed by nothing.
CLOSED: Final = 2**64 - 1


def record_packets(config: Config) -> dict[str, Packet]:
    """Return the layout of each event file's records, by the kind of event.

    Of a pulse its own bit is not written.
    """
    decision = layouts.index_decision(config).fields
    fields: Mapping[str, tuple[Field, ...]] = {
        "answers": queue_packets.queue_answer(config).fields[1:],
        "decisions": decision,
        "done": decision,
        "warps": layouts.packed_warp(config).fields,
        "starts": resident_start(config).fields,
        "words": layouts.launch_words(config).fields,
        "offers": (_SM, _TICKET, *resident_block(config).fields),
        "reports": (_SM, *layouts.block_report(config).fields),
        "record_words": record_word(config).fields[1:],
        "ended": queue_packets.final_record(config).fields[1:],
        "killed": queue_packets.queue_stream(config).fields[1:],
        "timeline": queue_packets.timeline_step(config).fields[1:],
        "errors": (
            Field("source", 16, "0: the dispatcher, 1: the index generator"),
            *layouts.error_record(config).fields[1:],
        ),
    }
    return {kind: Packet(kind, (_CYCLE, *rest)) for kind, rest in fields.items()}


def end_packet() -> Packet:
    """Return the layout of the one record that a run writes when it stops."""
    stalls = (Field(name, 32, "stalled cycles") for name in STALLS)
    errors = (Field(name, 32, "error records") for name in ERROR_COUNTS)
    return Packet("end", (_CYCLE, Field("reason", 32, "why it stopped"), *stalls, *errors))


def index_read_packet(config: Config) -> Packet:
    """Return the layout of the file of the SMs' index reads."""
    return Packet(
        "reads",
        (
            _CYCLE,
            _SM,
            _TICKET,
            Field("warp", 16, "warp of the block"),
            Field("wrong", 16, "`LACKS` or `UNASKED`, else 0"),
            *layouts.index_data(config).fields,
        ),
    )


def heard_packet() -> Packet:
    """Return the layout of the file of all that a host reads; `ANSWER` and the others say what."""
    words = (Field(f"word{k}", 32, "what `kind` says") for k in range(HEARD_WORDS))
    return Packet("heard", (_CYCLE, Field("kind", 16, "what was read"), *words))


def host_packets() -> dict[str, Packet]:
    """Return the layouts of the files of the cycles in which a host sends launches, and pops."""
    number = Field("number", 64, "those before it")
    return {kind: Packet(kind, (_CYCLE, number)) for kind in ("sent", "pops")}


def launched_packet(config: Config) -> Packet:
    """Return the layout of the file of the launches that transfer to LaunchPath."""
    return Packet("launched", (_CYCLE, *queue_packets.queued_launch(config).fields))


def record_words(packet: Packet) -> int:
    """Return how many 64-bit words a record takes."""
    return -(-packet.bits // WORD_BITS)


def run_summary(path: Path) -> Table:
    """Return a run's summary record, its last.

    Raises
    ------
    ProgramError
        If the file does not hold exactly one.
    """
    rows = _read(path, end_packet())
    if len(rows) != 1:
        raise ProgramError(f"event file {path.name} has {len(rows)} records; a run ends with one")
    return columns(rows, end_packet())


def _read(path: Path, packet: Packet) -> NDArray[np.uint64]:
    """Return a file's whole records; refuse what is none."""
    size = record_words(packet)
    data = path.read_bytes() if path.is_file() else b""
    if len(data) % (8 * size):
        raise ProgramError(
            f"event file {path.name} ends in the middle of a record:"
            f" {len(data):,} bytes, {8 * size} a record"
        )
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, size)


def columns(rows: NDArray[np.uint64], packet: Packet) -> Table:
    """Take records apart: a column for each field, of a field wider than 64 bits a row of words."""
    return {
        field.name: _field(rows, packet.offsets[field.name], field.bits) for field in packet.present
    }


def in_order(rows: NDArray[np.uint64], packet: Packet) -> NDArray[np.uint64]:
    """Return records in order of cycle, and of SM where there is one: SMs write side by side."""
    bits = {field.name: field.bits for field in packet.present}
    keys = [
        _field(rows, packet.offsets[name], bits[name]) for name in ("sm", "cycle") if name in bits
    ]
    return rows[np.lexsort(keys)]


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
