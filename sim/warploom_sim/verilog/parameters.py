"""Which fields of a configuration each block depends on."""

import dataclasses
from collections.abc import Iterator
from typing import Final

from warploom_spec import Config

_SHAPES: Final = ("warp_size", "max_threads", "index_memory_warps")
_PACKED: Final = (*_SHAPES, "word_bits")
_HISTORY: Final = (*_PACKED, "history_entries", "reference_bits", "step_from_host")
_SM: Final = ("block_slots", "warp_slots", "register_units", "shared_units", "barriers")
_CELLS: Final = ("register_cell", "shared_cell")
_LAUNCH: Final = ("inline_args", "stream_bits", "priority_bits", "max_tables")
_LOOPS: Final = ("loop_templates", "loop_sections")
_DISPATCHER: Final = (
    "warp_size",
    "max_threads",
    "index_memory_warps",
    *_SM,
    *_LAUNCH,
    "grid_bits",
    "sms",
    "history_entries",
    "policy",
    "reclaim",
    "kill_timeout",
    "sm_kill",
)
_RESIDENTS: Final = (
    "index_memory_warps",
    *_SM,
    "stream_bits",
    "priority_bits",
    "grid_bits",
    "sms",
    "queue_depth",
    "policy",
    "reclaim",
    "kill_timeout",
    "sm_kill",
)
_BEFORE_A_CORE: Final = (
    "warp_size",
    "max_threads",
    "index_memory_warps",
    *_SM,
    "inline_args",
    "stream_bits",
    "priority_bits",
    "queue_depth",
    "grid_bits",
)
_QUEUE: Final = (
    "warp_size",
    "max_threads",
    "index_memory_warps",
    *_SM,
    *_LAUNCH,
    "grid_bits",
    "history_entries",
    "sm_kill",
    "queue_depth",
    "launch_waits",
    *_LOOPS,
    "step_from_host",
)
_MAILBOX: Final = (
    *_LAUNCH,
    "launch_waits",
    *_LOOPS,
    "index_memory_warps",
    "sections",
    "units",
    "cores_per_unit",
)
_ALL: Final = tuple(field.name for field in dataclasses.fields(Config))

#: By the block's name. A test watches which fields the RTL reads.
PARAMETERS: Final[dict[str, tuple[str, ...]]] = {
    "launch_check": (*_PACKED, *_SM, *_CELLS, *_LAUNCH, "grid_bits"),
    "config_filter": (*_SHAPES, "history_entries", "reference_bits", "step_from_host"),
    "index_iterator": (*_PACKED, "step_from_host"),
    "index_packer": ("warp_size", "index_memory_warps", "word_bits"),
    "index_unpacker": ("word_bits",),
    "index_memory": _PACKED,
    "index_generator": _HISTORY,
    "incremental_scheduler": (*_PACKED, "cores"),
    "grid_walker": ("grid_bits",),
    "block_dispatcher": _RESIDENTS,
    "kernel_queue": _QUEUE,
    "record_queue": ("queue_depth", "loop_templates"),
    "launch_path": (*_HISTORY, *_DISPATCHER, *_QUEUE, *_CELLS),
    "bus_port": (),
    "mailbox": _MAILBOX,
    "loop_expander": ("inline_args", "priority_bits", "launch_waits", *_LOOPS, "sections"),
    "execution_unit": ("cores_per_unit", "core_timeout"),
    "task_units": (*_MAILBOX, "core_timeout"),
    "host_registers": _ALL,
    "index_read_arbiter": (*_SHAPES, "sms"),
    "offer_queue": (*_BEFORE_A_CORE, "sm_kill"),
    "resource_ranges": (*_BEFORE_A_CORE, *_CELLS),
    "block_to_warps": _BEFORE_A_CORE,
    "block_at_a_time": (*_BEFORE_A_CORE, "sm_kill"),
    "front_end": _ALL,
}
#: These matter only where the property or field beside them is true. Registers tell of them all.
_ONLY_WITH: Final = {
    "word_bits": "makes_indices",
    "reference_bits": "makes_indices",
    "step_from_host": "makes_indices",
    "kill_timeout": "sm_kill",
    "loop_sections": "has_loops",
}


def parameters(block: str, config: Config) -> Iterator[str]:
    """Give the names of the fields that a block depends on with a configuration, in their order."""
    named = PARAMETERS[block]
    for name in _ALL:
        needed = _ONLY_WITH.get(name)
        if name in named and (named == _ALL or needed is None or getattr(config, needed)):
            yield name
