"""A whole design to a bitstream, on a small one: needs the FPGA tools, but for first rows."""

from pathlib import Path

import pytest

from warploom_dev.synth import bitstream, flow
from warploom_dev.synth.initial_rows import move_rows
from warploom_dev.synth.placer import WHEEL, named
from warploom_dev.yosys import run_yosys
from warploom_sim.failure import ProgramError

DEVICE = ("--25k", "--package", "CABGA381", "--speed", "6")
PINS = """LOCATE COMP "clk" SITE "G2";
IOBUF PORT "clk" IO_TYPE=LVCMOS33;
FREQUENCY PORT "clk" 25 MHz;
"""
#: A product, a carry chain, a block memory with first values, and one of LUTs.
SMALL = """
module top(input clk, input [31:0] a, input [15:0] b, output reg [31:0] o, output reg [7:0] q);
  reg [7:0] row, deep [0:1023], small [0:15];
  initial $readmemh("deep.init", deep);
  always @(posedge clk) begin
    o <= a * b + o;
    row <= deep[b[9:0]];
    q <= row ^ small[b[3:0]];
    if (b[5]) small[a[3:0]] <= b;
    if (b[4]) deep[a[9:0]] <= b;
  end
endmodule
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "deep.init").write_text("".join(f"{n % 251:02x}\n" for n in range(1024)))
    (tmp_path / "top.lpf").write_text(PINS)
    (tmp_path / "top.v").write_text(SMALL)
    return tmp_path / "top.v"


def test_rows_of_32_bits_are_moved_too(tmp_path: Path) -> None:
    values = (0, 10, 0xFFFF_FFFF)
    rows = "".join(f"    rows[{n}] = 32'd{value};\n" for n, value in enumerate(values))
    moved = move_rows(f"  initial begin\n{rows}  end\n", tmp_path, most=2)
    assert moved == '  initial $readmemh("rows0.hex", rows);\n'
    read = (tmp_path / "rows0.hex").read_text().split()
    assert [int(value, 16) for value in read] == [*values]


@pytest.mark.fpga
def test_without_share_the_cells_are_those_of_synth_ecp5(source: Path) -> None:
    cells = bitstream.synthesise([source], source.parent)
    assert cells["MULT18X18D"] and cells["DP16KD"] and cells["TRELLIS_DPR16X4"]
    script = "read_verilog top.v\nsynth_ecp5 -nowidelut -top top\ntee -q -o stock.json stat -json\n"
    run_yosys("stock", script, source.parent)
    assert cells == flow.cells_of(source.parent / "stock.json")


@pytest.mark.fpga
def test_a_small_design_becomes_a_bitstream(source: Path) -> None:
    cells = bitstream.synthesise([source], source.parent)
    nextpnr = named(WHEEL, flow.versions())
    report = bitstream.place_and_pack(
        source.parent, (*DEVICE, "--lpf-allow-unconstrained"), "top.lpf", nextpnr, 1
    )
    assert report["utilization"]["DP16KD"]["used"] == cells["DP16KD"]
    assert bitstream.fits(report) and 50 < flow.rate(report) < 1000
    # The FPGA's own mark of a bitstream's begin.
    assert b"\xff\xff\xbd\xb3" in (source.parent / bitstream.BITSTREAM).read_bytes()


@pytest.mark.fpga
def test_a_pin_that_is_not_there_is_told_of(source: Path) -> None:
    bitstream.synthesise([source], source.parent)
    (source.parent / "top.lpf").write_text(PINS.replace("G2", "G99"))
    with pytest.raises(ProgramError, match="nextpnr failed"):
        bitstream.place_and_pack(
            source.parent,
            (*DEVICE, "--lpf-allow-unconstrained"),
            "top.lpf",
            named(WHEEL, flow.versions()),
            1,
        )
