"""A launch descriptor made from what a CUDA trace says."""

import dataclasses
from dataclasses import dataclass, replace
from typing import Final

from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import WarploomError
from warploom_spec.resources import AMOUNT_FIELDS

REGISTER_UNIT = 256
SHARED_UNIT_BYTES = 128
RESERVED_SHARED_BYTES = 1024
#: Fields of a launch that are the same behind LaunchCheck, in the packets' order: what the SM gets
#: beside the inline words, what the launch asks for (`AMOUNT_FIELDS`), and its order.
KERNEL_FIELDS: Final = ("code", "arguments", "address_space")
AXIS_FIELDS: Final = ("gx", "gy", "gz", "dx", "dy", "dz")
ORDER_FIELDS: Final = ("stream", "priority", "idempotent", "mode", "table")


@dataclass(frozen=True, kw_only=True)
class LaunchDescriptor:
    """One kernel launch: fields as in ``layouts.launch_descriptor``, one attribute each group.

    Attributes
    ----------
    grid, block : tuple[int, int, int]
        Blocks of the grid, threads of the block, (x, y, z).
    warp_registers, shared, barriers : int
        Register units of one warp, shared-memory units and barriers of one block.
    index_address : int
        First warp of its packed indices.
    stream, priority, idempotent, mode, table : int
        Order and preemption.
    code, arguments, address_space : int
        Kernel words; ``inline`` holds the argument words that travel along.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    warp_registers: int = 0
    shared: int = 0
    barriers: int = 1
    index_address: int = 0
    stream: int = 0
    priority: int = 0
    idempotent: int = 0
    mode: int = 0
    table: int = 0
    code: int = 0
    arguments: int = 0
    address_space: int = 0
    inline: tuple[int, ...] = ()

    @classmethod
    def from_cuda(
        cls,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        registers: int,
        shared_bytes: int,
        config: Config,
        *,
        reserved_bytes: int = RESERVED_SHARED_BYTES,
    ) -> "LaunchDescriptor":
        """Make a descriptor with the rounding rules of the architecture.

        Registers of a warp count in units of 256; shared memory in units of 128 bytes, plus what
        is reserved for a block; one barrier.

        Parameters
        ----------
        grid, block : tuple[int, int, int]
            As the trace gives them.
        registers : int
            Registers per thread.
        shared_bytes : int
            Shared memory of a block in bytes, static and dynamic.
        config : Config
            Gives the warp size.
        reserved_bytes : int
            Shared memory that a block takes beside its own.

        Raises
        ------
        WarploomError
            If a value does not fit the descriptor's field.
        """
        launch = cls(
            grid=grid,
            block=block,
            warp_registers=-(-registers * config.warp_size // REGISTER_UNIT),
            shared=-(-(shared_bytes + reserved_bytes) // SHARED_UNIT_BYTES),
        )
        launch.pack(config)
        return launch

    def at(self, index_address: int, stream: int | None = None) -> "LaunchDescriptor":
        """Return a copy with another index address (and stream)."""
        changed = replace(self, index_address=index_address)
        return changed if stream is None else replace(changed, stream=stream)

    def values(self, config: Config) -> dict[str, int]:
        """Return the fields of ``layouts.launch_descriptor`` with their values."""
        if len(self.inline) > config.inline_args:
            raise WarploomError(
                f"inline has {len(self.inline)} words; legal: 0 to {config.inline_args}"
            )
        result = {
            name: int(getattr(self, name))
            for name in (*KERNEL_FIELDS, "index_address", *AMOUNT_FIELDS, *ORDER_FIELDS)
        }
        for axis, g, d in zip("xyz", self.grid, self.block, strict=True):
            result |= {f"g{axis}": g, f"d{axis}": d}
        for k in range(config.inline_args):
            result[f"inline{k}"] = self.inline[k] if k < len(self.inline) else 0
        return result

    def pack(self, config: Config) -> int:
        """Return the descriptor's word; a value that does not fit its field is refused by name."""
        return layouts.launch_descriptor(config).pack(self.values(config))


def check_amount_fields() -> None:
    """Demand that `LaunchDescriptor` has an attribute for what a block takes of each resource.

    Raises
    ------
    WarploomError
        Names the attribute and the file.
    """
    attributes = {field.name for field in dataclasses.fields(LaunchDescriptor)}
    for name in AMOUNT_FIELDS:
        if name not in attributes:
            raise WarploomError(
                f"LaunchDescriptor has no attribute {name!r} (spec/warploom_spec/launch.py)"
            )


check_amount_fields()
