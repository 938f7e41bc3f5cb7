"""The host's side of a kernel: its ELF file, its buffers and arguments in memory."""

from simt_host.kernel_elf import KernelElf, read_kernel
from simt_host.memory_image import MEMORY_BITS, MEMORY_BYTES, Buffer, MemoryImage, read_buffer

__all__ = [
    "MEMORY_BITS",
    "MEMORY_BYTES",
    "Buffer",
    "KernelElf",
    "MemoryImage",
    "read_buffer",
    "read_kernel",
]
