"""No block divides, none but LaunchCheck multiplies, none latches: read from the netlists."""

from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tb.support.deep_values import deep_but
from tb.support.netlist import Cell, cells, forbidden, offences, read
from warploom_sim.verilog.blocks import BLOCKS
from warploom_spec import preset

#: Blocks that FrontEnd has no part of: with it they are the whole.
BESIDE_FRONT_END = (
    "index_unpacker",
    "incremental_scheduler",
    "grid_walker",
    "task_units",
    "offer_queue",
    "resource_ranges",
    "block_to_warps",
    "block_at_a_time",
)
WHOLE = ("front_end", *BESIDE_FRONT_END)
#: Blocks that are made of others, and the largest one.
LARGE = ("front_end", "launch_path")


@pytest.mark.thorough
def test_front_end_has_every_block_in_it_but_those_beside_it(tmp_path: Path) -> None:
    """Thus its netlist shows what is in theirs."""
    lines = " ".join(cell.source for cell in cells(BLOCKS["front_end"](preset("tiny")), tmp_path))
    assert tuple(block for block in BLOCKS if f"/{block}.py:" not in lines) == BESIDE_FRONT_END


@pytest.mark.parametrize(
    ("block", "config"),
    deep_but(
        [(block, "tiny") for block in BLOCKS if block not in LARGE],
        [(block, config) for config in ("tiny", "default") for block in BLOCKS],
        thorough=[
            *((block, "tiny") for block in LARGE),
            # With a cell for each register ResourceRanges takes minutes.
            *((block, "default") for block in WHOLE if block != "resource_ranges"),
        ],
    ),
)
def test_no_division_no_stray_multiplication_no_latch(
    block: str, config: str, tmp_path: Path
) -> None:
    assert not offences(cells(BLOCKS[block](preset(config)), tmp_path))


@pytest.mark.deep
@pytest.mark.parametrize("block", BLOCKS)
def test_no_division_no_stray_multiplication_no_latch_in_large(block: str, tmp_path: Path) -> None:
    assert not offences(cells(BLOCKS[block](preset("large")), tmp_path))


def test_launch_check_is_seen_to_multiply(tmp_path: Path) -> None:
    """The exception is used: else the check might not see multiplications at all."""
    found = cells(BLOCKS["launch_check"](preset("tiny")), tmp_path)
    assert "$mul" in {cell.type for cell in found}


class Arithmetic(wiring.Component):
    """A block with a child that does what no block may do."""

    a: In(8)
    b: In(8)
    o: Out(16)

    def __init__(self, operation: str) -> None:
        self._operation = operation
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        del platform
        a, b = self.a, self.b
        m, child = Module(), Module()
        m.submodules.child = child
        values = {"//": a // b, "%": a % b, "*": a * b, "* 3": a * 3, "+": a + b}
        child.d.sync += self.o.eq(values[self._operation])
        return m


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("//", "a division"),
        ("%", "a division"),
        ("*", "a multiplication outside launch_check.py"),
        ("* 3", "a multiplication outside launch_check.py"),
    ],
)
def test_arithmetic_is_found(operation: str, reason: str, tmp_path: Path) -> None:
    found = offences(cells(Arithmetic(operation), tmp_path))
    assert found and all(line.endswith(reason) for line in found)


LATCH = r"""
  process $p
    assign \next \q
    switch \en
      case 1'1
        assign \next \d
    end
    sync always
      update \q \next
  end
"""
ASYNCHRONOUS = r"""
  process $p
    sync posedge \en
      update \q \next
    sync high \d
      update \q 1'0
  end
"""


def storage(process: str) -> str:
    wires = ("wire input 1 \\en", "wire input 2 \\d", "wire output 3 \\q", "wire \\next")
    return "\n".join(["module \\top", *wires, process, "end\n"])


@pytest.mark.parametrize(
    ("process", "reason"),
    [(LATCH, "a latch"), (ASYNCHRONOUS, "an asynchronous reset")],
    ids=["latch", "asynchronous"],
)
def test_storage_that_is_no_plain_register_is_found(
    process: str, reason: str, tmp_path: Path
) -> None:
    source = tmp_path / "storage.il"
    source.write_text(storage(process))
    found = offences(read(source))
    assert found and all(line.endswith(reason) for line in found)


def test_an_empty_netlist_is_no_pass(tmp_path: Path) -> None:
    source = tmp_path / "empty.il"
    source.write_text(storage(""))
    with pytest.raises(ValueError, match="nothing was checked"):
        read(source)


def test_an_adder_is_accepted(tmp_path: Path) -> None:
    assert not offences(cells(Arithmetic("+"), tmp_path))


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        ("hdl/warploom/launch/launch_check.py:12", True),
        ("hdl/warploom/launch/launch_check.py:12|hdl/warploom/launch/launch_check.py:14", True),
        ("hdl/warploom/launch/launch_check.py:12|hdl/warploom/dispatch/grid_walker.py:14", False),
        ("hdl/warploom/not_launch_check.py:12", False),
        ("", False),
    ],
)
def test_only_lines_of_launch_check_may_multiply(source: str, allowed: bool) -> None:
    assert (forbidden(Cell("top", "$mul", source)) is None) == allowed
