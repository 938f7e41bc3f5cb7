"""What stands around the command: closed streams, odd terminals, ways to call it."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from warploom_sim import screen
from warploom_sim.screen import LEAST_WIDTH, PIPE_WIDTH, TableConsole, table_console

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "traces" / "stencil3d_shapes.json.gz"
WORDS = ("policy", "least_loaded", "makespan", "119,904", "cannot", "apart")


def table() -> Table:
    """Return a table whose words need 40 columns."""
    made = Table(title="runs")
    for head in ("policy", "makespan", "verdict"):
        made.add_column(head, no_wrap=head == "makespan")
    made.add_row("least_loaded", "119,904", "cannot be told apart")
    return made


def command(ending: str, *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell that ends its line with something."""
    line = f'"$@" {ending}'
    call = ["bash", "-c", f"set -o pipefail; {line}", "-", sys.executable, "-m", "warploom_sim"]
    # Python keeps back what is printed, as for everybody who has not asked for the contrary.
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": ""}
    environment = {**os.environ, **own, **options}
    return subprocess.run([*call, *arguments], env=environment, capture_output=True, text=True)


# --- width --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        *(
            (said, PIPE_WIDTH)
            for said in (None, "", "0", "00", "-1", "abc", "1.5", "\u0663", "9" * 99)
        ),
        ("100", 100),
        ("0100", 100),
        ("1", LEAST_WIDTH),
        ("999999999", screen.MOST_WIDTH),
    ],
)
def test_columns_that_say_nothing_bound_no_table(columns: str | None, width: int) -> None:
    # Not for the whole test: pytest itself counts with COLUMNS when it says how far it is.
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        if columns is not None:
            patch.setenv("COLUMNS", columns)
        found = table_console().width
    assert found == width


@pytest.mark.parametrize("columns", ["0", "1", "20", "40"])
def test_a_narrow_table_keeps_every_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    table_console().print(table())
    said = capsys.readouterr().out
    assert all(word in said for word in WORDS) and said.isascii()
    assert len({len(line) for line in said.splitlines() if line[0] in "+|"}) == 1
    assert ("cannot be told apart" in said) == (columns == "0")


@pytest.mark.parametrize("term", ["dumb", "xterm"])
@pytest.mark.parametrize(("columns", "width"), [("", 61), ("0", 61), ("45", 45)])
def test_a_terminal_has_the_width_that_it_says(
    monkeypatch: pytest.MonkeyPatch, term: str, columns: str, width: int
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLUMNS", columns)
    ours, terminal = pty.openpty()
    with os.fdopen(ours), os.fdopen(terminal, "w") as stdout:
        size = os.terminal_size((61, 20))
        subprocess.run(["stty", "cols", str(size.columns)], stdin=stdout, check=True)
        monkeypatch.setattr(sys, "stdout", stdout)
        assert table_console().width == width


def test_a_dumb_terminal_gets_lines_for_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    for term, lines in (("dumb", True), ("xterm", False)):
        console = TableConsole(force_terminal=True, _environ={"TERM": term})
        progress = screen.progress_bar(console=console)
        assert isinstance(progress, screen.LineProgress) == lines


# --- streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [">&-", "2>&-", ">&- 2>&- <&-", "| true"])
def test_who_does_not_read_the_output_gets_the_files_and_the_exit_code(
    tmp_path: Path, ending: str
) -> None:
    figures = tmp_path / "figures.json"
    done = command(ending, "trace", "info", str(TRACE), "--json", str(figures))
    assert (done.returncode, done.stderr) == (0, "")
    # A file that got the number of a closed stream would hold what was printed.
    assert figures.read_text().startswith("{") and figures.read_text().endswith("}\n")


@pytest.mark.parametrize(
    ("ending", "arguments", "code", "said"),
    [
        (">&-", ("trace", "info", "nofile"), 2, "does not exist"),
        ("2>&- >&-", ("trace", "info", "nofile"), 2, ""),
        ("2>/dev/full", ("trace", "info", "nofile"), 2, ""),
        (">&-", ("--help",), 0, ""),
    ],
)
def test_a_closed_or_full_output_changes_no_refusal(
    ending: str, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = command(ending, *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr and done.stderr.count("\n") == bool(said)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("--help",), ("trace", "info", str(TRACE))])
def test_what_cannot_be_written_is_one_line_and_exit_code_3(
    arguments: tuple[str, ...], unbuffered: str
) -> None:
    """Also where Python writes it at its very end alone."""
    done = command(">/dev/full", *arguments, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "Error: [Errno 28] No space left on device\n"


def test_a_name_that_the_outputs_encoding_lacks_is_printed_with_question_marks(
    tmp_path: Path,
) -> None:
    trace = tmp_path / "spur_\u00e4.json.gz"
    trace.symlink_to(TRACE)
    done = command("", "trace", "info", str(trace), PYTHONIOENCODING="ascii")
    # A long path is folded.
    assert "spur_?.json" in "".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (0, "")


# --- calls --------------------------------------------------------------------------------------


def test_each_way_to_call_the_command_is_the_same() -> None:
    ways = (
        [Path(sys.executable).with_name("warploom")],
        [sys.executable, "-m", "warploom_sim"],
        [sys.executable, "-m", "warploom_sim.cli"],
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run(
            [*way, "trace", "--help"], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for way in ways
    ]
    assert said[0].startswith("Usage: warploom trace") and said == said[:1] * 3
