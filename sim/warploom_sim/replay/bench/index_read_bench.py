"""The SMs' index reads of a replay: their place in the bench."""

from collections.abc import Iterator
from typing import Final

from warploom_sim.replay.bench.connect import connect
from warploom_sim.replay.bench.instances import of_block, of_words, offered, part, reported
from warploom_sim.replay.bench.records import LACKS, UNASKED, index_read_packet, record_words
from warploom_spec import Config, layouts, timing

#: Blocks that an SM reads at once: `index_reader` has the same number.
_BLOCKS: Final = 2
#: Cycles beside the reads in which a block's warps come: the indices may not be written yet.
_BEGINNING: Final = 256


def patience(config: Config) -> int:
    """Return in how many cycles all warps of a block are read, whatever the other SMs read."""
    return _BEGINNING + _BLOCKS * (config.sms + 4) * config.max_warps


def index_readers(config: Config, host: str) -> Iterator[str]:
    """Yield the lines of the bench for a reader an SM, and their turns where there is one port."""
    for sm in range(config.sms):
        yield from _reader(sm, config, host)
    counts = (f"reader_{sm}_count" for sm in range(config.sms))
    yield f"  wire [63:0] count_reads = {' + '.join(counts)};"
    if host != "axi":
        yield from _turns(config)


def _reader(sm: int, config: Config, host: str) -> Iterator[str]:
    report, request = layouts.block_report(config), layouts.index_read(config)
    parameters = {
        "SM": sm,
        "SLOT_BITS": config.slot_bits,
        "WARPS_BITS": config.warps_bits,
        "ADDRESS_BITS": config.index_address_bits,
        "DATA_BITS": layouts.index_data(config).bits,
        "RECORD_BITS": 64 * record_words(index_read_packet(config)),
        "PATIENCE": patience(config),
        "LACKS": LACKS,
        "UNASKED": UNASKED,
    }
    ports = {name: name for name in ("clk", "rst", "cycle", "seed")}
    ports |= {"share": "index_reads", "file": "file_reads"}
    ports |= {
        "ticket": of_words("ticket", config),
        "launch": of_words("code", config, 32),
        "offer_valid": offered(sm, config),
        "index_warps": of_block("warps", config),
        "report_valid": reported(sm),
        "report_slot": part(f"report__{sm}__payload", report, "slot"),
        "valid": f"reader_{sm}_valid",
        "address": f"reader_{sm}_address",
        "warp": f"reader_{sm}_warp",
        "warps": f"reader_{sm}_warps",
        "count": f"reader_{sm}_count",
    }
    for field in ("slot", "bx", "by", "bz", "index_address"):
        ports[field] = of_block(field, config)
    if host == "axi":
        ports |= {"ready": f"read__{sm}__ready", "data_valid": f"data_valid[{sm}]", "data": "data"}
    else:
        ports |= {"ready": f"readers_ready[{sm}]", "data_valid": f"readers_data_valid[{sm}]"}
        ports["data"] = "data__payload"
    yield f"  wire reader_{sm}_valid;"
    yield f"  wire [63:0] reader_{sm}_count;"
    yield f"  wire [{config.index_address_bits - 1}:0] reader_{sm}_address;"
    yield f"  wire [{config.warps_bits - 1}:0] reader_{sm}_warp, reader_{sm}_warps;"
    # Fields of a packet stand lowest first, those of a concatenation highest first.
    parts = {"address": "address", "warp": "warp", "index_warps": "warps"}
    fields = (f"reader_{sm}_{parts[field.name]}" for field in reversed(request.present))
    yield f"  wire [{request.bits - 1}:0] reader_{sm}_request = {{{', '.join(fields)}}};"
    yield f"  index_reader #({connect(parameters)})"
    yield f"  reader_{sm} ({connect(ports)});"
    if host == "axi":
        yield f"  assign read__{sm}__valid = reader_{sm}_valid;"
        yield f"  assign read__{sm}__payload = reader_{sm}_request;"


def _turns(config: Config) -> Iterator[str]:
    """Let the readers take turns at LaunchPath's one port."""
    numbers = range(config.sms - 1, -1, -1)
    yield f"  wire [{config.sms - 1}:0] readers_ready, readers_data_valid;"
    ports = {
        "clk": "clk",
        "rst": "rst",
        "valid": f"{{{', '.join(f'reader_{sm}_valid' for sm in numbers)}}}",
        "ready": "readers_ready",
        "requests": f"{{{', '.join(f'reader_{sm}_request' for sm in numbers)}}}",
        "read_valid": "read__valid",
        "read_ready": "read__ready",
        "read": "read__payload",
        "answered": "data__valid",
        "data_valid": "readers_data_valid",
    }
    # One more than the index memory holds: one may be taken while the oldest is answered.
    depth = timing(config).index_read + 1
    parameters = {"SMS": config.sms, "BITS": layouts.index_read(config).bits, "DEPTH": depth}
    yield f"  index_read_turns #({connect(parameters)}) turns ({connect(ports)});"
