"""Bits of each block's ports, from the packets of the specification and not from the RTL."""

from collections.abc import Callable
from typing import Final

from warploom_spec import (
    STALL_CAUSES,
    Config,
    host_packets,
    layouts,
    loop_packets,
    queue_packets,
    resident_packets,
    sm_packets,
)
from warploom_spec.packet import Packet
from warploom_spec.resident_packets import record_word, resident_block, resident_command
from warploom_spec.resources import RESOURCES
from warploom_spec.timing import timing

#: Port -> bits; a stream's valid and ready are counted with it.
Ports = dict[str, int]
Layout = Callable[[Config], Packet]


def _streams(config: Config, **ports: Layout) -> Ports:
    return {name: layout(config).bits + 2 for name, layout in ports.items()}


def _signals(config: Config, **ports: Layout) -> Ports:
    return {name: layout(config).bits for name, layout in ports.items()}


def _error(config: Config, prefix: str = "") -> Ports:
    count = {f"{prefix}error_count": timing(config).error_counter_bits}
    return _signals(config, **{f"{prefix}error": layouts.error_record}) | count


def _launch_check(config: Config) -> Ports:
    streams = _streams(config, i=layouts.launch_descriptor, o=layouts.checked_launch)
    return streams | {"tables": config.max_tables, "refused": 1}


def _filter_front(config: Config) -> Ports:
    streams = _streams(
        config, i=layouts.index_config, decision=layouts.index_decision, done=layouts.index_decision
    )
    pulses = _signals(config, accepted=layouts.index_region)
    bits = {"cancel": 1, "needs_release": 1, "release": config.entry_bits + 2}
    return streams | pulses | _error(config) | bits


def _config_filter(config: Config) -> Ports:
    return _filter_front(config) | _streams(config, o=layouts.index_config) | {"finished": 1}


def _index_iterator(config: Config) -> Ports:
    return _streams(config, i=layouts.index_config, o=layouts.index_lanes)


def _index_packer(config: Config) -> Ports:
    return _streams(config, i=layouts.index_lanes, o=layouts.packed_warp)


def _index_unpacker(config: Config) -> Ports:
    widths = zip("xyz", layouts.WIDTH_FIELD_BITS, strict=True)
    index = _signals(config, index=layouts.thread_index)
    return index | {"word": config.word_bits} | {f"width_{axis}": bits for axis, bits in widths}


def _memory_read(config: Config) -> Ports:
    return _streams(config, read=layouts.index_read, data=layouts.index_data)


def _index_memory(config: Config) -> Ports:
    accepted = _signals(config, accepted=layouts.index_region)
    return accepted | _streams(config, write=layouts.packed_warp) | _memory_read(config)


def _written(config: Config) -> Ports:
    return _signals(config, written=layouts.packed_warp) | {"written_valid": 1}


def _index_generator(config: Config) -> Ports:
    return _filter_front(config) | _streams(config, write=layouts.packed_warp)


def _index_generator_with_memory(config: Config) -> Ports:
    return _filter_front(config) | _written(config) | _memory_read(config)


def _incremental_scheduler(config: Config) -> Ports:
    streams = _streams(
        config, i=layouts.schedule_request, read=layouts.index_read, data=layouts.index_data
    )
    issue = {"issue": config.cores * layouts.warp_issue(config).bits}
    word = _signals(config, word=layouts.index_data)
    return streams | issue | word | {"stall": 1, "finished": 1}


def _grid_walker(config: Config) -> Ports:
    return _streams(config, i=layouts.grid_walk, o=layouts.walked_block) | {"flush": 1}


def _block_dispatcher(config: Config) -> Ports:
    packets, streams = resident_packets, 1 << config.stream_bits
    report = _streams(config, report=layouts.block_report)["report"]
    table = _streams(config, order_swap=layouts.order_swap)
    levels = ("stop", "hold", "resident", "begun", "open", "busy", "yields", "kill")
    causes = (*RESOURCES, "offer")
    return {
        **_streams(config, start=packets.resident_start, ended=packets.resident_end),
        **_signals(config, block=packets.resident_block),
        **dict.fromkeys(levels, streams),
        **dict.fromkeys(("enable", "offer", "lost"), config.sms),
        **dict.fromkeys(("restart", "no_sm"), 1),
        **dict.fromkeys(("clock", "ended_first", "ended_cycles"), 32),
        **{f"stall_{cause}": timing(config).stall_counter_bits for cause in causes},
        "fetch": packets.resident_entry_bits(config),
        "report": config.sms * report,
        **(table if config.has_order_table else {}),
        **_error(config),
    }


