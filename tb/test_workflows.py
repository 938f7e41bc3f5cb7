"""The workflows: each runs make targets that exist, and actions of a named major version."""

import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
#: What each workflow is for, in its order.
RUNS = {
    "nightly": ["formal", "test-deep", "synth CHECK=1", "figures CHECK=1"],
    "release": ["figures CHECK=1", "wheel", "verilog", "docs"],
    "test": ["test", "test-all", "sim"],
}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def steps(workflow: Path) -> list[dict[str, Any]]:
    """Return the steps of all jobs of a workflow."""
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def commands(workflow: Path) -> list[str]:
    """Return what a workflow's steps hand to make, line by line."""
    ran = "\n".join(step.get("run", "") for step in steps(workflow))
    return re.findall(r"^make (.+)$", ran, re.MULTILINE)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_that_exist(workflow: Path) -> None:
    made = {*commands(workflow)}
    assert made == {*RUNS[workflow.stem]}
    assert {command.split()[0] for command in made} <= TARGETS


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_an_action_has_a_major_version(workflow: Path) -> None:
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@v\d+", name) for name in used)


def test_a_step_is_one_target_where_it_hands_out_or_takes_long() -> None:
    for name in ("nightly", "release"):
        ran = [
            step["run"] for step in steps(ROOT / f".github/workflows/{name}.yml") if "run" in step
        ]
        assert ran == [f"make {command}" for command in RUNS[name]]


def test_a_push_is_tested_and_a_pull_request_thoroughly() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    # YAML reads the key `on` as a truth.
    assert {*workflow[True]} == {"push", "pull_request"}
    for job in workflow["jobs"].values():
        runs = [
            (step["run"], step.get("if"))
            for step in job["steps"]
            if step.get("run", "").startswith("make")
        ]
        assert runs == [
            ("make test", "github.event_name == 'push'"),
            ("make test-all", "github.event_name == 'pull_request'"),
            ("make sim", None),
        ]


def pytest_runs(*words: str) -> list[list[str]]:
    """Return the calls of pytest that a target makes, by words."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--no-print-directory", "-n", *words]
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=True)
    return [shlex.split(line) for line in done.stdout.splitlines() if "/pytest" in line]


def test_continuous_integration_runs_what_test_all_runs() -> None:
    said = re.findall(r"^make (.+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert said[0].split()[0] == "test"
    ran = [call for words in said for call in pytest_runs(*words.split())]
    # What a test takes depends on the machine: continuous integration names slow ones, no more.
    tiers = [[word for word in run if word != "--slow-fails"] for run in pytest_runs("test-all")]
    assert ran == tiers and len(ran) == 2


def test_test_all_adds_what_test_leaves_out_and_fails_for_slow_tests() -> None:
    (default,) = pytest_runs("test", "ARGS=tb/spec -x")
    first, rest = pytest_runs("test-all", "ARGS=tb/spec -x")
    assert first == [*default[:-2], "--slow-fails", "tb/spec", "-x"]
    assert rest[-2:] == ["tb/spec", "-x"]
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    left_out = shlex.split(options["addopts"])[-1]
    assert left_out == "not thorough and not deep and not fpga"
    assert rest[3:5] == ["-m", left_out.removeprefix("not ")]


def test_the_pythons_of_the_workflow_are_those_that_the_project_names() -> None:
    tested = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    pythons = tested["jobs"]["python"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={pythons[0]}"
    for page in ("README.md", "CONTRIBUTING.md"):
        assert f"{pythons[0]} to {pythons[-1]}" in " ".join((ROOT / page).read_text().split())


def test_a_release_hands_out_what_its_steps_made() -> None:
    workflow = ROOT / ".github" / "workflows" / "release.yml"
    paths = [step["with"]["path"] for step in steps(workflow) if "path" in step.get("with", {})]
    assert paths == ["dist/*.whl", "build/verilog", "build/site"]
