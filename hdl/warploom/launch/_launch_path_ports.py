"""Ports that LaunchPath hands on from its parts."""

from typing import Any, Final

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from warploom.dispatch.block_dispatcher import STALLS
from warploom_spec import Config, layouts, timing

#: KernelQueue's ports that are LaunchPath's, too.
QUEUE_INPUTS: Final = ("launch_timeout", "soft_reset_active", "restart")
QUEUE_STREAMS: Final = ("command", "abort", "clear_stream")
QUEUE_OUTPUTS: Final = (
    "room",
    "records_left",
    "answer",
    "command_answer",
    "abort_answer",
    "killed",
    "timeline",
    "record",
    "idle",
)
#: BlockDispatcher's ports that are LaunchPath's, too, but for `report` and `order_swap`.
DISPATCHER_OUTPUTS: Final = (
    "offer",
    "block",
    "kill",
    "lost",
    "no_sm",
    *(f"stall_{cause}" for cause in STALLS),
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
