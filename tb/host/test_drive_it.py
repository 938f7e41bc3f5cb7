"""The tutorial 'Drive it': its commands, its bench and its figures, each beside a run."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from warploom_sim.cosim import simulators
from warploom_spec import preset, timing

# One worker, so that the core is generated once.
pytestmark = pytest.mark.xdist_group("drive_it")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "host" / "drive_it.md"
TIMING = timing(preset("tiny"))
BENCH = Path("tb") / "verilog" / "drive_it.v"
CORE = [f"build/verilog/tiny/{name}.v" for name in ("front_end", "front_end_packed")]
#: Rows of the figures that are no signals of the bench itself.
INSIDE = {"doorbell": "bench.core.core.mailbox.doorbell[0]"}
#: Shown only in cycles in which the other signal is 1.
SHOWN_WITH = {"rdata": "rvalid"}
#: A figure: by row, what stands in it by cycle.
Figure = dict[str, dict[int, str]]


def commands() -> list[str]:
    """Return the page's commands, each on one line."""
    text = PAGE.read_text().replace("\\\n", " ")
    programs = "make|iverilog|vvp|export|verilator|build"
    found = re.findall(rf"^    ((?:{programs})\b.*)$", text, re.MULTILINE)
    return [" ".join(command.split()) for command in found]


def said() -> str:
    """Return what the page says that a run prints."""
    found = re.search(r"^prints, [^\n]*\n\n((?:    [^\n]*\n)+)", PAGE.read_text(), re.MULTILINE)
    assert found
    return re.sub(r"^    ", "", found[1], flags=re.MULTILINE)


def figures() -> list[Figure]:
    """Return the page's figures."""
    text = PAGE.read_text().partition("## Cycle by cycle")[2]
    found = []
    for block in re.findall(r"^    cycle .*\n(?:    .*\n)+", text, re.MULTILINE):
        head, *rows = (line.split() for line in block.splitlines())
        cycles = [int(cycle) for cycle in head[1:]]
        found.append({name: dict(zip(cycles, row, strict=True)) for name, *row in rows})
    return found


