"""Every block of the front end by name, as a component that a configuration generates."""

import importlib
from collections.abc import Callable
from typing import Final

from amaranth.lib import wiring

from warploom_spec import Config, WarploomError

Factory = Callable[[Config], wiring.Component]


def _block(module: str, component: str, **options: bool) -> Factory:
    # Imported only when asked for: a list of names must not cost the import of all the RTL.
    def factory(config: Config) -> wiring.Component:
        made = getattr(importlib.import_module(f"warploom.{module}"), component)(config, **options)
        if not isinstance(made, wiring.Component):
            raise TypeError(f"warploom.{module}.{component} is no component")
        return made

    return factory


BLOCKS: Final[dict[str, Factory]] = {
    "launch_check": _block("launch_check", "LaunchCheck"),
    "config_filter": _block("config_filter", "ConfigFilter"),
    "index_iterator": _block("index_iterator", "IndexIterator"),
    "index_packer": _block("index_packer", "IndexPacker"),
    "index_unpacker": _block("index_packer", "IndexUnpacker"),
    "index_memory": _block("index_memory", "IndexMemory"),
    "index_generator": _block("index_generator", "IndexGenerator"),
    "incremental_scheduler": _block("incremental_scheduler", "IncrementalScheduler"),
    "grid_walker": _block("grid_walker", "GridWalker"),
    "block_dispatcher": _block("block_dispatcher", "BlockDispatcher"),
    "launch_path": _block("launch_path", "LaunchPath"),
}

#: The index generator that ends at the packer, for a user who has a memory.
BARE_INDEX_GENERATOR: Final = _block("index_generator", "IndexGenerator", memory=False)


def block(name: str) -> Factory:
    """Return the block's factory; an unknown name is refused with the list of legal ones."""
    if name not in BLOCKS:
        raise WarploomError(f"block is {name!r}; legal: {', '.join(BLOCKS)}")
    return BLOCKS[name]
