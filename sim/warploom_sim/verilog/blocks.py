"""Every block of the front end by name, as a component that a configuration generates."""

import importlib
from collections.abc import Callable
from typing import Final

from amaranth.lib import wiring

from warploom_spec import Config, WarploomError
from warploom_spec.resident_limits import no_resident_hardware

Factory = Callable[[Config], wiring.Component]


def _block(room: str, component: str, **options: bool) -> Factory:
    # Imported only when asked for: a list of names must not cost the import of all the RTL.
    def factory(config: Config) -> wiring.Component:
        made = getattr(importlib.import_module(f"warploom.{room}"), component)(config, **options)
        if not isinstance(made, wiring.Component):
            raise TypeError(f"warploom.{room}.{component} is no component")
        return made

    return factory


BLOCKS: Final[dict[str, Factory]] = {
    "launch_check": _block("launch", "LaunchCheck"),
    "config_filter": _block("index", "ConfigFilter"),
    "index_iterator": _block("index", "IndexIterator"),
    "index_packer": _block("index", "IndexPacker"),
    "index_unpacker": _block("index", "IndexUnpacker"),
    "index_memory": _block("index", "IndexMemory"),
    "index_generator": _block("index", "IndexGenerator"),
    "incremental_scheduler": _block("sm_side", "IncrementalScheduler"),
    "grid_walker": _block("dispatch", "GridWalker"),
    "block_dispatcher": _block("dispatch", "BlockDispatcher"),
    "kernel_queue": _block("launch", "KernelQueue"),
    "record_queue": _block("launch", "RecordQueue"),
    "launch_path": _block("launch", "LaunchPath"),
    "bus_port": _block("host", "BusPort"),
    "mailbox": _block("host", "Mailbox"),
    "loop_expander": _block("host", "LoopExpander"),
    "execution_unit": _block("host", "ExecutionUnit"),
    "task_units": _block("host", "TaskUnits"),
    "host_registers": _block("host", "HostRegisters"),
    "index_read_arbiter": _block("sm_side", "IndexReadArbiter"),
    "offer_queue": _block("sm_side", "OfferQueue"),
    "resource_ranges": _block("sm_side", "ResourceRanges"),
    "block_to_warps": _block("sm_side", "BlockToWarps"),
    "block_at_a_time": _block("sm_side", "BlockAtATime"),
    "front_end": _block("host", "FrontEnd"),
}

#: Blocks that are there only where something makes indices.
INDEX_BLOCKS: Final = (
    "config_filter",
    "index_iterator",
    "index_packer",
    "index_unpacker",
    "index_memory",
    "index_generator",
    "incremental_scheduler",
    "index_read_arbiter",
)
#: The index generator that ends at the packer, for a user who has a memory.
BARE_INDEX_GENERATOR: Final = _block("index", "IndexGenerator", memory=False)


def absence(name: str, config: Config) -> str:
    """Return why a block is not there with a configuration; an empty text if it is."""
    if name in INDEX_BLOCKS and not config.makes_indices:
        return f"block is {name!r}; legal with index_memory_warps = 0: "
    if name == "loop_expander" and not config.has_loops:
        return f"block is {name!r}; legal with loop_templates = 0: "
    if name == "block_dispatcher" and no_resident_hardware(config):
        return f"{no_resident_hardware(config)}; blocks that are there: "
    return ""


def blocks_of(config: Config) -> tuple[str, ...]:
    """Return the names of the blocks that there are with a configuration."""
    return tuple(name for name in BLOCKS if not absence(name, config))


def block(name: str) -> Factory:
    """Return the block's factory; an unknown name is refused with the list of legal ones."""
    if name not in BLOCKS:
        raise WarploomError(f"block is {name!r}; legal: {', '.join(BLOCKS)}")
    return BLOCKS[name]
