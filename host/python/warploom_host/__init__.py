"""A driver for Warploom's core in Python; the driver in C stands in ``host/c``."""

from warploom_host.driver import HostDriver
from warploom_host.index_shapes import IndexShapes
from warploom_host.outcomes import CommandFailed, HostTimeout, Outcome, Record, code_name
from warploom_host.streams import Event, Streams

__all__ = [
    "CommandFailed",
    "Event",
    "HostDriver",
    "HostTimeout",
    "IndexShapes",
    "Outcome",
    "Record",
    "Streams",
    "code_name",
]
