"""The committed area and clock rates: complete, of ports as wide as specified."""

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path
from statistics import median

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Shape
from amaranth.lib import wiring

from tb.support.deep_values import deep_but
from warploom.dispatch import BlockDispatcher
from warploom_dev.synth import costs, synth_figures, synth_report
from warploom_dev.synth.measure import Key, Row
from warploom_dev.synth.targets import BASELINE, Target, all_targets
from warploom_sim.verilog.header import ports
from warploom_spec import PRESETS, preset

ROOT = Path(__file__).parents[2]
FIELDS = {
    "block",
    "config",
    "policy",
    "reclaim",
    "device",
    "lut4",
    "ccu2c",
    "dpr16x4",
    "lut4eq",
    "ff",
    "ebr",
    "dsp",
    "fmax_mhz",
    "fmax_each",
    "seeds",
    "placed_by",
    "port_bits",
    "netlist_hash",
    "recipe_hash",
    "stale",
}
STREAM = 2  # valid and ready


class Widths:
    """The specification's table of widths, written out: what ports are made of.

    Nothing here comes from `warploom_spec`: a field that was narrowed there is found.
    """

    ticket, cycles, stall, number, count = 32, 32, 32, 32, 16
    fate, code, argument = 3, 8, 16
    block, pack = 11 + 11 + 7, 4 + 4 + 3
    # stream, priority, idempotent, mode, table
    order = 4 + 2 + 1 + 2 + 3
    # ceil(256 / 8) = ceil(1,024 / 32) = 32 warps
    warps = 6

    def __init__(self, config: str) -> None:
        small = config == "tiny"
        self.sms, self.sm = {"tiny": (2, 1), "default": (8, 3), "large": (132, 8)}[config]
        self.lanes = 8 if small else 32
        self.grid = 16 + 8 + 8 if small else 31 + 16 + 16
        self.address = {"tiny": 6, "default": 9, "large": 12}[config]
        self.slot = 2 if small else 5
        self.entries, self.entry = (4, 2) if small else (8, 3)
        self.task = 6 if config == "large" else 4
        self.kernel = 64 + 64 + 16 + 64 * (1 if small else 4)
        # registers, shared, barriers of one block: up to 32, 64, 4 or 256, 1,824, 32
        self.registers, self.shared, self.barriers = (6, 7, 3) if small else (9, 11, 6)
        self.resources = self.registers + self.shared + self.barriers
        self.threads = 9 if small else 11  # up to 256 or 1,024

    @property
    def error(self) -> int:
        return 1 + self.code + self.argument + self.count

    @property
    def packed_warp(self) -> int:
        return self.address + 16 * self.lanes + self.lanes + 2 + self.pack

    def index_generator(self) -> int:
        configuration = self.address + self.block + self.warps + STREAM
        decision = 1 + self.entry + STREAM
        accepted = 1 + self.address + self.warps
        # `cancel` and `needs_release`; `release`.
        references = 2 + self.entry + STREAM
        write = self.packed_warp + STREAM
        return configuration + 2 * decision + accepted + references + write + self.error

    def grid_walker(self) -> int:
        return 2 * self.grid + STREAM + self.grid + self.number + 1 + STREAM + 1


def modules(component: wiring.Component) -> dict[str, Counter[str]]:
    """Return each module's cells by type, and their summed widths, by its path below the top."""
    found: dict[str, Counter[str]] = {}
    here: Counter[str] = Counter()
    for line in rtlil.convert(component, name="top", emit_src=False).splitlines():
        if module := re.fullmatch(r"module \\top\.?([\w.]*)(?:\$\d+)?", line):
            here = found.setdefault(module[1], Counter())
        elif cell := re.match(r"  cell (\$\w+) ", line):
            here[cell[1]] += 1
        elif width := re.fullmatch(r"    parameter \\(\w*WIDTH) (\d+)", line):
            here[width[1]] += int(width[2])
    return found


@pytest.mark.parametrize("config", deep_but([], ["tiny", "default"], thorough=["tiny"]))
def test_what_is_measured_is_what_a_replay_runs(config: str) -> None:
    """Cell for cell: nothing is added, left out or narrowed inside the whole."""
    whole = Target(block="LaunchPath", config=config).component()
    inside = modules(whole)
    dispatcher = modules(BlockDispatcher(preset(config)))
    generator = modules(Target(block="IndexGenerator", config=config).component())
    assert sum(sum(cells.values()) for cells in dispatcher.values()) > 1000
    assert dispatcher == {
        name.removeprefix("dispatcher").lstrip("."): cells
        for name, cells in inside.items()
        if f"{name}.".startswith("dispatcher.")
    }
    for name, cells in generator.items():
        # The generator's own module connects its parts: with the memory it connects one more.
        assert not name or cells == inside[f"generator.{name}"], name


QUOTED = [t for t in all_targets() if t.block == "IndexGenerator"]
WALKERS = [Target(block="GridWalker", config=config) for config in PRESETS]


def specified(target: Target) -> int:
    widths = Widths(target.config)
    return widths.index_generator() if target.block == "IndexGenerator" else widths.grid_walker()


@pytest.fixture(scope="module")
def committed() -> dict[Key, Row]:
    return synth_figures.read(ROOT / synth_figures.FILE)


@pytest.mark.parametrize("target", [*QUOTED, *WALKERS], ids=lambda t: t.name)
def test_ports_are_as_wide_as_the_table_says(target: Target) -> None:
    component = target.component()
    component._MustUse__silence = True
    found = sum(Shape.cast(shape).width for _, _, shape in ports(component))
    assert found == specified(target)


def test_every_row_is_a_targets(committed: dict[Key, Row]) -> None:
    """Whether every target has its row, with all its seeds, `make synth CHECK=1` finds out."""
    assert set(committed) <= {target.key for target in all_targets()}


def test_every_row_has_every_figure() -> None:
    rows = json.loads((ROOT / synth_figures.FILE).read_text())
    assert rows and all(set(row) == FIELDS for row in rows)
    for row in rows:
        assert row["lut4eq"] == row["lut4"] + 2 * row["ccu2c"] + 6 * row["dpr16x4"], row
        assert len(row["netlist_hash"]) == 64
        assert len(row["seeds"]) == len(row["fmax_each"])
        rates = row["fmax_each"]
        assert row["fmax_mhz"] == (median(rates) if rates else None)
        assert row["placed_by"] in (("wheel", "native") if rates else (None,))


def test_the_page_shows_the_committed_figures(committed: dict[Key, Row]) -> None:
    page = (ROOT / synth_report.PAGE).read_text()
    assert synth_report.page_text(page, list(committed.values())) == page


@pytest.mark.parametrize("page", costs.PAGES, ids=lambda page: page.stem)
def test_a_blocks_page_has_the_committed_costs(page: Path, committed: dict[Key, Row]) -> None:
    text, rows = (ROOT / page).read_text(), list(committed.values())
    assert costs.page_text(page, text, rows) == text
    found = re.findall(r"([\d,]+) LUT4-equivalents", text)
    assert found, "nothing of this block is measured"
    # None is written by hand, where nothing would keep it true.
    assert len(found) == len(re.findall(r"^- `.* LUT4-equivalents .*\.$", text, re.MULTILINE))
    more = [dataclasses.replace(row, lut4eq=row.lut4eq + 1) for row in rows]
    assert costs.page_text(page, text, more) != text


def test_every_measured_block_has_its_cost_on_a_page() -> None:
    told = [block for blocks in costs.PAGES.values() for block in blocks]
    assert sorted([*told, BASELINE]) == sorted({t.block for t in all_targets()})
