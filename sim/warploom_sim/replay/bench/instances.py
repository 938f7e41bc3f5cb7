"""Instances that benches share: the stand-ins of the SMs, and the hardware itself."""

from collections.abc import Iterator, Mapping, Sequence

from warploom_sim.replay.bench.connect import connect
from warploom_sim.replay.bench.records import record_words
from warploom_spec import Config, Packet, layouts
from warploom_spec.resident_packets import resident_block

#: (name, direction, width in bits) of a port.
Port = tuple[str, str, int]


def offered(sm: int, config: Config) -> str:
    """Return an SM's bit of ``offer``."""
    # A port of one bit has no range.
    return f"offer[{sm}]" if config.sms > 1 else "offer"


def reported(sm: int) -> str:
    """Return whether an SM's report transfers."""
    return f"(report__{sm}__valid & report__{sm}__ready)"


def of_block(name: str, config: Config) -> str:
    """Return a field of the offered block."""
    return part("block", resident_block(config), name)


def of_words(name: str, config: Config, bits: int | None = None) -> str:
    """Return a field of the launch words, or so many bits of it."""
    return part("words", layouts.launch_words(config), name, bits)


def part(port: str, packet: Packet, name: str, bits: int | None = None) -> str:
    """Return a field of a packet at a port, or so many bits of it."""
    wide = next(field.bits for field in packet.fields if field.name == name)
    return f"{port}[{packet.offsets[name]} +: {bits or wide}]"


def sm_core(sm: int, config: Config, records: Mapping[str, Packet]) -> Iterator[str]:
    """Connect an SM's stand-in; ``records``: what it writes of its ``offers`` and ``reports``."""
    parameters = {
        "SM": sm,
        "SLOTS": config.block_slots,
        "SLOT_BITS": config.slot_bits,
        "STREAM_BITS": config.stream_bits,
        "WARPS": config.warp_slots,
        "WARPS_BITS": config.warps_bits,
        "BLOCK_BITS": resident_block(config).bits,
        "OFFER_RECORD_BITS": 64 * record_words(records["offers"]),
        "REPORT_BITS": layouts.block_report(config).bits,
        "REPORT_RECORD_BITS": 64 * record_words(records["reports"]),
    }
    ports = {
        **{name: name for name in ("clk", "rst", "cycle", "seed", "knee", "block", "kill")},
        "offers": "file_offers",
        "reports": "file_reports",
        "offer": offered(sm, config),
        **{name: of_block(name, config) for name in ("stream", "slot", "bx", "by", "bz")},
        "ticket": of_words("ticket", config),
        # The fields that carry a replay's own numbers, and the bits that count of each.
        "launch": of_words("code", config, 32),
        "base": of_words("arguments", config, 32),
        "recorded": of_words("address_space", config),
        "warps_taken": of_words("warps", config),
        "report_valid": f"report__{sm}__valid",
        "report_ready": f"report__{sm}__ready",
        "report": f"report__{sm}__payload",
    }
    yield f"  sm_core #({connect(parameters)})"
    yield f"  sm_{sm} ({connect(ports)});"


def hardware(ports: Sequence[Port], module: str, driven: tuple[str, ...]) -> Iterator[str]:
    """Connect the hardware: what is not driven is idle, every output stream is taken at once.

    Parameters
    ----------
    ports : sequence of Port
        The module's ports, but clock and reset.
    module : str
        Its name.
    driven : tuple of str
        Inputs that the bench drives begin so.
    """
    connections = {"clk": "clk", "rst": "rst"}
    for name, direction, bits in ports:
        if direction == "out" or name.startswith(driven):
            connections[name] = name
        elif name.endswith("__ready"):
            connections[name] = "1'b1"
        else:
            connections[name] = f"{{{bits}{{1'b{int(name in ('enable', 'pop'))}}}}}"
    yield f"  {module} dut ({connect(connections)});"
