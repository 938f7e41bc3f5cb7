"""The picture of a run of ``make sim``: what the run prints, and nothing of this machine."""

import re
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom_dev import cli
from warploom_dev.commands import record
from warploom_dev.terminal_picture import picture

ROOT = Path(__file__).parents[2]


def lines(svg: str) -> list[str]:
    """Return the lines of text of a terminal's picture."""
    rows: dict[str, str] = {}
    for y, text in re.findall(r'<text class="[^"]*-r\d+" x="[^"]*" y="([^"]*)"[^>]*>([^<]*)<', svg):
        rows[y] = rows.get(y, "") + unescape(text).replace("\xa0", " ")
    return [row.rstrip() for row in rows.values()]


def test_a_picture_has_each_line_and_needs_no_server() -> None:
    svg = picture("one & \x1b[31mtwo\x1b[0m\n  three < 3\n", "make it", 40)
    assert lines(svg) == ["$ make it", "one & two", "  three < 3"]
    assert "@font-face" not in svg and "cdnjs" not in svg
    assert picture("one & \x1b[31mtwo\x1b[0m\n  three < 3\n", "make it", 40) == svg


def test_the_committed_picture_is_of_a_run_without_mismatches() -> None:
    shown = lines((ROOT / record.PICTURE).read_text())
    assert shown[0] == "$ make sim"
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in shown]
    assert ["mismatches", "0"] in cells and ["simulator", "verilator"] in cells
    assert not re.search(r"/(home|root|work|tmp)/", "\n".join(shown))
    assert str(record.PICTURE) in (ROOT / "README.md").read_text()


def test_a_run_that_fails_leaves_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = tmp_path / record.PICTURE
    there.parent.mkdir(parents=True)
    there.write_text("as it was")
    done = CliRunner().invoke(cli.main, ["record", "--", "--config", "huge"])
    assert (done.exit_code, there.read_text()) == (3, "as it was")
    assert "config is huge" in done.output or "huge" in done.output
