"""Where the tool builds: found from any folder, and refused where make cannot build."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom_sim import build_cache, cli
from warploom_sim.build_cache import BUILD, build_root, where_built
from warploom_sim.cosim import simulators
from warploom_sim.failure import ProgramError

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "traces" / "stencil3d_shapes.json.gz"


@pytest.fixture(autouse=True)
def another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that is not the checkout, with nothing said about builds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(BUILD)
    return tmp_path


def test_the_checkouts_build_is_found_from_any_folder() -> None:
    assert build_root() == ROOT / "build"
    assert where_built() == f" in {ROOT / 'build'}"


def test_the_environment_names_another_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for given, there in (("/else/where", Path("/else/where")), ("a/b", tmp_path / "a" / "b")):
        monkeypatch.setenv(BUILD, given)
        assert (build_root(), where_built()) == (there, f" in {there}")
    folder = build_cache.cached("things", [1], lambda folder: (folder / "it").touch())
    assert folder.parent == tmp_path / "a" / "b" / "things" and (folder / "it").is_file()
    monkeypatch.setenv(BUILD, "")
    assert build_root() == ROOT / "build"


@pytest.mark.parametrize("why", ["installed", "read-only"])
def test_without_a_checkout_to_write_to_the_current_folder_has_the_builds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, why: str
) -> None:
    if why == "installed":
        monkeypatch.setattr(build_cache, "_ROOT", tmp_path / "lib" / "python")
    else:
        monkeypatch.setattr(build_cache.os, "access", lambda path, mode: False)
    assert (build_root(), where_built()) == (tmp_path / "build", "")


def test_make_hands_the_folder_on(tmp_path: Path) -> None:
    program = tmp_path / "warploom"
    program.write_text('#!/bin/sh\necho "$1 builds in $WARPLOOM_BUILD"\n')
    program.chmod(0o755)
    text = (ROOT / "Makefile").read_text()
    text = text.replace("SETUP := scripts/bootstrap.sh", "SETUP := :")
    (tmp_path / "Makefile").write_text(text.replace("BIN := .venv/bin", "BIN := ."))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("M")}
    command = ["make", "sim", f"{BUILD}=/else/where"]
    said = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("sim builds in /else/where\n", "")


@pytest.mark.parametrize("odd", [" ", "\t", "#", "$", "'", '"', ":", ";", "&", "("])
def test_verilator_is_refused_in_one_line_where_make_cannot_build(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, odd: str
) -> None:
    folder = tmp_path / f"a{odd}b"
    monkeypatch.setenv(BUILD, str(folder))
    result = CliRunner().invoke(cli.main, ["sim", str(TRACE), "--launches", "1"])
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1)
    assert f"{str(folder)!r}, and make cannot build in a path with {odd!r}" in result.stderr
    assert result.stderr.endswith(f"name another folder with {BUILD}\n")
    assert not folder.exists()
    # Icarus needs no make.
    monkeypatch.setattr(simulators, "environment", lambda name: {})
    simulators.require("icarus")


def test_verilator_itself_may_stand_where_make_cannot_build(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = {"VERILATOR_ROOT": "/home/me/my gpu/.venv/lib/verilator"}
    monkeypatch.setattr(simulators, "environment", lambda name: root)
    with pytest.raises(ProgramError, match=re.escape(f"stands in {root['VERILATOR_ROOT']!r}")):
        simulators.require("verilator")


@pytest.mark.parametrize("plain", ["a-b_c.d+e@f,g=h%i", "\u00e4\u03b2"])
def test_a_plain_path_is_not_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plain: str
) -> None:
    monkeypatch.setenv(BUILD, str(tmp_path / plain))
    simulators.require("verilator")


def test_a_blank_in_the_working_folder_matters_no_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "with blank").mkdir()
    monkeypatch.chdir(tmp_path / "with blank")
    simulators.require("verilator")
