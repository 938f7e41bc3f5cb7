"""How tests run: with many seeds, those of one group on one worker, until all has happened."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tb.support import hard_cases
from tb.support.lockstep_runs import EVENTS
from tb.support.stream_buffer import FaultyStimulus, make
from warploom_sim.cosim.lockstep import Case

ROOT = Path(__file__).parents[1]
TESTS = """
from pathlib import Path
from hypothesis import given, strategies as st

def note(text):
    with open(Path(__file__).with_name("drawn"), "a") as file:
        file.write(f"{text}\\n")

def test_seed(seed):
    note(f"seed {seed}")
    assert RIGHT

@given(st.integers(0, 2**64))
def test_examples(x):
    note(f"example {x}")
    assert RIGHT

def test_that_draws_nothing():
    note("nothing")
"""


def run(folder: Path, *options: str, right: bool = True) -> tuple[str, list[str]]:
    """Run the tests, all right or all wrong; return what they say and what they drew."""
    file, drawn = folder / "test_drawn.py", folder / "drawn"
    file.write_text(TESTS.replace("RIGHT", str(right)))
    drawn.unlink(missing_ok=True)
    shutil.rmtree(folder / ".hypothesis", ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", folder, "-v"]
    command += ["-p", "tb.conftest", "-p", "no:cacheprovider", *options, file]
    # As at home: continuous integration draws the same always.
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr, drawn.read_text().splitlines() if drawn.exists() else []


def test_each_random_test_runs_once_with_each_seed(tmp_path: Path) -> None:
    said, drawn = run(tmp_path, "--seeds", "4", "--seed", "9")
    assert "8 passed, 1 deselected" in said
    seeds = re.findall(r"test_seed\[(\d+)\]", said)
    assert [line for line in drawn if "seed" in line] == [f"seed {seed}" for seed in seeds]
    assert len(set(seeds)) == 4
    # Each round of Hypothesis draws 100 examples, few of them the same.
    assert len({line for line in drawn if "example" in line}) > 200
    assert "nothing" not in drawn
    # The same seed draws the same again.
    assert run(tmp_path, "--seeds", "4", "--seed", "9")[1] == drawn


def test_without_the_option_each_test_runs_once(tmp_path: Path) -> None:
    said, drawn = run(tmp_path, "--seed", "9")
    assert "3 passed" in said
    assert drawn[0] == "seed 9" and drawn[-1] == "nothing"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "option"), [("test_seed", "--seed"), ("test_examples", "--hypothesis-seed")]
)
def test_a_failure_says_how_its_case_is_run_again(name: str, option: str, tmp_path: Path) -> None:
    said, _ = run(tmp_path, "--seeds", "2", "--seed", "9", "-k", name, right=False)
    assert "2 failed" in said
    again = re.findall(r"again with: (--\S+) (\d+) -k (\S+)$", said, re.MULTILINE)
    assert [(one[0], one[2]) for one in again] == [(option, name)] * 2
    # Each alone draws its part of what both drew.
    parts = [run(tmp_path, option, seed, "-k", name)[1] for _, seed, _ in again]
    assert run(tmp_path, "--seeds", "2", "--seed", "9", "-k", name)[1] == parts[0] + parts[1]


@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_what_is_no_count_of_seeds_is_refused(text: str, tmp_path: Path) -> None:
    said, drawn = run(tmp_path, f"--seeds={text}")
    assert f"--seeds is '{text}'; legal: a number from 1 up" in said
    assert drawn == []


GROUPED = """
import os, pytest
from pathlib import Path

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(8))
def test_where(number):
    Path(__file__).with_name(f"{number}").write_text(os.environ["PYTEST_XDIST_WORKER"])
"""


@pytest.mark.thorough
def test_tests_of_one_group_share_a_worker(tmp_path: Path) -> None:
    """What a group's tests read is made once. With pytest 9.2 pytest-xdist 3.8 does not see it."""
    (tmp_path / "test_grouped.py").write_text(GROUPED)
    options = ["-c", "/dev/null", "--rootdir", tmp_path, "-n", "2", "--dist=loadgroup"]
    command = [sys.executable, "-m", "pytest", *options, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "8 passed" in done.stdout, done.stdout + done.stderr
    assert len({(tmp_path / str(number)).read_text() for number in range(8)}) == 1


def test_lockstep_runs_end_with_the_round_in_which_the_last_event_happened(seed: int) -> None:
    rounds = []

    def cases(number: int) -> list[Case]:
        rounds.append(number)
        # Only from the third round on somebody counts.
        events = EVENTS if number > 1 else {}
        return [Case(make=make, seed=seed + number, stimulus=FaultyStimulus, events=events)]

    total = hard_cases.run_until(["full", "transfers of i"], cases, "amaranth")
    assert rounds == [0, 1, 2] and total["full"] and total["transfers of i"]


def test_what_never_happens_fails_in_the_end(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard_cases, "MOST", 2)
    cases = [Case(make=make, seed=seed, stimulus=FaultyStimulus, events=EVENTS)]
    with pytest.raises(AssertionError, match="never observed: a miracle"):
        hard_cases.run_until(["full", "a miracle"], lambda number: cases, "amaranth")
