"""The replay's test bench: Verilog around the hardware, generated from its ports.

The bench holds no cleverness of its own: the launch source, the stand-in SMs, the hardware, and for
each kind of event a line that writes it to a file with its cycle number, and one that counts it: a
file ends with a closing record, which holds the count. It stops by itself.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from warploom_sim.replay import replay_waves
from warploom_sim.replay.bench.axi_bench import axi_host
from warploom_sim.replay.bench.connect import connect
from warploom_sim.replay.bench.driver_bench import driver_host, driver_ports
from warploom_sim.replay.bench.final_records import RECORD_ENDS, record_fields, record_parts
from warploom_sim.replay.bench.index_read_bench import index_readers
from warploom_sim.replay.bench.instances import (
    Port,
    hardware,
    of_block,
    of_words,
    offered,
    part,
    reported,
    sm_core,
)
from warploom_sim.replay.bench.records import (
    CLOSED,
    ERROR_COUNTS,
    FINISHED,
    SILENT,
    STALLS,
    TOO_MANY,
    end_packet,
    heard_packet,
    host_packets,
    index_read_packet,
    launched_packet,
    record_packets,
    record_words,
)
from warploom_sim.replay.replay_waves import RESET_CYCLES
from warploom_spec import Config, Packet, layouts, queue_packets, timing
from warploom_spec.resident_packets import record_word

#: Module name of the Verilog in the middle, by who sends the launches: a source into
#: LaunchPath, a host in front of FrontEnd, or the C driver there, in the simulation's program.
MODULES: Final = {"direct": "launch_path", "axi": "front_end", "driver": "front_end"}
#: Knee of a run without contention: above every number of warps.
NO_KNEE: Final = (1 << 31) - 1
#: Ports that the bench drives; the other inputs are idle, and ready.
DRIVEN: Final = {
    "direct": ("launch__", "report__", "abort__", "read__"),
    "axi": ("axil__", "report__", "read__"),
    "driver": ("axil__", "report__"),
}
#: Who sends the launches of a bench whose SMs read indices.
READS: Final = ("direct", "axi")


def bench_text(ports: Sequence[Port], config: Config, host: str) -> str:
    """Return the Verilog of module ``bench``.

    Parameters
    ----------
    ports : sequence of Port
        LaunchPath's or `ObservedFrontEnd`'s, without clock and reset.
    config : Config
        What it was generated from.
    host : str
        One of `MODULES`.
    """
    parts = (
        _head(host),
        _wires(ports, host),
        replay_waves.wires(config),
        _files(config, host),
        *_senders(config, host),
        *(sm_core(sm, config, record_packets(config)) for sm in range(config.sms)),
        index_readers(config, host) if host in READS and config.makes_indices else (),
        hardware(ports, MODULES[host], DRIVEN[host]),
        _stop_task(config, host),
        _recorder(config, host),
        ("endmodule",),
    )
    return "".join(f"{line}\n" for part in parts for line in part)


def _senders(config: Config, host: str) -> tuple[Iterator[str], ...]:
    if host == "driver":
        return (driver_host(config),)
    if host == "axi":
        return (axi_host(config),)
    return _source(config), _aborter(config)


def _head(host: str) -> Iterator[str]:
    ports = ["input clk", *(driver_ports() if host == "driver" else ())]
    yield "// Generated: hardware between a source of launches and stand-ins for its SMs' cores."
    yield f"module bench ({', '.join(ports)});"
    yield "  reg rst;"
    yield "  reg [63:0] cycle;"
    yield "  reg [31:0] resets, seed, knee, index_reads;"


def _wires(ports: Sequence[Port], host: str) -> Iterator[str]:
    for name, direction, bits in ports:
        if direction == "out" or name.startswith(DRIVEN[host]):
            yield f"  wire {_range(bits)}{name};"


def _range(bits: int) -> str:
    # A single bit has no range: simulators write a range of one bit into a waveform differently.
    return "" if bits == 1 else f"[{bits - 1}:0] "


def _packets(config: Config, host: str) -> dict[str, Packet]:
    """Return the packet of each kind of event that is recorded."""
    own = {
        "direct": {},
        "axi": host_packets(),
        "driver": {"launched": launched_packet(config)},
    }
    return record_packets(config) | own[host]


def _written_elsewhere(config: Config, host: str) -> dict[str, Packet]:
    """Return the packets of what the SMs' readers and the host write themselves."""
    there = host in READS and config.makes_indices
    reads = {"reads": index_read_packet(config)} if there else {}
    return reads | ({"heard": heard_packet()} if host == "axi" else {})


