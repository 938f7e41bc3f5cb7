"""What the command `synth` refuses, checks and writes, without a tool."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb.tools.test_synth import ROOT, WALKER, measured, placed
from warploom_dev import cli
from warploom_dev.synth import costs, flow, measure, synth_figures, synth_report
from warploom_dev.synth.measure import Row
from warploom_dev.synth.targets import Target, all_targets


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--block", "Nothing"), "block is 'Nothing'; legal: IndexGenerator, BlockDispatcher"),
        (
            ("--block", "GridWalker", "--config", "tiny"),
            "nothing is measured with block GridWalker; config tiny; legal: GridWalker-default",
        ),
        (
            ("--config", "large", "--reclaim", "in_order"),
            "legal: IndexGenerator-default, BlockDispatcher-default-round_robin-out_of_order, ",
        ),
        (("--check", "--update"), "--update goes not with --check, which writes nothing"),
        (
            ("--update", "--block", "IndexGenerator", "--config", "default", "--seeds", "1"),
            "--seeds is 1 with --update, but IndexGenerator-default needs 3; legal: 3 or more",
        ),
        (
            ("--update", "--seeds", "2"),
            "--seeds is 2 with --update, but IndexGenerator-default needs 3; legal: 3 or more",
        ),
        (("--paths", "--seeds", "0"), "--paths places and routes: --seeds must be 1 or more."),
        (("--paths", "--check"), "--paths places and routes: --seeds must be 1 or more."),
        (("--paths", "--period", "0"), "x>0"),
        (("--seeds", "-1"), "x>=0"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(cli.main, ["synth", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_missing_tool_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "TOOLS", ("no-such-tool",))
    result = CliRunner().invoke(cli.main, ["synth", "--block", "GridWalker"])
    assert result.exit_code == 2
    assert result.stderr.strip().startswith("Error: no-such-tool is not installed; run: make synth")


class Asked(list[tuple[Target, ...]]):
    """The targets of each call of `measure`, and the options of the last one."""

    options: dict[str, Any]


def stub_measure(monkeypatch: pytest.MonkeyPatch, made: Row) -> Asked:
    asked = Asked()

    def measure_(chosen: tuple[Target, ...], *_: Any, **options: Any) -> list[tuple[None, Row]]:
        asked.append(chosen)
        asked.options = options
        return [(None, made)]

    monkeypatch.setattr(measure, "measure", measure_)
    return asked


@pytest.mark.parametrize(("changed", "code"), [({}, 0), ({"lut4": 101}, 1)])
def test_check_fails_when_figures_are_stale(
    changed: dict[str, int], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    synth_figures.write(synth_figures.FILE, [measured(**changed)])
    before = synth_figures.FILE.read_text()
    asked = stub_measure(monkeypatch, measured())
    result = CliRunner().invoke(cli.main, ["synth", "--check", "--block", "GridWalker"])
    assert result.exit_code == code
    assert ("stale: GridWalker default: lut4 is 101, measured 100" in result.stderr) == bool(code)
    assert [target.seeds for target in asked[0]] == [0], "nothing is placed"
    assert synth_figures.FILE.read_text() == before


def copy_pages(folder: Path) -> None:
    """Lay out the pages that hold figures, as in the repository."""
    for page in (synth_report.PAGE, *costs.PAGES):
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / page, folder / page)


def test_update_writes_figures_and_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_pages(tmp_path)
    monkeypatch.chdir(tmp_path)
    stub_measure(monkeypatch, measured())
    out = str(tmp_path / "r.json")
    arguments = ["synth", "--update", "--block", "GridWalker", "--json", out]
    assert CliRunner().invoke(cli.main, arguments).exit_code == 0
    assert synth_figures.read(synth_figures.FILE) == {WALKER.key: measured()}
    assert json.loads(Path(out).read_text()) == [measured().to_json()]
    assert "| GridWalker |" in synth_report.PAGE.read_text()
    cost = "- `GridWalker`, `default`: 132 LUT4-equivalents (100 LUT4, 10 CCU2C, 2 TRELLIS_DPR16X4)"
    assert f"\n{cost}, 7 flip-flops.\n" in Path("docs/dispatch/grid_walker.md").read_text()


def test_update_refuses_a_page_that_it_cannot_write_before_it_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_pages(tmp_path)
    monkeypatch.chdir(tmp_path)
    synth_report.PAGE.write_text("no place for tables\n")
    asked = stub_measure(monkeypatch, measured())
    result = CliRunner().invoke(cli.main, ["synth", "--update", "--block", "GridWalker"])
    assert result.exit_code == 2
    assert "docs/tools/synth.md lacks a line" in result.stderr
    assert not asked and not synth_figures.FILE.exists()


@pytest.mark.parametrize(("asked", "seeds"), [(1, 1), (2, 2), (9, 3)])
def test_check_places_up_to_the_rows_own_seeds_again(
    asked: int, seeds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = all_targets()[0]
    assert first.seeds == 3
    names = {"block": first.block, "config": first.config}
    synth_figures.write(synth_figures.FILE, [placed(100.0, 140.0, 110.0, **names)])
    made = stub_measure(monkeypatch, placed(*(100.0, 141.0, 110.0)[:seeds], **names))
    arguments = ["synth", "--check", "--block", first.block, "--config", first.config]
    result = CliRunner().invoke(cli.main, [*arguments, "--seeds", str(asked)])
    assert [target.seeds for target in made[0]] == [seeds]
    # The same nextpnr places it again.
    assert made.options["placed_by"] == {first.key: "wheel"}
    assert result.exit_code == (seeds > 1)
    wrong = "seed 2 is said to reach 140.0 MHz, placed again 141.0"
    assert (wrong in result.stderr) == (seeds > 1)


@pytest.mark.parametrize("changed", [{}, *({field: "0" * 64} for field in synth_figures.HASHES)])
def test_update_without_placing_keeps_a_clock_rate_or_writes_nothing(
    changed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_pages(tmp_path)
    monkeypatch.chdir(tmp_path)
    first = all_targets()[0]
    names = {"block": first.block, "config": first.config}
    old = placed(100.0, 140.0, 110.0, **names | changed)
    synth_figures.write(synth_figures.FILE, [old])
    before = {
        path: path.read_text() for path in (synth_figures.FILE, synth_report.PAGE, *costs.PAGES)
    }
    stub_measure(monkeypatch, measured(**names))
    arguments = ["synth", "--update", "--block", first.block, "--config", first.config]
    result = CliRunner().invoke(cli.main, [*arguments, "--seeds", "0"])
    assert synth_figures.read(synth_figures.FILE) == {old.key: old}
    if not changed:
        assert result.exit_code == 0
        return
    assert result.exit_code == 2
    assert "--seeds is 0 with --update" in result.stderr
    assert "keep: IndexGenerator-default: placed with 0 seeds, not 3; the comm" in result.stderr
    assert {path: path.read_text() for path in before} == before
