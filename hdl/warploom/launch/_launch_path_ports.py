"""LaunchPath's ports, by configuration."""

from collections.abc import Mapping
from typing import Any, Final

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from warploom_spec import STALL_CAUSES, Config, host_packets, layouts, timing
from warploom_spec.layouts import TICKET_BITS

#: Ports of the dispatcher that are LaunchPath's own, where the dispatcher has them.
_DISPATCHER: Final = (
    *("enable", "lost", "words", "offer", "report", "kill"),
    *(f"stall_{cause}" for cause in STALL_CAUSES),
    "order_table",
)


def _index_ports(config: Config) -> dict[str, Any]:
    decision = layouts.index_decision(config).layout()
    return {
        "read": In(stream.Signature(layouts.index_read(config).layout())),
        "data": Out(stream.Signature(layouts.index_data(config).layout())),
        "written": Out(layouts.packed_warp(config).layout()),
        "written_valid": Out(1),
        "decided": Out(decision),
        "decided_valid": Out(1),
        "decided_ticket": Out(TICKET_BITS),
        "done": Out(decision),
        "done_valid": Out(1),
    }


def _index_error_ports(config: Config) -> dict[str, Any]:
    return {
        "index_error": Out(layouts.error_record(config).layout()),
        "index_error_count": Out(timing(config).error_counter_bits),
    }


def _soft_reset_ports(config: Config) -> dict[str, Any]:
    return {
        "stop_answer": Out(host_packets.stop_answer(config).layout()),
        "closing": In(1),
        "restart": In(1),
        "idle": Out(1),
    }


def launch_path_ports(
    config: Config, dispatcher: Mapping[str, Any], *, soft_reset: bool
) -> dict[str, Any]:
    """Return the ports as the members of a signature; their meaning stands in `LaunchPath`.

    Parameters
    ----------
    config : Config
        Widths, and whether there are indices.
    dispatcher : mapping
        Members of the dispatcher's signature.
    soft_reset : bool
        Whether there are the ports of a soft reset.
    """
    counts = timing(config).error_counter_bits
    record = layouts.error_record(config).layout()
    return {
        "launch": In(stream.Signature(layouts.launch_descriptor(config).layout())),
        "tables": In(config.max_tables),
        # The stubs lack `init`.
        "room": Out(1, init=1),  # type: ignore[call-arg]
        "answer": Out(layouts.launch_answer(config).layout()),
        "stop": In(stream.Signature(layouts.launch_stop(config).layout())),
        "clear_stream": In(stream.Signature(config.stream_bits)),
        "ended": Out(stream.Signature(layouts.end_record(config).layout())),
        "error": Out(record),
        "error_count": Out(counts),
        **{name: dispatcher[name] for name in _DISPATCHER if name in dispatcher},
        **(_index_ports(config) if config.makes_indices else {}),
        "dispatch_error": Out(record),
        "dispatch_error_count": Out(counts),
        **(_index_error_ports(config) if config.makes_indices else {}),
        **(_soft_reset_ports(config) if soft_reset else {}),
    }