def _resident_sms(config: Config) -> Ports:
    """The resident dispatcher's ports that LaunchPath hands on."""
    table = _streams(config, order_swap=layouts.order_swap)
    bits = timing(config).stall_counter_bits
    return {
        **({"order_swap": table["order_swap"]} if config.has_order_table else {}),
        **{f"stall_{cause}": bits for cause in STALL_CAUSES if cause != "order"},
        "offer": config.sms,
        "block": resident_block(config).bits,
        "words": layouts.launch_words(config).bits,
        "report": config.sms * _streams(config, report=layouts.block_report)["report"],
        "kill": 1 << config.stream_bits,
        "enable": config.sms,
        "lost": config.sms,
        "no_sm": 1,
    }


def _kernel_queue(config: Config) -> Ports:
    packets, streams = resident_packets, 1 << config.stream_bits
    levels = ("hold", "stop", "begun", "busy", "open", "yields")
    ones = ("pace", "records_left", "no_sm", "record_taken", "soft_reset_active", "restart", "idle")
    indices = {
        **_streams(config, request=layouts.index_config, decision=layouts.index_decision),
        **dict.fromkeys(("needs_release", "cancel", "made"), 1),
        "release": config.entry_bits + 2,
    }
    return {
        **_streams(
            config,
            checked=packets.resident_launch,
            start=packets.resident_start,
            ended=packets.resident_end,
            command=resident_command,
            abort=queue_packets.launch_abort,
        ),
        **_signals(config, sent=packets.resident_sent, words=layouts.launch_words),
        **_queue_pulses(config),
        **dict.fromkeys(levels, streams),
        **dict.fromkeys(("launch_timeout", "clock", "ended_first", "ended_cycles"), 32),
        **dict.fromkeys(ones, 1),
        **(indices if config.makes_indices else {}),
        "clear_stream": config.stream_bits + 2,
        "room": 1 << config.priority_bits,
        "fetch": packets.resident_entry_bits(config),
    }


def _queue_pulses(config: Config) -> Ports:
    """What KernelQueue tells, which LaunchPath hands on."""
    packets = queue_packets
    loops = _signals(config, loop_end=loop_packets.loop_end) if config.has_loops else {}
    return loops | _signals(
        config,
        answer=packets.queue_answer,
        command_answer=packets.queue_code,
        abort_answer=packets.queue_code,
        killed=packets.queue_stream,
        timeline=packets.timeline_step,
        record=record_word,
    )


def _oldest(config: Config) -> Ports:
    """What RecordQueue shows, which LaunchPath hands on."""
    return {
        "oldest": queue_packets.final_record_words(config).layout().size,
        "records": config.records.bit_length(),
    }


def _record_queue(config: Config) -> Ports:
    return {
        **_signals(config, record=record_word),
        **_oldest(config),
        **dict.fromkeys(("pop", "record_taken"), 1),
    }


def _launch_path(config: Config) -> Ports:
    packets = queue_packets
    indices = {
        **_memory_read(config),
        **_written(config),
        **_error(config, "index_"),
        **_signals(config, decided=layouts.index_decision, done=layouts.index_decision),
        **dict.fromkeys(("decided_valid", "done_valid"), 1),
    }
    return {
        **_streams(
            config,
            launch=packets.queued_launch,
            abort=packets.launch_abort,
            command=resident_command,
        ),
        **_queue_pulses(config),
        **_resident_sms(config),
        **_error(config, "dispatch_"),
        **(indices if config.makes_indices else {}),
        **dict.fromkeys(("pop", "soft_reset_active", "restart", "idle"), 1),
        "clear_stream": config.stream_bits + 2,
        "records_left": 1,
        "tables": config.max_tables,
        "room": 1 << config.priority_bits,
        "launch_timeout": 32,
        "clock": 64,
        **_oldest(config),
    }


def _mailbox(config: Config) -> Ports:
    units, packets = config.units, host_packets
    each = {
        "run": packets.unit_run,
        "done": packets.unit_done,
        "error": packets.unit_error,
        "result": packets.unit_result,
    }
    ones = ("write_refused", "records_left", "clearing", "completed", "soft_reset_active")
    return {
        **_signals(
            config,
            write=packets.bus_write,
            read=packets.bus_read,
            answer=packets.bus_answer,
            launch_answer=queue_packets.queue_answer,
            command_answer=queue_packets.queue_code,
            abort_answer=queue_packets.queue_code,
        ),
        **{name: units * layout(config).bits for name, layout in each.items()},
        **dict.fromkeys(("missing", "unit_reset", "disconnected"), units),
        **_streams(
            config,
            launch=queue_packets.queued_launch,
            command=resident_command,
            abort=queue_packets.launch_abort,
        ),
        **dict.fromkeys((*ones, "waiting"), 1),
        **({**_loops(config), "loop_result": 32} if config.has_loops else {}),
        "room": 1 << config.priority_bits,
    }


