"""Reads the sizes of kernels' parameters from the device code inside a CUDA program.

The section ``.nv_fatbin`` holds containers; a container holds, for each architecture, an ELF file
whose sections ``.nv.info.<kernel>`` list the kernel's parameters.
"""

import io
import struct
from collections.abc import Iterator
from typing import Final

from warploom_loops.extra import require

_CONTAINER: Final = 0xBA55ED50
_DEVICE_ELF: Final = 2
_INFO: Final = ".nv.info."
#: Format of an attribute whose header holds its size; number of the attribute of one parameter.
_SIZED, _PARAMETER = 4, 0x17


def kernel_parameters(section: bytes) -> dict[str, tuple[int, ...]]:
    """Return each kernel's parameter sizes in bytes, in order, by the kernel's mangled name.

    A kernel is left out if its device code is compressed, or present as PTX only.

    Parameters
    ----------
    section : bytes
        Content of the section ``.nv_fatbin``.
    """
    kernels: dict[str, tuple[int, ...]] = {}
    for image in _device_images(section):
        elf = require("elftools.elf.elffile").ELFFile(io.BytesIO(image))
        for part in elf.iter_sections():
            if part.name.startswith(_INFO):
                kernels[part.name.removeprefix(_INFO)] = _sizes(part.data())
    return kernels


def _device_images(section: bytes) -> Iterator[bytes]:
    place = 0
    while place + 16 <= len(section):
        magic, _, header, size = struct.unpack_from("<IHHQ", section, place)
        if magic != _CONTAINER:
            place += 8
            continue
        entry, end = place + header, min(place + header + size, len(section))
        while entry + 16 <= end:
            kind, _, header, size = struct.unpack_from("<HHIQ", section, entry)
            body = section[entry + header : entry + header + size]
            if kind == _DEVICE_ELF and body.startswith(b"\x7fELF"):
                yield body
            entry += max(header + size, 8)
        place = max(end, place + 16)


def _sizes(info: bytes) -> tuple[int, ...]:
    found: dict[int, int] = {}
    place = 0
    while place + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, place)
        place += 4
        if form == _SIZED:
            if attribute == _PARAMETER and size >= 12:
                _, ordinal, _, flags = struct.unpack_from("<IHHI", info, place)
                # Bits [31:18] of `flags` are the parameter's size in bytes.
                found[ordinal] = flags >> 18
            place += size
    return tuple(found[ordinal] for ordinal in sorted(found))