def _files(config: Config, host: str) -> Iterator[str]:
    """Open a file for each kind of event, in the current directory."""
    packets = {
        **_packets(config, host),
        **_written_elsewhere(config, host),
        "end": end_packet(),
    }
    yield f"  integer {', '.join(f'file_{kind}' for kind in packets)};"
    yield "  initial begin"
    yield "    rst = 1; cycle = 0; resets = 0;"
    yield '    if (!$value$plusargs("seed=%d", seed)) seed = 0;'
    yield f'    if (!$value$plusargs("knee=%d", knee)) knee = {NO_KNEE};'
    yield '    if (!$value$plusargs("index_reads=%d", index_reads)) index_reads = 0;'
    for kind in packets:
        yield f'    file_{kind} = $fopen("{kind}.bin", "wb");'
    yield "  end"
    yield "  always @(posedge clk) begin"
    yield "    resets <= resets + 1;"
    yield f"    if (resets == {RESET_CYCLES - 1}) rst <= 0;"
    yield "    if (!rst) cycle <= cycle + 1;"
    yield "  end"


def _source(config: Config) -> Iterator[str]:
    packet, word = queue_packets.queued_launch(config), record_word(config)
    stream = queue_packets.final_record_words(config).by_name["stream"]
    ports = {
        **{name: name for name in ("clk", "rst", "cycle", "room", "records_left", "launches")},
        "early": "launch_early",
        **{name: f"launch__{name}" for name in ("valid", "ready", "payload")},
        "word_valid": "record[0]",
        **{f"word_{name}": part("record", word, name) for name in ("last", "word", "data")},
    }
    parameters = {
        "ROOMS": 1 << config.priority_bits,
        "PRIORITY": packet.offsets["priority"],
        "PRIORITY_BITS": config.priority_bits,
        "BITS": packet.bits,
        "STREAM_WORD": stream.word,
        "STREAM": stream.low,
        "STREAM_BITS": stream.bits,
        "KNOWN": timing(config).record_known,
    }
    yield "  wire [31:0] launches;"
    yield "  wire launch_early;"
    yield f"  launch_source #({connect(parameters)})"
    yield f"  source ({connect(ports)});"


def _aborter(config: Config) -> Iterator[str]:
    """Abort launches by their number; what it sees are the offers and the launch words."""
    ports = {name: name for name in ("clk", "rst", "seed")}
    ports |= {"valid": "abort__valid", "ready": "abort__ready", "ticket": "abort__payload"}
    ports["offered"] = "(|offer)"
    ports |= {f"block_{b}": of_block(b, config) for b in ("bx", "by", "bz")}
    ports |= {g: of_words(g, config) for g in ("gx", "gy", "gz")}
    ports |= {"of": of_words("ticket", config), "launch": of_words("code", config, 32)}
    yield f"  launch_aborter aborter ({connect(ports)});"


def _events(config: Config, host: str) -> dict[str, list[tuple[str, str]]]:
    """Return what makes an event of each kind, and what is written of it.

    An SM's stand-in writes its own events: of those there is nothing to write here.
    """
    pulses = {name: name for name in ("killed", "timeline")}
    pulses |= {"answers": "answer", "record_words": "record"}
    sent = "launch__valid & launch__ready"
    return {
        **{kind: [_pulse(config, port)] for kind, port in pulses.items()},
        "starts": [("started_valid", "started")],
        "decisions": [("decided_valid", "decided")],
        "done": [("done_valid", "done")],
        "warps": [("written_valid", "written")],
        "words": [("(|offer & words != stood)", "words")],
        "ended": [(RECORD_ENDS, record_fields(config))],
        "errors": [
            (condition, f"{content}, 16'd{source}")
            for source, port in enumerate(("dispatch_error", "index_error"))
            for condition, content in [_pulse(config, port)]
        ],
        "offers": [(offered(sm, config), "") for sm in range(config.sms)],
        "reports": [(reported(sm), "") for sm in range(config.sms)],
        **({"sent": [(f"({sent})", "count_sent")]} if host == "axi" else {}),
        **({"pops": [("pop", "count_pops")]} if host == "axi" else {}),
        **({"launched": [(f"({sent})", "launch__payload")]} if host == "driver" else {}),
    }


def _pulse(config: Config, port: str) -> tuple[str, str]:
    """Return when a pulse is an event, and what is written of it: all but its own bit."""
    make = {
        "answer": queue_packets.queue_answer,
        "killed": queue_packets.queue_stream,
        "record": record_word,
        "timeline": queue_packets.timeline_step,
        "dispatch_error": layouts.error_record,
        "index_error": layouts.error_record,
    }
    return f"{port}[0]", f"{port}[{make[port](config).bits - 1}:1]"


