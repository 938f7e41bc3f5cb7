"""The ports of KernelQueue."""

from typing import Any

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts, loop_packets, queue_packets
from warploom_spec.resident_packets import (
    record_word,
    resident_command,
    resident_end,
    resident_entry_bits,
    resident_launch,
    resident_sent,
    resident_start,
)


def queue_ports(config: Config) -> dict[str, Any]:
    """Return the ports by name; those for indices where there are indices."""
    streams, packets = 1 << config.stream_bits, queue_packets
    code = packets.queue_code(config).layout()
    ports: dict[str, Any] = {
        "sent": In(resident_sent(config).layout()),
        "pace": Out(1),
        "room": Out(1 << config.priority_bits),
        "records_left": Out(1),
        "checked": In(stream.Signature(resident_launch(config).layout())),
        "answer": Out(packets.queue_answer(config).layout()),
        "command": In(stream.Signature(resident_command(config).layout())),
        "command_answer": Out(code),
        "abort": In(stream.Signature(packets.launch_abort(config).layout())),
        "abort_answer": Out(code),
        "clear_stream": In(stream.Signature(config.stream_bits)),
        "launch_timeout": In(32),
        "clock": In(32),
        "no_sm": In(1),
        "start": Out(stream.Signature(resident_start(config).layout())),
        "hold": Out(streams),
        "stop": Out(streams),
        **{name: In(streams) for name in ("begun", "busy", "open", "yields")},
        "ended": In(stream.Signature(resident_end(config).layout())),
        "ended_first": In(32),
        "ended_cycles": In(32),
        "fetch": In(resident_entry_bits(config)),
        "words": Out(layouts.launch_words(config).layout()),
        "record": Out(record_word(config).layout()),
        "record_taken": In(1),
        "timeline": Out(packets.timeline_step(config).layout()),
        "killed": Out(packets.queue_stream(config).layout()),
        "soft_reset_active": In(1),
        "restart": In(1),
        "idle": Out(1),
    }
    if config.makes_indices:
        ports |= {
            "request": Out(stream.Signature(layouts.index_config(config).layout())),
            "needs_release": In(1),
            "cancel": Out(1),
            "decision": In(stream.Signature(layouts.index_decision(config).layout())),
            "made": In(1),
            "release": Out(stream.Signature(config.entry_bits)),
        }
    if config.has_loops:
        ports["loop_end"] = Out(loop_packets.loop_end(config).layout())
    return ports
