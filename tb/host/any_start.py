"""A core whose registers begin with any values, whose reset can leave one out, or a bit flips.

Amaranth's Verilog gives each register and each row of a memory an initial value, so in a simulation
the reset finds what it is to make. Here that value stands only without the option ``any_start``,
and a random one with it. ``unreset=K`` takes register K out of the reset. ``flip_bit=B`` inverts
bit B of all registers' bits at the end of cycle ``flip_at``.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from tb.host.core_bench import linked
from warploom.host.front_end import FrontEnd
from warploom.lib.axil_pins import hand_through
from warploom_sim.build_cache import cached
from warploom_sim.cosim.lockstep import Ports
from warploom_sim.cosim.lockstep.build import rtlil_hash
from warploom_sim.cosim.lockstep.compilation import (
    FLAGS,
    TOP,
    compile_verilog,
    own_source,
    tools_of,
)
from warploom_sim.cosim.lockstep.ports import CLOCK, RESET
from warploom_sim.cosim.lockstep.recipe import Recipe

#: Whether the launch path says that it has no launch, and room for one; its answers and records.
PATH_PORTS = ("idle", "room", "answer", "command_answer", "abort_answer", "record")

MODULE = re.compile(r"^module (\S+) ?\(.*?^endmodule$", re.MULTILINE | re.DOTALL)
#: A register with its initial value; a row of a memory; what a memory reads into.
REGISTER = re.compile(r"^  reg ((?:\[\d+:0\] )?)(\S+) += (\d+)('\w+);$", re.MULTILINE)
ROWS = re.compile(r"^  initial begin\n.*?^  end$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^    (\S+ *\[\d+\]) = (\d+)('\w+);$", re.MULTILINE)
READ = re.compile(r"^  reg \[(\d+):0\] (_\d+_);$", re.MULTILINE)
#: A register with the name of its domain's clock; one that is reset, with the domain's reset.
CLOCKED = re.compile(r"^  always @\(posedge (\w*clk)\)\n    (\S+) +<= (\S.*?) *;$", re.MULTILINE)
UNDER_RESET = re.compile(r"^    if \((\w*rst)\) begin\n      (\S+) +=", re.MULTILINE)


#: In which cycle bits flip, in a module with registers; `CLOCK` is one of its clocks.
FLIPS = (
    "  reg [31:0] bench_bit, bench_at, bench_cycle;",
    "  reg bench_flips;",
    "  initial begin",
    "    bench_flips = 0;",
    "    bench_cycle = 0;",
    '    if ($value$plusargs("flip_bit=%d", bench_bit) == 0) bench_bit = 0;',
    '    if ($value$plusargs("flip_at=%d", bench_at) == 0) bench_at = 32\'hFFFFFFFF;',
    "  end",
    "  always @(posedge CLOCK) begin",
    "    bench_cycle <= bench_cycle + 1;",
    "    bench_flips <= bench_cycle == bench_at;",
    "  end",
)


class SeenFrontEnd(wiring.Component):
    """A FrontEnd that shows its launch path's ``idle``, ``room``, answers and final records."""

    def __init__(self, config):
        self._core = FrontEnd(config)
        path = self._core._path.signature.members
        super().__init__(
            {
                **dict(self._core.signature.members.items()),
                **{f"path_{name}": Out(path[name].shape) for name in PATH_PORTS},
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = self._core
        path = core._path
        for name in core.signature.members:
            hand_through(m, self, core, name)
        m.d.comb += [getattr(self, f"path_{n}").eq(getattr(path, n)) for n in PATH_PORTS]
        return m


@dataclass(frozen=True)
class AnyStart:
    """Verilog with the options.

    Attributes
    ----------
    text : str
        The Verilog.
    reset : tuple[str, ...]
        Module and name of each register that has a reset; its place is its number.
    unreset : tuple[str, ...]
        The same of each that has none.
    bits : tuple[tuple[str, int], ...]
        Module and name of each register, and its width: bits are numbered in this order.
    """

    text: str
    reset: tuple[str, ...]
    unreset: tuple[str, ...]
    bits: tuple[tuple[str, int], ...]


def any_start(text):
    """Give Amaranth's Verilog the options.

    Raises
    ------
    AssertionError
        If an initial value is left: Yosys writes another Verilog.
    """
    reset, unreset, bits = [], [], []
    modules = [_module(found, reset, unreset, bits) for found in MODULE.finditer(text)]
    assert modules and reset
    return AnyStart("\n".join(modules), tuple(reset), tuple(unreset), tuple(bits))


def _module(found, reset, unreset, bits):
    name, text = found[1], found[0]
    widths = {register: int(width) for _, register, width, _ in REGISTER.findall(text)}
    clocked = CLOCKED.findall(text)
    assert len(clocked) == len(REGISTER.findall(text)), f"{name}: initial values are left"
    under_reset = {signal for _, signal in UNDER_RESET.findall(text)}
    # Several registers can take one signal, but a signal with a reset belongs to one register.
    owners = {signal: register for _, register, signal in clocked if signal in under_reset}
    takers = [signal for *_, signal in clocked if signal in under_reset]
    assert len(takers) == len(under_reset), f"{name}: a reset is of no register, or of two"
    unreset += [f"{name}.{taker}" for _, taker, signal in clocked if signal not in under_reset]
    starts = [_start(*parts) for _, *parts in REGISTER.findall(text)]
    # A name of Yosys's own: the register has no initial value in Verilog.
    starts += [_start(register, str(int(high) + 1), "'h0") for high, register in READ.findall(text)]
    text = REGISTER.sub(r"  reg \1\2 ;", text)
    text = ROWS.sub(lambda rows: ROW.sub(lambda row: f"    {_start(*row.groups())}", rows[0]), text)

    def number(match):
        reset.append(f"{name}.{owners[match[2]]}")
        condition = f"({match[1]} && bench_unreset != {len(reset) - 1})"
        return match[0].replace(f"({match[1]})", condition)

    def flipped(match):
        clock, register, signal = match.groups()
        first = sum(width for _, width in bits)
        bits.append((f"{name}.{register}", widths[register]))
        # A bit that is not this register's is shifted out.
        mask = f"{widths[register]}'h1 << (bench_bit - {first})"
        return (
            f"  always @(posedge {clock})\n"
            f"    if (bench_flips) {register} <= {signal} ^ ({mask});\n"
            f"    else {register} <= {signal} ;"
        )

    text = UNDER_RESET.sub(number, text)
    text = CLOCKED.sub(flipped, text)
    left = re.findall(r"^  reg [^;]* = (?!0;).*$", text, re.MULTILINE)
    for rows in ROWS.findall(text):
        left += [row for row in rows.splitlines()[1:-1] if "bench_any" not in row]
    assert not left, f"{name}: initial values are left: {left[:3]}"
    head, _, body = text.partition(";\n")
    own = [
        head + ";",
        "  reg bench_any;",
        "  integer bench_unreset;",
        *(line.replace("CLOCK", clocked[0][0]) for line in (FLIPS if clocked else [])),
        "  initial begin",
        '    bench_any = $test$plusargs("any_start") != 0;',
        '    if ($value$plusargs("unreset=%d", bench_unreset) == 0) bench_unreset = -1;',
        "  end",
    ]
    end = ["  initial begin", *(f"    {start}" for start in starts), "  end", "endmodule"]
    return "\n".join([*own, body.removesuffix("endmodule"), *end])


def _start(name, bits, value):
    """Return the assignment of a first value."""
    words = ", ".join(["$urandom"] * -(-int(bits) // 32))
    return f"{name} = bench_any ? {{{words}}} : {bits}{value};"


def program(config):
    """Return the benches' program around such a core, and `AnyStart`; built now or before."""
    core = SeenFrontEnd(config)
    ports = Ports.of(core)
    # Yosys takes seconds to start: the Verilog is kept beside what is built from it.
    hardware = rtlil_hash(Recipe.of(SeenFrontEnd, config))
    flags = FLAGS["verilator"]

    def build(folder):
        text = verilog.convert(core, name=TOP, ports=ports.to_convert(), emit_src=False)
        made = any_start(text)
        (folder / "registers.json").write_text(json.dumps([made.reset, made.unreset, made.bits]))
        names = (CLOCK, RESET, *ports.inputs, *ports.outputs)
        compile_verilog("any start", made.text, names, "verilator", flags, folder)

    own = [Path(__file__).read_text(), *own_source()]
    simulation = cached("any-start", [hardware, own, flags, tools_of("verilator")], build)
    return linked(config, core, simulation), json.loads((simulation / "registers.json").read_text())
