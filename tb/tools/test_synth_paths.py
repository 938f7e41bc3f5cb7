"""Families of long paths, from delays as nextpnr writes them."""

import gzip
import json
from pathlib import Path

import pytest

from warploom_dev.synth import flow
from warploom_dev.synth.delays import longest_paths, read_sdf
from warploom_dev.synth.measure import Job
from warploom_dev.synth.path_families import block_names, block_of, families, families_text
from warploom_dev.synth.placer import Placer
from warploom_dev.synth.source import Source
from warploom_dev.synth.targets import Target
from warploom_sim.failure import ProgramError

PLACER = Placer("wheel", "0.11.1", "")
VERILOG = "\n".join(
    [
        "module warploom_top(clk, rst);",
        "module \\warploom_top.mailbox (clk, rst);",
        "module \\warploom_top.path (clk);",
        "module \\warploom_top.path.sm_0.slots$17 (clk);",
    ]
)
REGISTER = (
    "(IOPATH CLK Q (400:450:500) (300:400:525))",
    "(SETUPHOLD (posedge DI) (posedge CLK) (100:110:122) (0:0:0))",
    "(SETUPHOLD (negedge DI) (posedge CLK) (100:110:122) (0:0:0))",
    "(SETUPHOLD (posedge LSR) (posedge CLK) (152:152:152) (0:0:0))",
)
LUT = ("(IOPATH A F (200:200:240) (200:200:240))", "(IOPATH FCI F (100:100:100) (100:100:100))")
#: A register of a block whose path goes over a LUT, a carry cell beside it (no wire), and another
#: LUT to registers of other blocks; and one that only a pad reaches.
CELLS = {
    "dut.mailbox.go_TRELLIS_FF_Q": REGISTER,
    "dut.mailbox.go_LUT4_A": LUT,
    "dut.path.sum$CCU2C": LUT,
    r"dut.path.data_LUT4_Z_F\[3\]": LUT,
    r"dut.path.data_TRELLIS_FF_Q_1": REGISTER,
    "dut.path.sm_1.slots.full_TRELLIS_FF_Q": REGISTER,
    "feed_TRELLIS_FF_Q": REGISTER,
}
WIRES = (
    ("dut.mailbox.go_TRELLIS_FF_Q/Q", "dut.mailbox.go_LUT4_A/A", 1000),
    ("dut.mailbox.go_LUT4_A/F", "dut.path.sum$CCU2C/FCI", 0),
    ("feed_TRELLIS_FF_Q/Q", "dut.path.sum$CCU2C/A", 10),
    ("dut.path.sum$CCU2C/F", r"dut.path.data_LUT4_Z_F\[3\]/A", 700),
    (r"dut.path.data_LUT4_Z_F\[3\]/F", "dut.path.data_TRELLIS_FF_Q_1/DI", 0),
    (r"dut.path.data_LUT4_Z_F\[3\]/F", "dut.path.sm_1.slots.full_TRELLIS_FF_Q/LSR", 900),
    ("dut.mailbox.go_TRELLIS_FF_Q/Q", "dut.path.sm_1.slots.full_TRELLIS_FF_Q/DI", 50),
    ("feed_TRELLIS_FF_Q/Q", "dut.mailbox.go_TRELLIS_FF_Q/DI", 60),
    ("pad/O", "feed_TRELLIS_FF_Q/DI", 5000),
)


def sdf(wires: tuple[tuple[str, str, int], ...] = WIRES) -> list[str]:
    """Return the lines of an SDF file in nextpnr's format."""
    lines = ["(DELAYFILE", "  (CELL", '    (CELLTYPE "top")', "    (INSTANCE )"]
    lines += [f"(INTERCONNECT {a} {b} ({d}:{d}:{d}) (0:0:{d}))" for a, b, d in wires]
    for name, items in CELLS.items():
        escaped = name.replace("$", r"\$")
        lines += ["  (CELL", '    (CELLTYPE "X")', f"    (INSTANCE {escaped})", *items, "  )"]
    return [line.replace("sum$", r"sum\$") for line in lines]


