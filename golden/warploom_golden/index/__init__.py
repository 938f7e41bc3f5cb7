"""Models of the blocks that make thread indices, and the allocator of their memory."""

from warploom_golden.index.config_filter import ConfigFilter
from warploom_golden.index.index_generator import IndexGenerator
from warploom_golden.index.index_iterator import IndexIterator
from warploom_golden.index.index_memory import IndexMemory
from warploom_golden.index.index_memory_allocator import IndexMemoryAllocator
from warploom_golden.index.index_packer import IndexPacker, IndexUnpacker

__all__ = [
    "ConfigFilter",
    "IndexGenerator",
    "IndexIterator",
    "IndexMemory",
    "IndexMemoryAllocator",
    "IndexPacker",
    "IndexUnpacker",
]