def run(command: str, folder: Path) -> str:
    """Run a command as a reader types it; return what it prints."""
    env = {**os.environ, **simulators.environment("verilator")}
    if command.startswith("make "):
        # It sets up nothing here, and finds the programs beside this Python.
        env |= {"MAKEFLAGS": "e", "SETUP": "true", "BIN": str(Path(sys.executable).parent)}
    shell = ["bash", "-c", command]
    done = subprocess.run(shell, cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the commands need of the repository, and the core's Verilog."""
    folder = tmp_path_factory.mktemp("drive_it")
    for name in ("Makefile", "tb"):
        (folder / name).symlink_to(ROOT / name)
    (make,) = (command for command in commands() if command.startswith("make "))
    run(make, folder)
    assert all((folder / file).exists() for file in CORE)
    return folder


def simulate(bench: str, clone: Path, folder: Path, probe: str = "") -> str:
    """Return what a bench prints on Icarus, beside a module that looks into it."""
    (folder / "bench.v").write_text(bench)
    (folder / "probe.v").write_text(probe)
    tops = "-s bench" + (" -s probe" if probe else "")
    made = folder / "bench.vvp"
    run(
        f"iverilog -g2005 {tops} -o {made} {folder}/bench.v {folder}/probe.v {' '.join(CORE)}",
        clone,
    )
    return run(f"vvp -n {made}", clone)


# --- the bench and its commands ----------------------------------------------------------------


def test_the_page_shows_the_bench() -> None:
    (shown,) = re.findall(r"^```verilog\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert shown == (ROOT / BENCH).read_text()
    lines = shown.count("\n")
    assert lines < 100 and f" {lines} lines" in PAGE.read_text()


def test_no_two_lines_are_of_one_cycle() -> None:
    """Verilog leaves their order open, and Verilator's is not that of Icarus."""
    cycles = [line.partition(":")[0] for line in said().splitlines()]
    assert len(cycles) > 10 and len(cycles) == len({*cycles})


@pytest.mark.thorough
def test_the_pages_commands_print_what_the_page_says(clone: Path) -> None:
    chosen = [command for command in commands() if command.startswith(("iverilog ", "vvp "))]
    assert len(chosen) == 2
    printed = [run(command, clone) for command in chosen]
    assert printed == ["", said()]
    # A launch goes from the first access to its record, and a task to its status.
    parts = ("ID 57415250", "rang the doorbell", "takes block 0", "record of ticket 1", "STATUS")
    assert all(part in said() for part in parts)


@pytest.mark.deep
def test_verilator_prints_the_same(clone: Path) -> None:
    """In one shell, as a reader types them: no setting of ours helps the Verilator of the page."""
    starts = ("export ", "verilator ", "build/")
    chosen = [command for command in commands() if command.startswith(starts)]
    assert [command.split()[0] for command in chosen[:3]] == ["export", "export", "verilator"]
    (clone / ".venv").symlink_to(sys.prefix)
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        ["bash", "-ec", "\n".join(chosen)],
        cwd=clone,
        env=bare,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert said() in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        # A grid of 0 blocks; an SM that never reports; a doorbell before its task; a part too many.
        ("32'd3, 160'd0", "32'd0, 160'd0"),
        ("report_valid[n] = count != 0", "report_valid[n] = 0"),
        ("write(16'h1080 + 4", "write(16'h1000 + 4"),
        ("32'd5, 32'd1,", "32'd5, 32'd9,"),
    ],
)
def test_a_bench_that_does_something_else_prints_something_else(
    right: str, wrong: str, clone: Path, tmp_path: Path
) -> None:
    text = (ROOT / BENCH).read_text()
    assert text.count(right) == 1
    assert simulate(text.replace(right, wrong), clone, tmp_path) != said()


