"""A driver for Warploom's core in Python; the driver in C stands in ``host/c``."""

from warploom_host.driver import (
    CommandFailed,
    HostDriver,
    HostTimeout,
    Outcome,
    Record,
    code_name,
)
from warploom_host.index_shapes import IndexShapes

__all__ = [
    "CommandFailed",
    "HostDriver",
    "HostTimeout",
    "IndexShapes",
    "Outcome",
    "Record",
    "code_name",
]
