"""What a block takes of an SM, and why a block waits: two lists that nobody writes twice."""

from typing import Final

from warploom_spec.config import Config

#: What a block takes of an SM: one block slot, and so much of each of the others.
RESOURCES: Final = ("slots", "warps", "registers", "shared", "barriers")
#: Why no block is decided in a cycle; BlockDispatcher has a counter ``stall_<cause>`` for each.
STALL_CAUSES: Final = ("order", *RESOURCES, "offer")


def capacities(config: Config) -> dict[str, int]:
    """Return how much of each resource one SM has."""
    return {
        "slots": config.block_slots,
        "warps": config.warp_slots,
        "registers": config.register_units,
        "shared": config.shared_units,
        "barriers": config.barriers,
    }
