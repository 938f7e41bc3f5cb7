"""The tutorial 'Connect an SM': its Verilog, run as it is printed, says what the page says."""

import re
import subprocess
from pathlib import Path

import pytest

from warploom_sim.verilog.generate import generate
from warploom_spec import ErrorCode
from warploom_spec.queue import FinalFate

PAGE = Path(__file__).parents[3] / "docs" / "dispatch" / "sm" / "connect_an_sm.md"


@pytest.fixture(scope="module")
def launch_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Verilog of the page's first step."""
    folder = tmp_path_factory.mktemp("tutorial")
    generate(["launch_path"], ["tiny"], folder, settings=["sms=1"])
    return folder / "tiny-sms_1" / "launch_path.v"


def printed() -> tuple[list[str], str]:
    """Return the page's pieces of Verilog, and what it says that they print."""
    text = PAGE.read_text()
    pieces = re.findall(r"^```verilog\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    said = re.search(r"^prints, [^\n]*\n\n((?:    [^\n]*\n)+)", text, re.MULTILINE)
    assert said
    return pieces, re.sub(r"^    ", "", said[1], flags=re.MULTILINE)


def simulate(pieces: list[str], launch_path: Path, folder: Path) -> str:
    """Return what an SM and its bench print on Icarus."""
    files = []
    for number, piece in enumerate(pieces):
        files.append(folder / f"piece{number}.v")
        files[-1].write_text(piece)
    made = folder / "bench.vvp"
    command = ["iverilog", "-g2005", "-s", "bench", "-o", made, *files, launch_path]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run(["vvp", "-n", made], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.thorough
def test_the_page_says_what_its_verilog_prints(launch_path: Path, tmp_path: Path) -> None:
    pieces, said = printed()
    assert len(pieces) == 2 and pieces[0].count("\n") <= 60
    assert simulate(pieces, launch_path, tmp_path) == said
    # A refusal, a finished and a killed launch are in it.
    assert all(
        part in said for part in ("ticket 0, code 1\n", "1 ended, fate 0", "2 ended, fate 1")
    )


def changes() -> tuple[list[tuple[str, str, str]], str]:
    """Return the changes that lose the SM (file, old, new), and the lines that they print last."""
    section = PAGE.read_text().split("### Lose the SM\n")[1]
    rows = re.findall(r"^\| `(\w+\.v)` \| `(.*?)` \| `(.*?)` \|", section, re.MULTILINE)
    said = re.search(r"^The run then ends [^\n]*\n\n((?:    [^\n]*\n)+)", section, re.MULTILINE)
    assert said
    return rows, re.sub(r"^    ", "", said[1], flags=re.MULTILINE)


@pytest.mark.thorough
def test_the_pages_changes_lose_the_sm(launch_path: Path, tmp_path: Path) -> None:
    files = dict(zip(("my_sm.v", "bench.v"), printed()[0], strict=True))
    rows, said = changes()
    assert len(rows) == 4
    for name, old, new in rows:
        assert files[name].count(old) == 1, old
        files[name] = files[name].replace(old, new)
    assert simulate([*files.values()], launch_path, tmp_path).endswith(said)
    assert f"1 ended, fate {FinalFate.FAILED:d}, code {ErrorCode.SM_LOST:d}\n" in said


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("running[s] & kill[stream[s]]", "1'b0"),
        ("done[next] ? OK : KILLED", "OK"),
        ("if (offer) begin", "if (offer & !report_valid) begin"),
        ("running[next] <= 0", "running <= running"),
    ],
)
def test_an_sm_that_breaks_a_rule_prints_something_else(
    rule: str, broken: str, launch_path: Path, tmp_path: Path
) -> None:
    (sm, bench), said = printed()
    assert sm.count(rule) == 1
    assert simulate([sm.replace(rule, broken), bench], launch_path, tmp_path) != said
