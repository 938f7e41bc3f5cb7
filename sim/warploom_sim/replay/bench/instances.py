"""Instances that benches share: the stand-ins of the SMs, and the hardware itself."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from warploom_sim.replay.bench.connect import connect
from warploom_sim.replay.bench.records import record_words
from warploom_spec import Config, Packet, layouts
from warploom_spec.layouts import PLACES

#: (name, direction, width in bits) of a port.
Port = tuple[str, str, int]


def sm_core(sm: int, config: Config, records: Mapping[str, Packet]) -> Iterator[str]:
    """Connect an SM's stand-in; ``records``: what it writes of its ``offers`` and ``reports``."""
    words = layouts.launch_words(config)
    grid_x, grid_y, grid_z = config.grid_bits
    parameters = {
        "SM": sm,
        "SLOTS": config.block_slots,
        "SLOT_BITS": config.slot_bits,
        "WARPS": config.warp_slots,
        "WARPS_BITS": config.warps_bits,
        "GRID_X": grid_x,
        "GRID_Y": grid_y,
        "GRID_Z": grid_z,
        "OFFER_BITS": layouts.block_offer(config).bits,
        "OFFER_RECORD_BITS": 64 * record_words(records["offers"]),
        "REPORT_BITS": layouts.block_report(config).bits,
        "REPORT_RECORD_BITS": 64 * record_words(records["reports"]),
    }
    ports = {
        **{name: name for name in ("clk", "rst", "cycle", "seed", "knee")},
        "offers": "file_offers",
        "reports": "file_reports",
        "offer_valid": f"offer__{sm}__valid",
        "offer": f"offer__{sm}__payload",
        "kill": "kill",
        "report_valid": f"report__{sm}__valid",
        "report": f"report__{sm}__payload",
    }
    # Fields of the launch words, and the bits that count of each.
    fields = {
        "ticket": ("ticket", 32),
        "launch": ("code", 32),
        "base": ("arguments", 32),
        "recorded": ("address_space", 16),
        "warps": ("warps", config.warps_bits),
    }
    for place, (port, (field, bits)) in itertools.product(range(PLACES), fields.items()):
        ports[f"{port}_{place}"] = f"words__{place}[{words.offsets[field]} +: {bits}]"
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
