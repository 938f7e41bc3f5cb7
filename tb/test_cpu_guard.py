"""Default tests that take too much processor time are named, and fail the run where that counts."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tb.support import cpu_guard

ROOT = Path(__file__).parents[1]
#: A tenth of a second is much here.
PLUGIN = """
from pathlib import Path
from tb.support import cpu_guard

cpu_guard.MOST = 0.1
cpu_guard.LIST = Path(__file__).with_name("listed.json")
"""
TESTS = """
import subprocess, sys, time
import numba
import pytest
from warploom_sim.build_cache import cached

BURN = "import time\\nwhile time.process_time() < 0.2: pass"

def burn(folder=None):
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass

@pytest.fixture(scope="session")
def shared():
    burn()

@pytest.fixture
def own():
    burn()

@pytest.mark.parametrize("one", ["a", "b"])
def test_alone(one):
    burn()

def test_in_a_child():
    subprocess.run([sys.executable, "-c", BURN], check=True)

def test_before_it_begins(own): ...

def test_shares_what_takes_long(shared): ...

def test_keeps_a_build(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cached("toy", ["a"], burn)

def test_compiles():
    @numba.njit
    def loop(count):
        total = 0
        for number in range(count):
            total += number * number % 7
        return total

    assert loop(3) == 5

def test_waits():
    time.sleep(0.2)

@pytest.mark.thorough
def test_may_take_long():
    burn()
"""
SLOW = ["test_alone[a]", "test_alone[b]", "test_before_it_begins", "test_in_a_child"]


def run(
    folder: Path, *options: str, listed: tuple[str, ...] = ()
) -> tuple[int, dict[str, str], str]:
    """Run the tests; return the exit code, what was said of each slow one, and all that was."""
    (folder / "quick_limits.py").write_text(PLUGIN)
    (folder / "test_times.py").write_text(TESTS)
    reasons = {f"test_times.py::{name}": f"why {name}" for name in listed}
    (folder / "listed.json").write_text(json.dumps(reasons))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        "/dev/null",
        "--rootdir",
        folder,
        "-W",
        "ignore",
    ]
    command += ["-p", "quick_limits", "-p", "tb.conftest", "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        [*command, folder / "test_times.py"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}:{folder}"},
        capture_output=True,
        text=True,
    )
    said = [
        line.split("test_times.py::", 1)[1] for line in done.stdout.splitlines() if " s  " in line
    ]
    return done.returncode, dict(line.split(": ", 1) for line in said), done.stdout + done.stderr


@pytest.mark.thorough
def test_a_slow_default_test_is_named_with_its_seconds(tmp_path: Path) -> None:
    code, slow, said = run(tmp_path, "-n", "1")
    assert code == 0 and "9 passed" in said and "FAILED" not in said, said
    assert slow == dict.fromkeys(SLOW, "not in listed.json")


@pytest.mark.thorough
@pytest.mark.parametrize("processes", ["0", "1"])
def test_where_it_counts_one_without_a_reason_fails_the_run(processes: str, tmp_path: Path) -> None:
    code, slow, said = run(tmp_path, "-n", processes, "--slow-fails", listed=("test_alone",))
    assert code == 1 and "9 passed" in said and "FAILED: make them shorter" in said, said
    assert slow == {
        name: "why test_alone" if "alone" in name else "not in listed.json" for name in SLOW
    }


@pytest.mark.thorough
def test_one_on_the_list_may_be_slow(tmp_path: Path) -> None:
    listed = ("test_alone", "test_before_it_begins", "test_in_a_child")
    code, slow, said = run(tmp_path, "--slow-fails", listed=listed)
    assert code == 0 and sorted(slow) == SLOW and "FAILED" not in said, said


def test_each_name_on_the_list_is_a_test_that_runs_by_default() -> None:
    for name, reason in json.loads(cpu_guard.LIST.read_text()).items():
        file, _, function = name.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        assert function in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
        assert reason.strip()
