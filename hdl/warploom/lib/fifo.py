"""Amaranth's FIFOs, with the same name of their memory on every Python.

Amaranth reads a name from the line `storage = m.submodules.storage = Memory(...)` of its FIFOs.
From Python 3.13 on it does not find the name there.
"""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import fifo

from warploom.lib.rows import style


class SyncFIFO(fifo.SyncFIFO):
    """Amaranth's FIFO in which a word is read in the cycle after it was written."""

    def elaborate(self, platform: Any) -> Module:
        """Return Amaranth's module with the memory's name."""
        m = _named(super().elaborate(platform))
        m.submodules.storage.attrs.update(style(self.depth))
        return m


class SyncFIFOBuffered(fifo.SyncFIFOBuffered):
    """Amaranth's FIFO for block memory, with a register at its output."""

    def elaborate(self, platform: Any) -> Module:
        """Return Amaranth's module with the memory's name."""
        return _named(super().elaborate(platform))


def _named(m: Module) -> Module:
    m.submodules.storage.data.name = "storage"
    return m
