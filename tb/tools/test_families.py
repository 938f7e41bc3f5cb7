"""Area on other families: cells are counted, and the page has the committed figures."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.back import verilog
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from click.testing import CliRunner

from warploom_dev import cli
from warploom_dev.synth import families
from warploom_dev.synth.synth_report import PAGE
from warploom_sim.failure import ProgramError
from warploom_sim.verilog.portable_verilog import hide_first_rows

ROOT = Path(__file__).parents[2]


def test_each_type_of_cell_is_counted_once() -> None:
    cells = {"LUT4": 3, "LUT6": 2, "CARRY4": 1, "FDRE": 7, "RAM32M": 5, "RAMB18E1": 2, "MUXF7": 9}
    found = families.counts("xilinx", cells)
    assert found == {
        "luts": 5,
        "carry": 1,
        "ff": 7,
        "distributed": 5,
        "block": 2,
        "multipliers": 0,
    }
    with pytest.raises(ProgramError, match="gowin: 2 cells of type WONDER, which nothing counts"):
        families.counts("gowin", {"LUT4": 1, "WONDER": 2})


def test_the_page_has_the_committed_figures() -> None:
    rows = list(families.read(ROOT / families.FILE).values())
    page = (ROOT / PAGE).read_text()
    assert rows and families.page_text(page, rows) == page
    changed = [replace(rows[0], ff=rows[0].ff + 1), *rows[1:]]
    assert families.page_text(page, changed) != page


def test_what_differs_from_the_committed_figures_is_named() -> None:
    (row, *_) = families.read(ROOT / families.FILE).values()
    assert families.stale({row.key: row}, row) == []
    (said,) = families.stale({row.key: replace(row, block=row.block + 1)}, row)
    assert said == f"{row.name}: block is {row.block + 1}, measured {row.block}"
    assert families.stale({}, row) == [f"{row.name}: not in the committed figures"]


def test_an_unknown_family_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(cli.main, ["families", "--family", "vax"])
    assert done.exit_code == 2
    assert "--family is vax; legal: xilinx, gowin, ice40, intel" in done.output


class Small(wiring.Component):
    """A small memory that is read in the cycle in which it is asked."""

    a: Signal
    o: Signal

    def __init__(self) -> None:
        super().__init__({"a": In(8), "o": Out(8)})

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        rows: Memory = Memory(shape=8, depth=16, init=[])
        m.submodules.rows = rows
        port, reader = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [port.addr.eq(self.a), port.en.eq(1), port.data.eq(self.a)]
        m.d.comb += [reader.addr.eq(self.a[4:]), self.o.eq(reader.data)]
        return m


def counted(family: str, text: str, folder: Path) -> Counter[str]:
    folder.mkdir()
    return Counter(families.counts(family, families.synthesise(family, "small", text, folder)))


@pytest.mark.thorough
def test_a_small_memory_on_two_families(tmp_path: Path) -> None:
    """Intel's has no first values, iCE40 has no small memories at all."""
    text = verilog.convert(Small(), name="small", emit_src=False, strip_internal_attrs=True)
    hidden = hide_first_rows(text, "launch")
    intel = [
        counted("intel", shown, tmp_path / name)
        for name, shown in {"seen": text, "hidden": hidden}.items()
    ]
    assert [cells["distributed"] for cells in intel] == [0, 8]
    assert intel[0]["ff"] == 8 * 16 and not intel[1]["ff"]
    ice40 = counted("ice40", hidden, tmp_path / "ice40")
    assert ice40["ff"] == 8 * 16 and not ice40["distributed"] and not ice40["block"]
