"""The measured curve beside the rule: reading, fitting, and that page and figure are current."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from warploom_dev import cli
from warploom_dev.commands import contention
from warploom_dev.contention_curve import fit, read_curves, rule
from warploom_spec import WarploomError

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / contention.RECORDING
#: Marks in the SVG stand at these names.
USE = "{http://www.w3.org/2000/svg}use"


def test_the_recording_is_read() -> None:
    curves = read_curves(RECORDING)
    lines = [line for line in RECORDING.read_text().splitlines() if " warps an SM: " in line]
    assert sum(map(len, curves.values())) == len(lines) == 108
    assert len(curves) == 6
    assert curves["dependent FMA"][16] == 0.878
    assert curves["FMA, 4 independent"][64] == 0.144


def test_a_curve_of_the_rule_has_its_knee() -> None:
    for knee in (1, 5, 16, 31):
        found = fit({warps: rule(warps, knee) for warps in range(1, 33)})
        assert (found.knee, found.worst) == (knee, 0)


def test_a_line_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "curve.txt"
    file.write_text("# comment\nGPU\nkernel 3 warps: 5\n")
    with pytest.raises(WarploomError, match="measurement 2 is 'kernel 3 warps: 5'; legal: KIND N"):
        read_curves(file)


def test_the_page_has_the_table_that_the_recording_gives() -> None:
    assert contention.knees(RECORDING) in (ROOT / contention.PAGE).read_text()


def test_the_figure_has_every_mark_where_the_recording_puts_it() -> None:
    groups = {
        group.get("id"): [
            (float(use.get("x", 0)), float(use.get("y", 0))) for use in group.iter(USE)
        ]
        for group in ElementTree.parse(ROOT / contention.FIGURE).iter()
    }
    for kind, curve in read_curves(RECORDING).items():
        marks = sorted(groups[f"{kind}, one"] + groups[f"{kind}, two"])
        assert len(marks) == len(curve)
        (x0, y0), (x1, _) = marks[0], marks[-1]
        lowest = max(y for _, y in marks)
        scale = (max(curve.values()) - min(curve.values())) / (lowest - min(y for _, y in marks))
        for (x, y), (warps, rate) in zip(marks, sorted(curve.items()), strict=True):
            assert (x - x0) / (x1 - x0) * 63 + 1 == pytest.approx(warps)
            assert (y0 - y) * scale + curve[1] == pytest.approx(rate, abs=2e-3)


def test_the_command_writes_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (contention.RECORDING, contention.PAGE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((ROOT / path).read_text())
    current = contention.PAGE.read_text()
    stale = re.sub(r"\| dependent FMA \| \d+", "| dependent FMA | 99", current)
    assert stale != current
    contention.PAGE.write_text(stale)
    result = CliRunner().invoke(cli.main, ["contention"], catch_exceptions=False)
    assert result.exit_code == 0
    assert contention.PAGE.read_text() == current
    assert contention.FIGURE.read_bytes().startswith(b"<?xml")


def test_outside_the_repository_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.main, ["contention"])
    assert result.exit_code == 2
    assert "silicon/contention.txt is not here" in result.stderr
