"""What `make synth` measures with, on small designs: needs the FPGA tools."""

import functools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import verilog
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom_dev.synth import flow, initial_rows, synth_figures, targets
from warploom_dev.synth.measure import Job
from warploom_dev.synth.path_families import families_text
from warploom_dev.synth.placer import Placer, named
from warploom_dev.synth.source import Port, Source, generate, top_module
from warploom_dev.synth.targets import Target, all_targets

ROOT = Path(__file__).parents[2]


class Small(wiring.Component):
    """Registers, and one of: a product, a memory, a counter that nothing reads."""

    a: In(16)
    b: In(16)
    o: Out(32)

    def __init__(self, inside: str) -> None:
        self._inside = inside
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        if self._inside == "product":
            m.d.sync += self.o.eq(self.a * self.b)
        elif self._inside == "memory":
            rows = [7 * k for k in range(1024)]
            m.submodules.memory = memory = Memory(shape=16, depth=1024, init=rows)
            port, reader = memory.write_port(), memory.read_port()
            m.d.comb += [port.addr.eq(self.a), port.en.eq(1), port.data.eq(self.b)]
            m.d.comb += [reader.addr.eq(self.b), self.o.eq(reader.data)]
        else:
            held = Signal(16)
            m.d.sync += [held.eq(self.a), self.o.eq(held + self.b)]
        return m


SMALL_PORTS = (
    Port(name="a", direction="in", bits=16),
    Port(name="b", direction="in", bits=16),
    Port(name="o", direction="out", bits=32),
)


class Combinational(wiring.Component):
    """A sum without registers, and so without clock and reset."""

    a: In(16)
    b: In(16)
    o: Out(32)

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        m.d.comb += self.o.eq(self.a + self.b)
        return m


def the_wheel() -> Placer:
    """Return the nextpnr that is installed everywhere."""
    return named("wheel", flow.versions())