DATA = "dut.path.data_TRELLIS_FF_Q_1/DI"
SLOTS = "dut.path.sm_1.slots.full_TRELLIS_FF_Q/LSR"


def test_the_longest_path_to_each_end_is_added_up() -> None:
    found = dict(longest_paths(read_sdf(sdf())))
    # Clock to output, wire, LUT, carry without a wire, wire, LUT, setup.
    assert found[DATA].ps == 525 + 1000 + 240 + 0 + 100 + 700 + 240 + 122
    assert found[DATA].wire_ps == 1700
    assert (found[DATA].levels, found[DATA].start) == (2, "dut.mailbox.go_TRELLIS_FF_Q")
    assert found[SLOTS].ps == 525 + 1000 + 240 + 100 + 700 + 240 + 900 + 152
    assert found["dut.path.sm_1.slots.full_TRELLIS_FF_Q/DI"].ps == 525 + 50 + 122
    assert found["dut.mailbox.go_TRELLIS_FF_Q/DI"].levels == 0
    # No register reaches it.
    assert "feed_TRELLIS_FF_Q/DI" not in found


def test_a_loop_is_refused() -> None:
    loop = (r"dut.path.data_LUT4_Z_F\[3\]/F", "dut.mailbox.go_LUT4_A/FCI", 10)
    with pytest.raises(ProgramError, match=r"^the logic has a loop through dut\."):
        list(longest_paths(read_sdf(sdf((*WIRES, loop)))))


def test_a_file_of_another_format_is_no_pass() -> None:
    with pytest.raises(ProgramError, match="nothing was checked"):
        read_sdf(["(DELAYFILE", ")"])


def test_blocks_are_instances_without_numbers() -> None:
    blocks = block_names(VERILOG)
    assert blocks == ["mailbox", "path", "path.sm_*.slots"]
    assert block_of(SLOTS, blocks) == "path.sm_*.slots"
    assert block_of(DATA, blocks) == "path"
    assert block_of("dut.other_TRELLIS_FF_Q", blocks) == "(top)"
    assert block_of("feed_TRELLIS_FF_Q", blocks) == "(wrapper)"


def test_ends_over_the_period_are_counted_in_the_family_of_their_longest_path() -> None:
    ends = list(longest_paths(read_sdf(sdf())))
    found = families(ends, block_names(VERILOG), 2.9)
    assert [(f.start, f.end, dict(f.pins)) for f in found] == [
        ("mailbox", "path.sm_*.slots", {"LSR": 1}),
        ("mailbox", "path", {"DI": 1}),
    ]
    assert found[0].worst_end == SLOTS
    assert [f.end for f in families(ends, block_names(VERILOG), 3.0)] == ["path.sm_*.slots"]


def job(folder: Path, rate: float) -> Job:
    """Lay out what nextpnr leaves of a placed netlist."""
    with gzip.open(flow.delays_file(folder, 1, PLACER), "wt") as file:
        file.write("\n".join(sdf()))
    report = {"fmax": {"clk": {"achieved": rate, "constraint": 100}}}
    flow.report_file(folder, 1, PLACER).write_text(json.dumps(report))
    return Job(Target(block="GridWalker"), Source(text=VERILOG, ports=()), folder, PLACER)


def test_a_family_is_a_line(tmp_path: Path) -> None:
    assert families_text(job(tmp_path, 259.3), 1, 2.9).splitlines() == [
        "GridWalker-default, seed 1, 259.3 MHz: 2 of 4 ends take more than 2.9 ns, in 2 families",
        "   worst ns   logic    wire  levels  ends  from -> to: worst path; pins where they end",
        "       3.86    1.26    2.60       2     1  mailbox -> path.sm_*.slots:"
        " mailbox.go -> path.sm_1.slots.full; LSR 1",
        "       2.93    1.23    1.70       2     1  mailbox -> path: mailbox.go -> path.data; DI 1",
    ]


def test_delays_that_are_not_those_of_the_clock_rate_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"takes 3\.86 ns, which is 259\.3 MHz; nextpnr's clo"):
        families_text(job(tmp_path, 250.0), 1, 2.9)