def _recorder(config: Config, host: str) -> Iterator[str]:
    """Write and count every event in the cycle in which it stands at its port; then stop."""
    events, packets = _events(config, host), _packets(config, host)
    # The launch words of the offer before.
    yield f"  reg {_range(layouts.launch_words(config).bits)}stood;"
    yield "  initial stood = 0;"
    yield from record_parts(config)
    yield "  always @(posedge clk) if (!rst) begin"
    for kind, packet in packets.items():
        for condition, content in events[kind]:
            if content:
                yield from _write(packet, condition, content)
    for kind in packets:
        # Counted at once: what is written in the last cycle is in the closing record.
        conditions = [condition for condition, _ in events[kind]]
        yield f"    if ({' | '.join(conditions)})"
        yield f"      count_{kind} = count_{kind} + {' + '.join(conditions)};"
    yield "    if (|offer) stood <= words;"
    yield from _stop(config, host)
    yield "  end"


def _write(packet: Packet, condition: str, content: str) -> Iterator[str]:
    yield f"    if ({condition}) {_fwrite(packet, content)}"


def _fwrite(packet: Packet, content: str) -> str:
    """Return the statement that writes a record: the cycle lowest, filled up to whole words."""
    padding = 64 * record_words(packet) - packet.bits
    zeros = f"{padding}'d0, " if padding else ""
    return f'$fwrite(file_{packet.name}, "%u", {{{zeros}{content}, cycle}});'


def _close(packet: Packet) -> Iterator[str]:
    """Write a file's closing record and close it."""
    padding = 64 * (record_words(packet) - 2)
    zeros = f"{padding}'d0, " if padding else ""
    content = f"{{{zeros}count_{packet.name}, 64'd{CLOSED}}}"
    yield f'      $fwrite(file_{packet.name}, "%u", {content});'
    yield f"      $fclose(file_{packet.name});"


def _stop_task(config: Config, host: str) -> Iterator[str]:
    """Close all files and finish."""
    packets = _packets(config, host)
    padding = 32 - timing(config).error_counter_bits
    errors = (f"{padding}'d0, {name}" for name in reversed(ERROR_COUNTS))
    final = ", ".join((*errors, *reversed(STALLS)))
    yield f"  reg [63:0] {', '.join(f'count_{kind}' for kind in packets)};"
    yield f"  initial begin {' '.join(f'count_{kind} = 0;' for kind in packets)} end"
    yield "  task stop(input [31:0] reason);"
    yield "    begin"
    for packet in (packets | _written_elsewhere(config, host)).values():
        yield from _close(packet)
    yield f"      {_fwrite(end_packet(), f'{final}, reason')}"
    yield f"      $fclose(file_{end_packet().name});"
    yield "      $finish;"
    yield "    end"
    yield "  endtask"
    yield "  reg [63:0] quiet, silence_limit, offers, offer_limit;"
    yield "  reg [31:0] answers, accepted, finals, rest, drain;"
    yield "  initial begin"
    yield "    quiet = 0; offers = 0; answers = 0; accepted = 0; finals = 0; rest = 0;"
    yield '    if (!$value$plusargs("silence_limit=%d", silence_limit)) silence_limit = 0;'
    yield '    if (!$value$plusargs("offer_limit=%d", offer_limit)) offer_limit = 0;'
    yield '    if (!$value$plusargs("drain=%d", drain)) drain = 0;'
    yield "  end"


def _stop(config: Config, host: str) -> Iterator[str]:
    """Stop when all launches are answered and ended, or when that cannot come any more."""
    reports = " | ".join(reported(sm) for sm in range(config.sms))
    yield "    quiet <= quiet + 1;"
    # While a launch is awaited nothing need happen.
    yield f"    if (answer[0] | record[0] | launch_early | {reports}) quiet <= 0;"
    yield "    if (|offer) begin quiet <= 0; offers <= offers + 1; end"
    yield "    if (answer[0]) answers <= answers + 1;"
    yield "    if (answer[0] && answer[32:1] != 0) accepted <= accepted + 1;"
    yield f"    if ({RECORD_ENDS}) finals <= finals + 1;"
    settled = {
        "direct": "answers == launches && finals == accepted",
        "axi": "host_done && finals == accepted",
        # A quiet launch that finishes leaves no record: its blocks are counted.
        "driver": "host_done && count_reports >= blocks",
    }
    yield f"    if ({settled[host]}) begin"
    yield "      rest <= rest + 1;"
    yield f"      if (rest == drain) stop({FINISHED});"
    yield f"    end else if (quiet > silence_limit) stop({SILENT});"
    yield f"    else if (offers > offer_limit) stop({TOO_MANY});"
