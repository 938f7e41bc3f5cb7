"""The packets of a dispatcher that holds a resident launch for each stream."""

from warploom_spec import layouts, queue_packets
from warploom_spec.codes import AnyCode
from warploom_spec.config import Config
from warploom_spec.errors import ERROR_CODE_BITS, Fate
from warploom_spec.layouts import BLOCK_NUMBER_BITS, FATE_BITS
from warploom_spec.packet import Field, Packet
from warploom_spec.resources import SM_RESOURCES

_AXES = "xyz"


def resident_entry_bits(config: Config) -> int:
    """Return the width of a queue entry's number (at least 1)."""
    return max(1, ((config.queue_depth << config.priority_bits) - 1).bit_length())


def _entry(config: Config) -> Field:
    return Field("entry", resident_entry_bits(config), "the queue's entry of the launch")


def _index_address(config: Config) -> Field:
    return Field("index_address", config.index_address_bits, "first warp of its packed indices")


def _stream(config: Config) -> Field:
    return Field("stream", config.stream_bits, "stream")


def resident_start(config: Config) -> Packet:
    """A launch that becomes its stream's resident one. A block takes one slot, and what it says."""
    return Packet(
        "resident_start",
        (
            _stream(config),
            Field("priority", config.priority_bits, "priority, 0 is the lowest"),
            Field("wait_mode", 1, "1: once begun it is placed to its last block first"),
            *(
                Field(r.name, r.capacity(config).bit_length(), f"{r.unit} of one block")
                for r in SM_RESOURCES
                if r.name != "slots"
            ),
            *(
                Field(f"g{axis}", bits, f"blocks of the grid in {axis}")
                for axis, bits in zip(_AXES, config.grid_bits, strict=True)
            ),
            _index_address(config),
            _entry(config),
        ),
    )


def resident_block(config: Config) -> Packet:
    """A block as it is offered to an SM, without its launch's words."""
    return Packet(
        "resident_block",
        (
            _stream(config),
            Field("slot", config.slot_bits, "block slot on the SM"),
            *(
                Field(f"b{axis}", bits, f"position in the grid in {axis}")
                for axis, bits in zip(_AXES, config.grid_bits, strict=True)
            ),
            Field("block_number", BLOCK_NUMBER_BITS, "blocks of the launch before it, mod 2^32"),
            _index_address(config),
            _entry(config),
            Field("warps", config.warp_slots.bit_length(), "warps of the block"),
        ),
    )


def resident_end(config: Config) -> Packet:
    """What became of a run: the launch is finished, killed or failed."""
    return Packet(
        "resident_end",
        (
            _stream(config),
            Field("fate", FATE_BITS, "warploom_spec.Fate", Fate),
            Field("code", ERROR_CODE_BITS, "0, or the reason of the failure", AnyCode),
        ),
    )


def resident_sent(config: Config) -> Packet:
    """A pulse: a launch goes to LaunchCheck in this cycle."""
    return Packet(
        "resident_sent",
        (Field("valid", 1, "1 for one cycle"), Field("priority", config.priority_bits, "priority")),
    )


def resident_launch(config: Config) -> Packet:
    """A launch behind LaunchCheck, with its waits; of a refused one only its order counts."""
    fields = queue_packets.queue_launch(config).fields
    return Packet("resident_launch", tuple(one for one in fields if one.name != "valid"))


def resident_command(config: Config) -> Packet:
    """PREEMPT, RESUME or ABORT_STREAMS."""
    fields = queue_packets.queue_command(config).fields
    return Packet("resident_command", tuple(one for one in fields if one.name != "valid"))


def resident_plan(config: Config) -> Packet:
    """What preparation and dispatcher need of a launch: it stands in block memory, by entry."""
    start = {one.name for one in resident_start(config).fields}
    indices = layouts.index_config(config).fields if config.makes_indices else ()
    index = {one.name for one in indices}
    names = (start | index | {"mode", "idempotent"}) - {"stream", "entry", "wait_mode", "address"}
    fields = resident_launch(config).fields
    return Packet("resident_plan", tuple(one for one in fields if one.name in names))


def record_word(config: Config) -> Packet:
    """A word of a final record."""
    del config
    return Packet(
        "record_word",
        (
            Field("valid", 1, "1: this cycle has a word"),
            Field("last", 1, "1: the record is complete"),
            Field("word", (queue_packets.FINAL_RECORD_WORDS - 1).bit_length(), "its number"),
            Field("data", 32, "its bits"),
        ),
    )
