"""Old builds go: the newest stay, and whatever another process still uses."""

import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tb.support.trace_files import random_document, write
from warploom_sim import build_cache, cli, kept_folders
from warploom_sim.cosim import simulators
from warploom_sim.kept_folders import KEEP, hold, release_folder, remove_old
from warploom_spec import WarploomError

TRACE = Path(__file__).parents[2] / "traces" / "stencil3d_shapes.json.gz"
SMALL = ("--sim", "icarus", "--config", "tiny")
#: Holds a folder, says so, and waits until it is killed or its input ends.
HOLDER = """
import pathlib, sys
from warploom_sim.kept_folders import hold
hold(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def folders(kind: Path, count: int) -> list[Path]:
    """Make folders of a kilobyte each, the oldest first."""
    made = [kind / f"run{number}" for number in range(count)]
    for age, folder in enumerate(made):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(bytes(1000))
        os.utime(folder, (age, age))
    return made


def left(kind: Path) -> list[str]:
    return sorted(path.name for path in kind.iterdir() if path.is_dir())


def holder(folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdout.readline() == "held\n"
    return process


def test_the_newest_stay_and_one_line_says_what_went(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders(tmp_path / "runs", 5)
    remove_old(tmp_path / "runs", 2)
    assert left(tmp_path / "runs") == ["run3", "run4"]
    said = capsys.readouterr().err
    assert said == f"removed 3 old folders (0.0 MB) of runs: the newest 2 stay ({KEEP})\n"
    remove_old(tmp_path / "runs", 2)
    assert capsys.readouterr().err == ""


def test_the_size_said_is_that_of_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, _) = folders(tmp_path / "runs", 2)
    (first / "waves").write_bytes(bytes(2_500_000))
    os.utime(first, (0, 0))
    remove_old(tmp_path / "runs", 1)
    assert "removed 1 old folder (2.5 MB) of runs" in capsys.readouterr().err


def test_the_environment_says_how_many_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders(tmp_path / "runs", 5)
    monkeypatch.setenv(KEEP, "4")
    remove_old(tmp_path / "runs", 1)
    assert left(tmp_path / "runs") == ["run1", "run2", "run3", "run4"]


@pytest.mark.parametrize("end", [signal.SIGKILL, None])
def test_what_another_process_uses_stays_until_it_ends(
    tmp_path: Path, end: signal.Signals | None
) -> None:
    kind = tmp_path / "runs"
    oldest = folders(kind, 4)[0]
    with holder(oldest) as process:
        remove_old(kind, 1)
        assert left(kind) == ["run0", "run3"]
        assert process.stdin
        if end:
            process.send_signal(end)
        process.stdin.close()
        process.wait(timeout=60)
    remove_old(kind, 1)
    assert left(kind) == ["run3"]
    assert not list(Path(".in_use/runs").iterdir())


def test_what_this_process_uses_stays_until_it_lets_it_go(tmp_path: Path) -> None:
    oldest = folders(tmp_path / "runs", 3)[0]
    hold(oldest)
    remove_old(tmp_path / "runs", 1)
    assert oldest.exists()
    release_folder(oldest)
    remove_old(tmp_path / "runs", 1)
    assert not oldest.exists()


def test_a_removal_that_was_broken_off_is_finished(tmp_path: Path) -> None:
    kind = tmp_path / "runs"
    folders(kind, 1)[0].rename(kind / "0123.removed")
    remove_old(kind, 8)
    assert left(kind) == []


def build(number: int) -> Path:
    return build_cache.cached("things", [number], lambda folder: (folder / "it").touch(), keep=2)


def test_a_new_build_removes_the_one_that_was_used_longest_ago() -> None:
    first, second = build(1), build(2)
    for age, folder in enumerate((first, second)):
        release_folder(folder)
        os.utime(folder, (age, age))
    # A broken-off build, and a folder with a name of its own, which is no build.
    (first.parent / f"{first.name}.0123").mkdir()
    os.utime(first.parent / f"{first.name}.0123", (0, 0))
    (first.parent / "runtime-1").mkdir()
    assert build(1) == first  # used now: newer than the second
    release_folder(first)
    third = build(3)
    assert left(first.parent) == sorted([first.name, third.name, "runtime-1"])


def test_a_build_in_use_is_not_built_again_beside_newer_ones() -> None:
    with holder(build(1)):
        release_folder(build(1))
        for number in range(2, 6):
            release_folder(build(number))
        assert build(1).is_dir()
        assert len(left(build(1).parent)) == 3


@pytest.mark.parametrize("wrong", ["0", "-1", "some", "1.5"])
def test_an_illegal_number_is_refused(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv(KEEP, wrong)
    with pytest.raises(WarploomError, match=re.escape(f"{KEEP} is {wrong!r}; legal: a whole num")):
        build(1)
    result = CliRunner().invoke(cli.main, ["sim", str(TRACE), "--launches", "1"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert not Path("build").exists()


def test_a_finished_simulation_keeps_its_program_alone(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    for name in ("Vbench__pch.h.fast.gch", "Vbench.cpp", "Vbench.h", "verilated.o", "bench"):
        (model / name).touch()
    simulators.remove_intermediates(tmp_path, ["Vbench.h"])
    assert sorted(path.name for path in model.iterdir()) == ["Vbench.h", "bench"]
    simulators.remove_intermediates(tmp_path)
    assert [path.name for path in model.iterdir()] == ["bench"]


@pytest.mark.thorough
def test_a_replay_marks_its_folder_and_lets_it_go(tmp_path: Path) -> None:
    """A run that leaves nothing behind leaves no mark either."""
    trace = write(tmp_path, random_document(random.Random(1), 3))
    result = CliRunner().invoke(cli.main, ["sim", str(trace), *SMALL])
    assert result.exit_code == 0, result.output
    assert not list(Path("build/replays").iterdir())
    assert not list(Path("build/.in_use/replays").iterdir())
    builds = {path for path in kept_folders._in_use if Path.cwd() in path.parents}
    assert {path.parent.name for path in builds} == {"replay-verilog", "replay-icarus", "gains"}
