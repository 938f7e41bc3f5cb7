"""The bench's Verilog: LaunchPath, its host, stand-ins for its SMs, and a recorder.

Each kind of event has a file, in which it stands with its cycle. A file ends with a closing record
that counts them. The bench stops by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from warploom_sim.methods.preempt.workload import LOW_PRIORITY, URGENT_PRIORITY
from warploom_sim.replay.bench.connect import connect
from warploom_sim.replay.bench.final_records import RECORD_ENDS, record_fields, record_parts
from warploom_sim.replay.bench.instances import (
    Port,
    hardware,
    offered,
    part,
    reported,
    sm_core,
)
from warploom_sim.replay.bench.records import (
    CLOSED,
    FINISHED,
    SILENT,
    STALLS,
    record_packets,
    record_words,
)
from warploom_spec import Config, Field, Packet, layouts, queue_packets
from warploom_spec.layouts import TICKET_BITS
from warploom_spec.resident_packets import record_word

#: Name of the Verilog module in the middle.
DUT: Final = "observed_levels"
#: Ports that the bench drives; the other inputs are idle, and ready.
_DRIVEN: Final = ("launch__", "report__")
#: Knee of a run without contention: above every number of warps.
NO_KNEE: Final = (1 << 31) - 1
#: Cycles under reset before cycle 0.
_RESET_CYCLES: Final = 4
#: Cycles that a run goes on after its last record.
_REST: Final = 64
_CYCLE: Final = Field("cycle", 64, "cycle in which it stands at the port")


def event_packets(config: Config) -> dict[str, Packet]:
    """Return the layout of each event file's records, by the kind of event."""
    streams = 1 << config.stream_bits
    fields: dict[str, tuple[Field, ...]] = {
        "sent": (Field("urgent", 1, "1: an urgent launch"),),
        "pops": (Field("ticket", TICKET_BITS, "ticket of the record"),),
        "levels": tuple(Field(name, streams, "a bit each stream") for name in ("hold", "stop")),
        "kills": (Field("stream", 16, "stream whose kill rises"),),
        "cancels": (Field("stream", 16, "stream whose head's configuration is taken back"),),
    }
    made = {kind: Packet(kind, (_CYCLE, *rest)) for kind, rest in fields.items()}
    return made | record_packets(config)


def end_packet() -> Packet:
    """Return the layout of the one record that a run writes when it stops."""
    stalls = (Field(name, 32, "stalled cycles") for name in STALLS)
    return Packet("end", (_CYCLE, Field("reason", 32, "why it stopped"), *stalls))


def bench_text(ports: Sequence[Port], config: Config) -> str:
    """Return the Verilog of module ``bench``.

    Parameters
    ----------
    ports : sequence of Port
        ``ObservedLevels``', without clock and reset.
    config : Config
        What it was generated from.
    """
    parts = (
        _head(ports, config),
        _host(config),
        *(sm_core(sm, config, event_packets(config)) for sm in range(config.sms)),
        hardware(ports, DUT, _DRIVEN),
        _recorder(config),
        ("endmodule",),
    )
    return "".join(f"{line}\n" for part in parts for line in part)


def _head(ports: Sequence[Port], config: Config) -> Iterator[str]:
    files = [*event_packets(config), "end"]
    yield "// Generated: LaunchPath between a host and stand-ins for its SMs' cores."
    yield "module bench (input clk);"
    yield "  reg rst;"
    yield "  reg [63:0] cycle, quiet, silence_limit;"
    yield "  reg [31:0] resets, seed, knee, rest;"
    for name, direction, bits in ports:
        if direction == "out" or name.startswith(_DRIVEN):
            yield f"  wire [{bits - 1}:0] {name};"
    yield f"  integer {', '.join(f'file_{kind}' for kind in files)};"
    yield "  initial begin"
    yield "    rst = 1; cycle = 0; resets = 0; quiet = 0; rest = 0;"
    for name, otherwise in (("seed", 0), ("knee", NO_KNEE), ("silence_limit", 0)):
        yield f'    if (!$value$plusargs("{name}=%d", {name})) {name} = {otherwise};'
    for kind in files:
        yield f'    file_{kind} = $fopen("{kind}.bin", "wb");'
    yield "  end"
    yield "  always @(posedge clk) begin"
    yield "    resets <= resets + 1;"
    yield f"    if (resets == {_RESET_CYCLES - 1}) rst <= 0;"
    yield "    if (!rst) cycle <= cycle + 1;"
    yield "  end"


def _host(config: Config) -> Iterator[str]:
    word = record_word(config)
    ports = {name: name for name in ("clk", "rst", "cycle", "records_left")}
    ports |= {f"{name}_room": f"room[{k}]" for name, k in _PRIORITIES.items()}
    ports |= {name: f"launch__{name}" for name in ("valid", "ready", "payload")}
    ports |= {"word_valid": "record[0]", "pop": "host_pops", "ticket": "popped_ticket"}
    ports |= {f"word_{name}": part("record", word, name) for name in ("last", "word", "data")}
    ports |= {"urgent": "sends_urgent", "done": "host_done"}
    yield "  wire sends_urgent, host_done, host_pops;"
    yield f"  wire [{TICKET_BITS - 1}:0] popped_ticket;"
    packet = queue_packets.queued_launch(config)
    parameters = {
        "BITS": packet.bits,
        "STREAM": packet.offsets["stream"],
        "STREAM_BITS": config.stream_bits,
        "PAIRS": config.launch_waits,
        "FIRST_PAIR": packet.offsets.get("wait0_valid", 0),
        "PAIR_BITS": sum(f.bits for f in packet.fields if f.name.startswith("wait0_")),
        "COUNT_BITS": queue_packets.WAIT_BITS,
        "OPEN_BITS": config.records.bit_length(),
    }
    yield f"  preempt_host #({connect(parameters)}) host ({connect(ports)});"