def report(folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(flow.report_file(folder, 1, the_wheel()).read_text())
    return made


def synthesised(inside: str, folder: Path) -> Counter[str]:
    return flow.synthesise("small", verilog.convert(Small(inside), name="small"), folder)


@pytest.mark.fpga
@pytest.mark.parametrize("device", flow.DEVICES)
def test_cells_are_counted_and_all_are_placed(device: str, tmp_path: Path) -> None:
    cells = synthesised("registers", tmp_path)
    # The sum has 17 bits, two in a carry cell; 16 registers more hold a for a cycle.
    assert cells["TRELLIS_FF"] == 16 + 17
    assert cells["CCU2C"] == 9
    own = flow.wrap(SMALL_PORTS, tmp_path)
    # 33 inputs and the pin's bit before them; 32 outputs, folded to 8, 2 and 1.
    assert own["TRELLIS_FF"] == 34 + 32 + 8 + 2 + 1
    flow.place(1, tmp_path, device, the_wheel(), delays=True)
    assert 50 < flow.rate(report(tmp_path)) < 1000
    # The longest path from these delays is that of nextpnr's clock rate, or the text is refused.
    job = Job(Target(block="GridWalker"), Source(text="", ports=()), tmp_path, the_wheel())
    assert "(top) -> (wrapper)" in families_text(job, 1, 0.1)


@pytest.mark.fpga
def test_the_static_placer_places_all_cells_too(tmp_path: Path) -> None:
    cells = synthesised("registers", tmp_path)
    own = flow.wrap(SMALL_PORTS, tmp_path)
    flow.place(1, tmp_path, "85k", the_wheel(), static=True)
    made = report(tmp_path)
    assert made["utilization"]["TRELLIS_FF"]["used"] == cells["TRELLIS_FF"] + own["TRELLIS_FF"]
    assert 50 < flow.rate(made) < 1000


@pytest.mark.fpga
def test_rows_in_a_file_give_the_same_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netlists = []
    for most, files in ((1024, 0), (1023, 1)):
        monkeypatch.setattr(flow, "move_rows", functools.partial(initial_rows.move_rows, most=most))
        folder = tmp_path / str(most)
        folder.mkdir()
        assert synthesised("memory", folder)["DP16KD"] == 1
        assert len([*folder.glob("*.hex")]) == files
        netlists.append(
            re.sub(r"(?m)^ *attribute .*\n|autoidx.*\n", "", (folder / "block.il").read_text())
        )
    # With their cells' first values.
    assert netlists[0] == netlists[1] and "INITVAL_00" in netlists[0]


@pytest.mark.fpga
def test_a_block_without_registers_is_wrapped_too(tmp_path: Path) -> None:
    text = verilog.convert(Combinational(), name="small")
    assert not flow.synthesise("small", text, tmp_path)["TRELLIS_FF"]
    assert flow.wrap(SMALL_PORTS, tmp_path)["TRELLIS_FF"] == 33 + 32 + 8 + 2 + 1


@pytest.mark.fpga
@pytest.mark.parametrize(
    ("inside", "cell"), [("product", "MULT18X18D"), ("memory", "DP16KD"), ("registers", "CCU2C")]
)
def test_special_cells_are_seen(inside: str, cell: str, tmp_path: Path) -> None:
    assert synthesised(inside, tmp_path)[cell]
    assert cell in {kind for kind, _ in flow.cells_by_name(tmp_path)}


@pytest.mark.fpga
def test_a_swept_register_is_found(tmp_path: Path) -> None:
    synthesised("registers", tmp_path)
    netlist = tmp_path / "block.il"
    text = netlist.read_text()
    start = text.index("  cell \\TRELLIS_FF ")
    netlist.write_text(text[:start] + text[text.index("  end\n", start) + len("  end\n") :])
    with pytest.raises(RuntimeError, match=r"changed the block's cells .*'TRELLIS_FF': \(33, 32\)"):
        flow.wrap(SMALL_PORTS, tmp_path)


@pytest.mark.fpga
def test_a_failing_tool_shows_its_last_lines(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="Yosys failed in .*"):
        flow.synthesise("small", "module broken", tmp_path)
    (tmp_path / flow.WRAPPED).write_text("{}")
    with pytest.raises(RuntimeError, match="nextpnr failed in .*"):
        flow.place(1, tmp_path, "85k", the_wheel())


@pytest.mark.fpga
def test_the_quickest_clock_rate_is_reached_again(tmp_path: Path) -> None:
    """As `make synth CHECK=1 ARGS="... --seeds 1"` does of any row, but in a fresh folder."""
    committed = synth_figures.read(ROOT / synth_figures.FILE)
    (target,) = (target for target in all_targets() if target.by_wheel)
    quickest = committed[target.key]
    assert quickest.placed_by == "wheel"
    source = generate(target)
    assert source.netlist_hash == quickest.netlist_hash, "stale; run: make synth ARGS=--update"
    flow.synthesise(top_module(target), source.text, tmp_path)
    flow.wrap(source.ports, tmp_path)
    flow.place(1, tmp_path, target.device, the_wheel())
    assert flow.rate(report(tmp_path)) == quickest.fmax_each[0]


@pytest.mark.fpga
@pytest.mark.parametrize("config", ["tiny", "default"])
def test_rows_of_indices_are_block_memory_in_the_whole_too(config: str, tmp_path: Path) -> None:
    """Beside the packer some bits of a row are constant; the memory must stay one all the same."""
    target = Target(block=targets.INDEX_WITH_MEMORY, config=config)
    cells = flow.synthesise(top_module(target), generate(target).text, tmp_path)
    memories = [name for kind, name in flow.cells_by_name(tmp_path) if kind == "DP16KD"]
    assert {name.partition(".")[0] for name in memories} == {"index_memory"}
    assert not cells["TRELLIS_DPR16X4"]
