"""LaunchPath's ports, by configuration."""

from collections.abc import Mapping
from typing import Any, Final

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from warploom_spec import STALL_CAUSES, Config, host_packets, layouts, timing
from warploom_spec.layouts import TICKET_BITS

#: Ports of the dispatcher that are its user's own, where the dispatcher has them.
DISPATCHER_PORTS: Final = (
    *("enable", "lost", "words", "offer", "report", "kill"),
    *(f"stall_{cause}" for cause in STALL_CAUSES),
    "order_table",
)


def index_ports(config: Config, *, ticket: bool) -> dict[str, Any]:
    """Return the ports of a user of IndexGenerator: IndexMemory's, and those of observers.

    ``ticket``: whether a decision's ticket is one of them.
    """
    decision = layouts.index_decision(config).layout()
    return {
        "read": In(stream.Signature(layouts.index_read(config).layout())),
        "data": Out(stream.Signature(layouts.index_data(config).layout())),
        "written": Out(layouts.packed_warp(config).layout()),
        "written_valid": Out(1),
        "decided": Out(decision),
        "decided_valid": Out(1),
        **({"decided_ticket": Out(TICKET_BITS)} if ticket else {}),
        "done": Out(decision),
        "done_valid": Out(1),
    }


def index_error_ports(config: Config) -> dict[str, Any]:
    """Return the ports of IndexGenerator's errors."""
    return {
        "index_error": Out(layouts.error_record(config).layout()),
        "index_error_count": Out(timing(config).error_counter_bits),
    }


def _soft_reset_ports(config: Config) -> dict[str, Any]:
    return {
        # A pulse: whether the stop that was looked at in the last cycle found its launch.
        "stop_answer": Out(host_packets.stop_answer(config).layout()),
        # From the next cycle on refuse launches, take those back that wait, kill those that are
        # resident.
        "soft_reset_active": In(1),
        # At the end of this cycle take the values of a reset; but tickets, records and lost SMs
        # stay. A builder raises it while `soft_reset_active` and, in the last cycle, `idle` are 1.
        "restart": In(1),
        # No launch is here.
        "idle": Out(1),
    }


def launch_path_ports(
    config: Config, dispatcher: Mapping[str, Any], *, soft_reset: bool
) -> dict[str, Any]:
    """Return LaunchPath's ports as the members of a signature.

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
        # Launches; `ready` is always 1.
        "launch": In(stream.Signature(layouts.launch_descriptor(config).layout())),
        # Bit h - 1: mapping table h exists.
        "tables": In(config.max_tables),
        # A launch that is sent in this cycle will not be refused because a queue is full. A
        # register. (The stubs lack `init`.)
        "room": Out(1, init=1),  # type: ignore[call-arg]  # no init in the stubs
        # A pulse: a ticket or a refusal for each launch, in order, `timing.launch_check` + 1 cycles
        # after the launch was taken.
        "answer": Out(layouts.launch_answer(config).layout()),
        # Kill, drain or take back a launch. One that is handed over or accepted in the cycle in
        # which its stop is looked at is looked at again in the next.
        "stop": In(stream.Signature(layouts.launch_stop(config).layout())),
        # Clears a broken stream; a break in the same cycle wins.
        "clear_stream": In(stream.Signature(config.stream_bits)),
        # One final record for each ticket; the dispatcher's before one from the queue.
        "ended": Out(stream.Signature(layouts.end_record(config).layout())),
        # `STOP_UNKNOWN`, one cycle after its stop was looked at; the number of such errors.
        "error": Out(record),
        "error_count": Out(counts),
        **{name: dispatcher[name] for name in DISPATCHER_PORTS if name in dispatcher},
        **(index_ports(config, ticket=True) if config.makes_indices else {}),
        "dispatch_error": Out(record),
        "dispatch_error_count": Out(counts),
        **(index_error_ports(config) if config.makes_indices else {}),
        **(_soft_reset_ports(config) if soft_reset else {}),
    }