def _loops(config: Config) -> Ports:
    """What Mailbox and LoopExpander tell each other."""
    packets = loop_packets
    return _signals(
        config, begin=packets.loop_begin, answers=packets.loop_answers, step=packets.loop_step
    )


def _loop_expander(config: Config) -> Ports:
    packets = host_packets
    ones = ("write_refused", "records_left", "soft_reset_active")
    return {
        **_signals(
            config,
            write=packets.bus_write,
            read=packets.bus_read,
            answer=packets.bus_answer,
            loop_end=loop_packets.loop_end,
        ),
        **_loops(config),
        **dict.fromkeys(ones, 1),
        "result": 32,
        "room": 1 << config.priority_bits,
        "loop_stop": config.sections,
    }


def _front_end(config: Config) -> Ports:
    axil = _streams(
        config,
        aw=host_packets.bus_address,
        w=host_packets.bus_data,
        ar=host_packets.bus_address,
        r=host_packets.bus_read_answer,
    )
    of_core = _streams(config, start=host_packets.core_start, result=host_packets.core_result)
    # Code and argument pointers; arrived and failed; the failure; release and cancel.
    cores = sum(of_core.values()) + 2 * 64 + 2 * config.cores_per_unit
    cores += host_packets.FAILURE_BITS + 2
    read = layouts.index_read(config).bits + 2
    indices = {
        "read": config.sms * read,
        "data": layouts.index_data(config).bits,
        "data_valid": config.sms,
    }
    sms = ("words", "block", "offer", "report", "kill")
    return {
        # B is two bits of response and its handshake.
        "axil": sum(axil.values()) + 2 + 2,
        "irq": 1,
        "cores": config.units * cores,
        **{name: bits for name, bits in _resident_sms(config).items() if name in sms},
        **(indices if config.makes_indices else {}),
    }


def _sm_side(config: Config) -> Ports:
    return {"words": layouts.launch_words(config).bits, "kill": 1 << config.stream_bits}


def _resource_ranges(config: Config) -> Ports:
    streams = _streams(config, offer=resident_block, o=sm_packets.placed_block)
    report = _signals(config, report=layouts.block_report)
    return _sm_side(config) | streams | report | {"report_valid": 1, "held_back": 1}


def _block_to_warps(config: Config) -> Ports:
    streams = _streams(
        config,
        offer=sm_packets.placed_block,
        report=layouts.block_report,
        warp=sm_packets.warp_start,
    )
    signals = _signals(
        config,
        block=sm_packets.placed_block,
        ended=sm_packets.warp_end,
        over=layouts.block_report,
    )
    dropped = {"dropped": config.slot_bits + 2}
    return _sm_side(config) | streams | signals | dropped | {"ended_valid": 1, "over_valid": 1}


def _block_at_a_time(config: Config) -> Ports:
    streams = _streams(config, report=layouts.block_report)
    signals = _signals(
        config, block=resident_block, running=resident_block, running_words=layouts.launch_words
    )
    ones = dict.fromkeys(("offer", "core_reset", "start", "done", "fault"), 1)
    return _sm_side(config) | streams | signals | ones


def _divider(config: Config) -> Ports:
    streams = _streams(config, i=layouts.index_config)
    lanes = config.warp_size * layouts.thread_index(config).bits
    return streams | {"o": lanes + config.warp_size + 2}


PORTS: Final[dict[str, Callable[[Config], Ports]]] = {
    "LaunchCheck": _launch_check,
    "ConfigFilter": _config_filter,
    "IndexIterator": _index_iterator,
    "IndexPacker": _index_packer,
    "IndexUnpacker": _index_unpacker,
    "IndexMemory": _index_memory,
    "IndexGenerator": _index_generator,
    "IndexGenerator+IndexMemory": _index_generator_with_memory,
    "IncrementalScheduler": _incremental_scheduler,
    "GridWalker": _grid_walker,
    "BlockDispatcher": _block_dispatcher,
    "KernelQueue": _kernel_queue,
    "RecordQueue": _record_queue,
    "LaunchPath": _launch_path,
    "Mailbox": _mailbox,
    "LoopExpander": _loop_expander,
    "FrontEnd": _front_end,
    "ResourceRanges": _resource_ranges,
    "BlockToWarps": _block_to_warps,
    "BlockAtATime": _block_at_a_time,
    "DividerIndexGenerator": _divider,
}
