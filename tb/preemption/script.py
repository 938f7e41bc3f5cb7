"""Small launches on the preset `tiny`."""

from typing import Any

from warploom_spec import LaunchDescriptor, preset

TINY = preset("tiny")


def kernel(number: int, blocks: int, cycles: int, **fields: Any) -> LaunchDescriptor:
    """Return a launch of small blocks; number and cycles decide how long they are."""
    small = {"block": (8, 1, 1), "warp_registers": 1, "shared": 1}
    return LaunchDescriptor(grid=(blocks, 1, 1), code=number, arguments=cycles, **(small | fields))
