"""`make figures`: rows of other hardware are found, marked, shown, and refused by CHECK=1."""

import dataclasses
import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from warploom_dev import cli, readme
from warploom_dev.coverage import coverage_figures, coverage_report
from warploom_dev.coverage.counted_builds import builds
from warploom_dev.coverage.simulation import hash_of
from warploom_dev.figure_rows import STALE
from warploom_dev.formal import formal_report, outcomes
from warploom_dev.formal.aiger import bench_hash
from warploom_dev.freshness import coverage_rows, mutant_rows, proof_rows, shown, synth_rows
from warploom_dev.freshness.question import Answer, Question, answers
from warploom_dev.mutate import campaign, mutate_figures, mutate_report, netlist
from warploom_dev.synth import flow, source, synth_figures, synth_report
from warploom_dev.synth.targets import Target
from warploom_sim.json_file import write_json

ROOT = Path(__file__).parents[2]
#: The smallest block that has a row of each kind.
BLOCK = "index_packer"
TARGET = Target(block="IndexPacker")
OTHER = "0" * 64
#: Its Verilog, in place of what takes seconds to make.
VERILOG = source.Source(text="module warploom_index_packer;", ports=())
#: The pages that show its rows, and how often.
PAGES = {synth_report.PAGE: 1, mutate_report.PAGE: 1, coverage_report.PAGE: 1}
PAGES |= {formal_report.PAGE: 3, Path("docs/index/index_packer.md"): 1}
#: What is said of each of its rows.
SAID = [
    'synth IndexPacker-default; run: make synth ARGS="--block IndexPacker --config default'
    ' --update"',
    f'mutate {BLOCK}; run: make mutate ARGS="{BLOCK} --update"',
    f'coverage {BLOCK}; run: make coverage ARGS="{BLOCK} --update"',
    f'formal {BLOCK}; run: make formal ARGS="{BLOCK} --update"',
]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of pages and figures, where the block's rows are of the present hardware."""
    drawn = shutil.ignore_patterns("*.svg", "*.png")
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=drawn)
    for file in (readme.PAGE, readme.WORKFLOW, synth_rows.LOCK, Path("pyproject.toml")):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / "tb").symlink_to(ROOT / "tb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(source, "generate", lambda target: VERILOG)
    change(freshened)
    return tmp_path


def change(changed: Callable[[str, Any], Any]) -> None:
    """Change the block's rows in all four files."""
    synth = synth_figures.read(synth_figures.FILE)
    synth[TARGET.key] = changed("synth", synth[TARGET.key])
    synth_figures.write(synth_figures.FILE, synth.values())
    mutants = mutate_figures.read(mutate_figures.FILE)
    mutants[BLOCK] = changed("mutate", mutants[BLOCK])
    mutate_figures.write(mutate_figures.FILE, mutants.values())
    coverage = coverage_figures.read(coverage_figures.FILE)
    coverage[BLOCK] = changed("coverage", coverage[BLOCK])
    coverage_figures.write(coverage_figures.FILE, coverage.values())
    proofs = formal_report.read()
    of_block = {k: changed("formal", row) for k, row in enumerate(proofs) if row["bench"] == BLOCK}
    write_json(formal_report.FILE, [of_block.get(k, row) for k, row in enumerate(proofs)])


def freshened(figures: str, row: Any) -> Any:
    """Return a row as if it had just been measured."""
    if figures == "synth":
        recipe = flow.recipe_hash(synth_rows.locked_tools(), TARGET.device)
        hashes = {"netlist_hash": VERILOG.netlist_hash, "recipe_hash": recipe}
        return dataclasses.replace(row, port_bits=VERILOG.port_bits, stale=False, **hashes)
    if figures == "mutate":
        cases = campaign.benches()[BLOCK](row.seed)
        rtl, cycles = netlist.rtl_hash(cases[0].build()[0]), sum(case.cycles for case in cases)
        return dataclasses.replace(row, rtl_hash=rtl, cycles=cycles, stale=False)
    if figures == "coverage":
        hashes = {build.text: hash_of(build.component()) for build in builds()[BLOCK]}
        return dataclasses.replace(row, builds=hashes, stale=False)
    return row | {"bench_hash": bench_hash(outcomes.make(BLOCK)), "stale": False}


def planted(figures: str, row: Any) -> Any:
    """Return a row of other hardware."""
    if figures == "formal":
        return row | {"bench_hash": OTHER}
    if figures == "coverage":
        return dataclasses.replace(row, builds=dict.fromkeys(row.builds, OTHER))
    field = {"synth": "netlist_hash", "mutate": "rtl_hash"}[figures]
    return dataclasses.replace(row, **{field: OTHER})


def run(*arguments: str) -> tuple[int, list[str]]:
    """Run the command in this process; return its exit code and what it says of rows."""
    done = CliRunner().invoke(cli.main, ["figures", *arguments, "--jobs", "1"])
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    return done.exit_code, [line for line in lines if not line.startswith("rows: ")]


def contents(checkout: Path) -> dict[Path, str]:
    """Return all texts below the folder of pages, and README."""
    files = [*(checkout / "docs").rglob("*.*"), checkout / readme.PAGE]
    return {file: file.read_text() for file in files}


def test_rows_of_other_hardware_are_named_and_marked_until_they_are_measured(
    checkout: Path,
) -> None:
    assert run(BLOCK) == (0, [])
    before = contents(checkout)
    change(planted)
    there = contents(checkout)
    stale = [f"stale: {said}" for said in SAID]
    assert run(BLOCK, "--check") == (1, stale)
    assert contents(checkout) == there
    assert run(BLOCK) == (0, stale)
    counts = {page: page.read_text().count(STALE) for page in PAGES}
    new = {page: count - before[checkout / page].count(STALE) for page, count in counts.items()}
    assert new == PAGES
    for file in (checkout / "docs" / "figures").iterdir():
        file.write_text(before[file])
    assert run(BLOCK) == (0, [])
    assert contents(checkout) == before


@pytest.mark.parametrize(
    ("figures", "changes"),
    [
        ("synth", {"recipe_hash": OTHER}),
        ("synth", {"netlist_hash": OTHER}),
        ("synth", {"port_bits": 7}),
        ("mutate", {"rtl_hash": OTHER}),
        ("mutate", {"cycles": 7}),
        ("coverage", {"builds": {"tiny": OTHER}}),
        ("coverage", {"builds": {}}),
        ("formal", {"bench_hash": OTHER}),
        ("formal", {"text": "it works"}),
        ("formal", {"check": "gone"}),
        ("formal", {"proof_answer": "bounded, 7 cycles"}),
    ],
)
def test_each_thing_that_a_row_belongs_to_makes_it_stale(
    figures: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(source, "generate", lambda target: VERILOG)
    if figures == "formal":
        row = freshened(figures, next(r for r in formal_report.read() if r["bench"] == BLOCK))
        fresh = functools.partial(proof_rows.is_fresh, BLOCK)
        assert fresh([row]) and not fresh([row | changes])
        return
    tools = synth_rows.locked_tools()
    old, is_fresh = {
        "synth": (
            synth_figures.read(synth_figures.FILE)[TARGET.key],
            lambda row: synth_rows.is_fresh(row, TARGET, tools),
        ),
        "mutate": (mutate_figures.read(mutate_figures.FILE)[BLOCK], mutant_rows.is_fresh),
        "coverage": (coverage_figures.read(coverage_figures.FILE)[BLOCK], coverage_rows.is_fresh),
    }[figures]
    new = freshened(figures, old)
    assert is_fresh(new) and not is_fresh(dataclasses.replace(new, **changes))


def test_a_row_of_a_page_of_readme_is_marked_there(checkout: Path) -> None:
    counts = []
    for stale in (False, True):
        synth_rows.mark({"IndexGenerator-default": stale})
        text = readme.page_text(checkout, readme.PAGE.read_text())
        counts.append(text.count(f"ECP5 ({STALE}) |"))
    assert counts[1] == counts[0] + 1
    assert synth_report.PAGE in shown.PAGES


def asked(stale: bool, **changes: Any) -> Answer:
    """Return the answer of a question about a row."""
    question = Question(
        figures="mutate",
        row="toy",
        block="toy",
        command="make mutate",
        marked=False,
        declared=True,
        is_fresh=lambda: not stale,
    )
    (answer,) = answers([dataclasses.replace(question, **changes)], jobs=1)
    return answer


@pytest.mark.parametrize(
    ("changes", "finished", "said"),
    [
        ({}, True, ""),
        ({"marked": None}, False, ""),
        ({"marked": None}, True, "no row: mutate toy; run: make mutate"),
        ({"marked": None, "declared": False}, False, "no row: mutate toy; run: make mutate"),
    ],
)
def test_a_row_may_lack_where_a_page_says_so_until_its_block_is_finished(
    changes: dict[str, Any], finished: bool, said: str
) -> None:
    assert asked(False, **changes).wrong(finished) == said


def test_a_mark_without_a_reason_is_named() -> None:
    said = "marked as stale, but is not: mutate toy; run: make figures"
    assert asked(False, marked=True).wrong_mark() == said
    assert asked(True, marked=True).wrong_mark() == asked(False).wrong_mark() == ""
