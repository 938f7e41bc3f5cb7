"""Final records in a bench: their words come one after the other, and are joined."""

from collections.abc import Iterator
from typing import Final

from warploom_sim.replay.bench.instances import part
from warploom_spec import Config, queue_packets
from warploom_spec.resident_packets import record_word
from warploom_spec.word_layout import WORD_BITS

#: What is 1 in the cycle of a record's last word.
RECORD_ENDS: Final = "word_last"


def record_fields(config: Config) -> str:
    """Return the fields of a final record, the first one lowest, of the words that came."""
    layout = queue_packets.final_record_words(config).by_name
    fields = [layout[field.name] for field in queue_packets.final_record(config).fields[1:]]
    parts = (f"came[{WORD_BITS * field.word + field.low} +: {field.bits}]" for field in fields)
    return ", ".join(reversed(list(parts)))


def record_parts(config: Config) -> Iterator[str]:
    """Join the words of a final record: in the cycle of its last word all are there."""
    packet = record_word(config)
    bits = WORD_BITS * queue_packets.FINAL_RECORD_WORDS
    number, data = (part("record", packet, name) for name in ("word", "data"))
    yield f"  wire {RECORD_ENDS} = record[0] & {part('record', packet, 'last')};"
    yield f"  reg [{bits - 1}:0] kept;"
    yield "  initial kept = 0;"
    yield f"  wire [{bits - 1}:0] came ="
    yield f"    kept | ({bits}'d0 | (record[0] ? {data} : 0)) << {WORD_BITS} * {number};"
    yield f"  always @(posedge clk) if (!rst) kept <= {RECORD_ENDS} ? 0 : came;"
