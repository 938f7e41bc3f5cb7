"""Ports that LaunchPath hands on from its parts."""

from typing import Any, Final

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from warploom_spec import STALL_CAUSES, Config, layouts, timing

#: Ports of the dispatcher that are its user's own, where the dispatcher has them.
DISPATCHER_PORTS: Final = (
    "enable",
    "lost",
    "words",
    "offer",
    "report",
    "kill",
    *(f"stall_{cause}" for cause in STALL_CAUSES),
    "order_table",
)


def index_ports(config: Config) -> dict[str, Any]:
    """Return the ports of a user of IndexGenerator: IndexMemory's, and those of observers."""
    decision = layouts.index_decision(config).layout()
    return {
        "read": In(stream.Signature(layouts.index_read(config).layout())),
        "data": Out(stream.Signature(layouts.index_data(config).layout())),
        "written": Out(layouts.packed_warp(config).layout()),
        "written_valid": Out(1),
        "decided": Out(decision),
        "decided_valid": Out(1),
        "done": Out(decision),
        "done_valid": Out(1),
    }


def index_error_ports(config: Config) -> dict[str, Any]:
    """Return the ports of IndexGenerator's errors."""
    return {
        "index_error": Out(layouts.error_record(config).layout()),
        "index_error_count": Out(timing(config).error_counter_bits),
    }