_PRIORITIES: Final = {"low": LOW_PRIORITY, "urgent": URGENT_PRIORITY}


def _events(config: Config) -> dict[str, list[tuple[str, str]]]:
    """Return what makes an event of each kind, and what is written of it.

    An SM's stand-in writes its own events: of those there is nothing to write here.
    """

    def pulse(port: str, packet: Packet, *more: str) -> tuple[str, str]:
        return f"{port}[0]", ", ".join((f"{port}[{packet.bits - 1}:1]", *more))

    streams, sms = range(1 << config.stream_bits), range(config.sms)
    error = layouts.error_record(config)
    errors = ("dispatch_error", "index_error")
    return {
        "sent": [("(launch__valid & launch__ready)", "sends_urgent")],
        "pops": [("host_pops", "popped_ticket")],
        "levels": [("({stops, holds} != levels)", "stops, holds")],
        "kills": [(f"(kill[{k}] & !killing[{k}])", f"16'd{k}") for k in streams],
        "cancels": [("cancels", f"{{{16 - config.stream_bits}'d0, cancelled}}")],
        "answers": [pulse("answer", queue_packets.queue_answer(config))],
        "starts": [("started_valid", "started")],
        "killed": [pulse("killed", queue_packets.queue_stream(config))],
        "timeline": [pulse("timeline", queue_packets.timeline_step(config))],
        "record_words": [pulse("record", record_word(config))],
        "ended": [(RECORD_ENDS, record_fields(config))],
        "decisions": [("decided_valid", "decided")],
        "done": [("done_valid", "done")],
        "warps": [("written_valid", "written")],
        "words": [("(|offer & words != stood)", "words")],
        "errors": [pulse(port, error, f"16'd{number}") for number, port in enumerate(errors)],
        "offers": [(offered(sm, config), "") for sm in sms],
        "reports": [(reported(sm), "") for sm in sms],
    }


def _recorder(config: Config) -> Iterator[str]:
    """Write and count every event in the cycle in which it stands at its port; then stop."""
    events, packets = _events(config), event_packets(config)
    streams = 1 << config.stream_bits
    counts = [f"count_{kind}" for kind in packets]
    yield f"  reg [63:0] {', '.join(counts)};"
    yield f"  reg [{streams - 1}:0] killing;"
    yield f"  reg [{2 * streams - 1}:0] levels;"
    yield f"  reg [{layouts.launch_words(config).bits - 1}:0] stood;"
    begins = " ".join(f"{name} = 0;" for name in ("killing", "levels", "stood", *counts))
    yield f"  initial begin {begins} end"
    yield from record_parts(config)
    yield from _stop(packets)
    yield "  always @(posedge clk) if (!rst) begin"
    for kind, packet in packets.items():
        conditions = [condition for condition, _ in events[kind]]
        for condition, content in events[kind]:
            if content:
                yield f"    if ({condition}) {_fwrite(packet, content)}"
        yield f"    if ({' | '.join(conditions)})"
        yield f"      count_{kind} = count_{kind} + {' + '.join(conditions)};"
    # Whoever shows the progress counts these.
    yield "    if (launch__valid && launch__ready && sends_urgent) $fflush(file_sent);"
    yield "    killing <= kill;"
    yield "    levels <= {stops, holds};"
    yield "    if (|offer) stood <= words;"
    moving = ("answers", "ended", "offers", "reports")
    moves = " | ".join(condition for kind in moving for condition, _ in events[kind])
    yield f"    quiet <= {moves} ? 0 : quiet + 1;"
    yield "    if (host_done) begin"
    yield "      rest <= rest + 1;"
    yield f"      if (rest == {_REST}) stop({FINISHED});"
    yield f"    end else if (quiet > silence_limit) stop({SILENT});"
    yield "  end"


def _fwrite(packet: Packet, content: str) -> str:
    """Return the statement that writes a record: the cycle lowest, filled up to whole words."""
    padding = 64 * record_words(packet) - packet.bits
    parts = [f"{padding}'d0"] * bool(padding) + [content, "cycle"]
    return f'$fwrite(file_{packet.name}, "%u", {{{", ".join(parts)}}});'


def _stop(packets: Mapping[str, Packet]) -> Iterator[str]:
    """Close all files and finish."""
    yield "  task stop(input [31:0] reason);"
    yield "    begin"
    for kind, packet in packets.items():
        padding = 64 * (record_words(packet) - 2)
        zeros = f"{padding}'d0, " if padding else ""
        closing = f"{{{zeros}count_{kind}, 64'd{CLOSED}}}"
        yield f'      $fwrite(file_{kind}, "%u", {closing});'
        yield f"      $fclose(file_{kind});"
    final = ", ".join((*reversed(STALLS), "reason"))
    yield f"      {_fwrite(end_packet(), final)}"
    yield "      $fclose(file_end);"
    yield "      $finish;"
    yield "    end"
    yield "  endtask"
