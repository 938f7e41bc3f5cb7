"""The packets at SimtCore's ports that are not the product's own."""

from warploom_spec import Config
from warploom_spec.packet import Field, Packet


def memory_request(memory_bits: int) -> Packet:
    """One lane's access to the memory."""
    return Packet(
        "memory_request",
        (
            Field("write", 1, "1: store; 0: load"),
            Field("address", memory_bits - 2, "word"),
            Field("bytes", 4, "bytes of the word that are stored"),
            Field("data", 32, "what is stored"),
        ),
    )


def retired_turn(config: Config) -> Packet:
    """One turn of a warp, after its effects."""
    return Packet(
        "retired_turn",
        (
            Field("slot", config.slot_bits, "block slot"),
            Field("warp", config.warps_bits, "warp of the block"),
            Field("pc", 32, "address of the instruction"),
            Field("lanes", config.warp_size, "lanes that executed it"),
            Field("rd", 5, "register that was written; 0: none"),
            Field("values", 32 * config.warp_size, "what these lanes wrote into it"),
        ),
    )
