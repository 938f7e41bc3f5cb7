"""Thread indices of a block's warps: made once, packed, kept, read by the SMs."""

from warploom.index.config_filter import ConfigFilter
from warploom.index.index_generator import IndexGenerator
from warploom.index.index_iterator import IndexIterator
from warploom.index.index_memory import IndexMemory
from warploom.index.index_packer import IndexPacker, IndexUnpacker

__all__ = [
    "ConfigFilter",
    "IndexGenerator",
    "IndexIterator",
    "IndexMemory",
    "IndexPacker",
    "IndexUnpacker",
]
