"""Packets between the blocks that stand before a core, and the core."""

from warploom_spec import resident_packets
from warploom_spec.config import Config
from warploom_spec.errors import BlockStatus
from warploom_spec.layouts import STATUS_BITS
from warploom_spec.packet import Field, Packet
from warploom_spec.resources import RANGED


def placed_block(config: Config) -> Packet:
    """A block with its ranges of an SM's resources."""
    return Packet(
        "placed_block",
        (
            *resident_packets.resident_block(config).fields,
            *(
                Field(
                    f"{r.name}_first",
                    r.capacity(config).bit_length(),
                    f"first of its {r.unit}",
                )
                for r in RANGED
            ),
        ),
    )


def warp_start(config: Config) -> Packet:
    """A warp to run."""
    return Packet(
        "warp_start",
        (
            Field("slot", config.slot_bits, "block slot of its block"),
            Field("warp", config.warps_bits, "its number in the block"),
            Field("mask", config.warp_size, "lanes that are threads"),
            Field("row", config.index_address_bits, "row of its packed indices"),
        ),
    )


def warp_end(config: Config) -> Packet:
    """Warps of one block that have ended."""
    return Packet(
        "warp_end",
        (
            Field("slot", config.slot_bits, "block slot of their block"),
            Field("status", STATUS_BITS, "how they ended; 3 counts as FAULT", BlockStatus),
            Field("warps", config.warp_slots.bit_length(), "how many"),
        ),
    )
