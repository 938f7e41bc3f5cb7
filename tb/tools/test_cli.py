"""``python -m warploom_dev``: help, exit codes, and that it works in the repository alone."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tb.support.command_help import command_paths, exit_codes, has_examples
from warploom_dev import cli
from warploom_sim.cli import FAILED, REFUSED

#: Commands that prove or compare something, and can find it wrong: exit code 1.
FAILING = ("coverage", "families", "figures", "formal", "mutate", "synth")
COMMANDS = [path for path in command_paths(cli.main) if path]


@pytest.mark.parametrize("path", command_paths(cli.main), ids=" ".join)
def test_every_commands_help_has_examples(path: tuple[str, ...]) -> None:
    assert has_examples(cli.main, path, "python -m warploom_dev")


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_commands_help_has_its_exit_codes(path: tuple[str, ...]) -> None:
    codes = {0, REFUSED, FAILED} | ({1} if path[0] in FAILING else set())
    assert exit_codes(cli.main, path) == codes


def test_the_commands_are_run_as_a_module() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "warploom_dev", "--help"], capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("Usage: python -m warploom_dev ")
    assert all(f"\n  {path[0]} " in said.stdout for path in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (("synth", "--check"), "docs/figures/synth.json"),
        (("synth", "--update"), "docs/tools/synth.md"),
        (("coverage", "--update"), "docs/tools/coverage.md"),
        (("mutate", "--update"), "docs/figures/mutate.json"),
        (("formal", "--update"), "docs/tools/formal.md"),
        (("figures",), "docs/tools/synth.md"),
    ],
)
def test_what_is_the_repositorys_is_refused_elsewhere_before_any_work(
    arguments: tuple[str, ...], missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.main, list(arguments))
    assert result.exit_code == 2
    assert f"{missing} is not here: run it in the repository" in " ".join(result.stderr.split())
    assert not any(tmp_path.iterdir())


def test_an_extra_that_mutate_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cocotb", None)
    result = CliRunner().invoke(cli.main, ["mutate", "grid_walker"])
    assert result.exit_code == 2
    needs = "python -m warploom_dev mutate needs the Python package cocotb"
    assert result.stderr == f"Error: {needs}; run: pip install 'warploom[sim]'\n"