def aborted() -> str:
    """Return the bench with the page's abort of a launch of 30 blocks."""
    (abort,) = re.findall(r"^  `(command\(.*\))`, ABORT", PAGE.read_text(), re.MULTILINE)
    text = (ROOT / BENCH).read_text()
    wait = "while (!irq)"
    for old, new in (("32'd3, 160'd0", "32'd30, 160'd0"), (wait, f"{abort};\n    {wait}")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def obeys(printed: str) -> bool:
    """Return whether an aborted launch ended as the page says."""
    last = [int(at) for at in re.findall(r"^(\d+): SM 0 reports", printed, re.MULTILINE)][-3:]
    return (
        "code 0, fate 1\n" in printed
        and 2 < printed.count("takes") == printed.count("reports") < 30
        and [after - at for at, after in pairwise(last)] == [3, 3]
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("right", "wrong", "seen"),
    [
        ("", "", True),
        # One that does not look at `kill`; one that takes a report for taken that waits.
        ("(left == 0 | killed)", "(left == 0)", False),
        (" & report_ready[n];", ";", False),
    ],
)
def test_an_abort_ends_what_the_sms_hold(
    right: str, wrong: str, seen: bool, clone: Path, tmp_path: Path
) -> None:
    text = aborted()
    assert not right or text.count(right) == 1
    assert obeys(simulate(text.replace(right, wrong), clone, tmp_path)) is seen


# --- the figures -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seen(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Figure:
    """Return each row of the figures in every cycle of a run, as a figure shows it."""
    rows = sorted({name for figure in figures() for name in figure} | {*SHOWN_WITH.values()})
    signals = ", ".join(INSIDE.get(row, f"bench.{row}") for row in rows)
    form = " ".join(["figure", "%0d", *["%0h"] * len(rows)])
    probe = f'always @(posedge bench.clk) $display("{form}", bench.cycle, {signals});'
    folder = tmp_path_factory.mktemp("probe")
    text = (ROOT / BENCH).read_text()
    printed = simulate(text, clone, folder, f"module probe;\n  {probe}\nendmodule\n")
    found: Figure = {row: {} for row in rows}
    for line in re.findall(r"^figure (.*)$", printed, re.MULTILINE):
        cycle, *values = line.split()
        now = dict(zip(rows, values, strict=True))
        for row, value in now.items():
            hidden = value == "0" if row not in SHOWN_WITH else now[SHOWN_WITH[row]] == "0"
            found[row][int(cycle)] = "." if hidden else value
    return found


def differing(figure: Figure, seen: Figure) -> list[tuple[str, int]]:
    """Return row and cycle of each cell of a figure that a run does not show."""
    return [
        (row, cycle)
        for row, cells in figure.items()
        for cycle, cell in cells.items()
        if seen[row][cycle] != cell
    ]


def cells(figure: Figure) -> Iterator[tuple[str, int]]:
    """Return row and cycle of each cell."""
    return ((row, cycle) for row, found in figure.items() for cycle in found)


@pytest.mark.thorough
def test_the_figures_show_the_run(seen: Figure) -> None:
    found = figures()
    assert len(found) == 4
    assert [differing(figure, seen) for figure in found] == [[], [], [], []]
    # In each figure each row but a channel's `ready` changes: a figure of dots says nothing.
    idle = {row for f in found for row, shown in f.items() if len({*shown.values()}) == 1}
    assert idle <= {"awready", "wready"}


@pytest.mark.thorough
def test_a_cell_that_is_altered_is_found(seen: Figure) -> None:
    for figure in figures():
        for row, cycle in cells(figure):
            other = "." if figure[row][cycle] != "." else "1"
            altered = figure | {row: figure[row] | {cycle: other}}
            assert differing(altered, seen) == [(row, cycle)]


def first(row: dict[int, str]) -> int:
    """Return the first cycle in which a row is 1."""
    return min(cycle for cycle, cell in row.items() if cell == "1")


def fall(row: dict[int, str]) -> int:
    """Return the first cycle after the last one in which a row is 1."""
    return max(cycle for cycle, cell in row.items() if cell == "1") + 1


def test_the_text_says_what_the_figures_show() -> None:
    """Commits, the first offer, the record and the barrier: cycles and differences."""
    write, launch, record, task = figures()
    commit, answered, offered = (
        first(write["awvalid"]) + 2,
        fall(launch["doorbell"]),
        first(launch["offer[0]"]),
    )
    rung, start, arrived, done = (
        first(task["doorbell"]) - 1,
        first(task["start_valid"]),
        first(task["arrived"]),
        fall(task["doorbell"]),
    )
    # Cycles within the core, by its latencies.
    sent = commit + 2
    taken = sent + TIMING.launch_check + 1
    last = first(record["report_valid[0]"])
    ended = last + TIMING.resident_end
    made = ended + TIMING.queue_record
    text = " ".join(PAGE.read_text().split())
    words = {3: "three", 14: "14", 29: "29"}
    for sentence in (
        f"hold both in {commit - 1}, so the write *commits* in {commit}",
        f"judged and sent in {sent}. KernelQueue accepts it in {taken}, and answers",
        f"its ticket in {taken + TIMING.queue_answer}.",
        f"from {answered} on, {words[answered - commit]} cycles after the commit",
        f"offered in {offered}, {words[offered - commit]} cycles after the commit",
        f"commit: {offered - taken} after the acceptance",
        f"block 2 in {last}. `report_ready[0]` is 0",
        f"The launch has ended in {ended}.",
        f"first word is made in {made} and its last one in {made + 6}.",
        f"It counts from {made + 8} on",
        f"`irq` rises in {first(record['irq'])}, when the record can be read",
        f"commits in {rung}. Core 0 gets its part in {start}, {words[start - rung]} cycles later",
        f"0 from {done} on, {words[done - arrived]} cycles after core 0 arrived",
    ):
        assert sentence in text, sentence
