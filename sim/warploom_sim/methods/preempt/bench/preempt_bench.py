"""The bench's Verilog: LaunchPath, its host, stand-ins for its SMs, and a recorder.

Each kind of event has a file, in which it stands with its cycle. A file ends with a closing record
that counts them. The bench stops by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from warploom_sim.methods.preempt.bench.observed_path import STARTS
from warploom_sim.methods.preempt.workload import LOW_PRIORITY, URGENT_PRIORITY
from warploom_sim.replay.bench.connect import connect
from warploom_sim.replay.bench.instances import Port, hardware, sm_core
from warploom_sim.replay.bench.records import (
    CLOSED,
    FINISHED,
    SILENT,
    STALLS,
    record_packets,
    record_words,
)
from warploom_spec import Config, Field, Packet, layouts, queue_packets
from warploom_spec.layouts import PLACES, STOP_BITS, TICKET_BITS

#: Name of the Verilog module in the middle.
DUT: Final = "observed_path"
#: Ports that the bench drives; the other inputs are idle, and ready.
_DRIVEN: Final = ("launch__", "report__", "pop")
#: Knee of a run without contention: above every number of warps.
NO_KNEE: Final = (1 << 31) - 1
#: Cycles under reset before cycle 0.
_RESET_CYCLES: Final = 4
#: Cycles that a run goes on after its last record.
_REST: Final = 64
_CYCLE: Final = Field("cycle", 64, "cycle in which it stands at the port")
_PLACE: Final = Field("place", 16, "resident place")


def event_packets(config: Config) -> dict[str, Packet]:
    """Return the layout of each event file's records, by the kind of event."""
    replay = record_packets(config)
    starts = zip(STARTS, config.grid_bits, strict=True)
    # Of pulses without the pulse's own bit.
    fields: dict[str, tuple[Field, ...]] = {
        "sent": (Field("urgent", 1, "1: an urgent launch"),),
        "pops": (Field("ticket", TICKET_BITS, "ticket of the record"),),
        "handed": (
            Field("ticket", TICKET_BITS, "ticket"),
            *(Field(name, bits, "first block to place") for name, bits in starts),
        ),
        "stops": (_PLACE, Field("stop", STOP_BITS, "1 drain, 2 kill, 3 skip")),
        "kills": (_PLACE,),
        "answers": queue_packets.queue_answer(config).fields[1:],
        "put_back": queue_packets.put_back(config).fields[1:],
        "timeline": queue_packets.timeline_step(config).fields[1:],
        "ended": queue_packets.final_record(config).fields[1:],
        # No port says whose decision it is.
        "decisions": layouts.index_decision(config).fields,
    }
    kinds = ("done", "warps", "words", "offers", "reports", "errors")
    made = {kind: Packet(kind, (_CYCLE, *rest)) for kind, rest in fields.items()}
    return made | {kind: replay[kind] for kind in kinds}


def end_packet() -> Packet:
    """Return the layout of the one record that a run writes when it stops."""
    stalls = (Field(name, 32, "stalled cycles") for name in STALLS)
    return Packet("end", (_CYCLE, Field("reason", 32, "why it stopped"), *stalls))


def bench_text(ports: Sequence[Port], config: Config) -> str:
    """Return the Verilog of module ``bench``.

    Parameters
    ----------
    ports : sequence of Port
        ``ObservedPath``'s, without clock and reset.
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
    ports = {name: name for name in ("clk", "rst", "cycle", "pop")}
    ports |= {
        "low_room": f"room[{LOW_PRIORITY}]",
        "urgent_room": f"room[{URGENT_PRIORITY}]",
        "oldest": f"oldest[{TICKET_BITS - 1}:0]",
        "valid": "launch__valid",
        "urgent": "sends_urgent",
        "payload": "launch__payload",
        "done": "host_done",
    }
    yield "  wire sends_urgent, host_done;"
    packet = queue_packets.queued_launch(config)
    parameters = {
        "BITS": packet.bits,
        "STREAM": packet.offsets["stream"],
        "STREAM_BITS": config.stream_bits,
        "PAIRS": config.launch_waits,
        "FIRST_PAIR": packet.offsets.get("wait0_valid", 0),
        "COUNT_BITS": queue_packets.WAIT_BITS,
        "OPEN_BITS": config.records.bit_length(),
    }
    yield f"  preempt_host #({connect(parameters)}) host ({connect(ports)});"


def _events(config: Config) -> dict[str, list[tuple[str, str]]]:
    """Return what makes an event of each kind, and what is written of it.

    An SM's stand-in writes its own events: of those there is nothing to write here.
    """

    def pulse(port: str, packet: Packet, *more: str) -> tuple[str, str]:
        return f"{port}[0]", ", ".join((f"{port}[{packet.bits - 1}:1]", *more))

    handed = ", ".join(f"handed__{name}" for name in (*reversed(STARTS), "ticket"))
    places = range(PLACES)
    error = layouts.error_record(config)
    errors = ("dispatch_error", "index_error")
    return {
        "sent": [("launch__valid", "sends_urgent")],
        "pops": [("pop", f"oldest[{TICKET_BITS - 1}:0]")],
        "handed": [("handed__valid", handed)],
        "stops": [(f"(stopped__{k} != 0)", f"stopped__{k}, 16'd{k}") for k in places],
        "kills": [(f"(kill[{k}] & !killed[{k}])", f"16'd{k}") for k in places],
        "answers": [pulse("answer", queue_packets.queue_answer(config))],
        "put_back": [pulse("put_back", queue_packets.put_back(config))],
        "timeline": [pulse("timeline", queue_packets.timeline_step(config))],
        "ended": [pulse("record", queue_packets.final_record(config))],
        "decisions": [("decided_valid", "decided")],
        "done": [("done_valid", "done")],
        "warps": [("written_valid", "written")],
        "words": [(f"(words__{k} != stood_{k})", f"words__{k}, 16'd{k}") for k in places],
        "errors": [pulse(port, error, f"16'd{number}") for number, port in enumerate(errors)],
        "offers": [(f"offer__{sm}__valid", "") for sm in range(config.sms)],
        "reports": [(f"report__{sm}__valid", "") for sm in range(config.sms)],
    }


def _recorder(config: Config) -> Iterator[str]:
    """Write and count every event in the cycle in which it stands at its port; then stop."""
    events, packets = _events(config), event_packets(config)
    counts = [f"count_{kind}" for kind in packets]
    stood = [f"stood_{k}" for k in range(PLACES)]
    yield f"  reg [63:0] {', '.join(counts)};"
    yield f"  reg [{PLACES - 1}:0] killed;"
    yield f"  reg [{layouts.launch_words(config).bits - 1}:0] {', '.join(stood)};"
    yield f"  initial begin killed = 0; {' '.join(f'{name} = 0;' for name in counts + stood)} end"
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
    yield "    if (launch__valid && sends_urgent) $fflush(file_sent);"
    yield "    killed <= kill;"
    for place, name in enumerate(stood):
        yield f"    {name} <= words__{place};"
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
