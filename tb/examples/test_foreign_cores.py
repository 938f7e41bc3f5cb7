"""`make foreign`: what it refuses, what it repairs, and a stand-in's cores behind FrontEnd."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from foreign_cores import (
    THREADS,
    __main__,
    add_vectors,
    bench_files,
    built_bench,
    repaired,
    tiny_gpu,
    verilate,
)
from warploom_sim.failure import ProgramError

ROOT = Path(__file__).parents[2]
STAND_IN = Path(__file__).with_name("stand_in_core.sv")


def checkout(folder: Path, core: str) -> Path:
    """Lay out a folder like a checkout, whose core is the stand-in's."""
    (folder / "src").mkdir(parents=True)
    for name in tiny_gpu.SOURCES:
        (folder / "src" / f"{name}.sv").write_text(core if name == "core" else "// nothing\n")
    return folder


def test_make_says_in_one_line_what_it_needs() -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("M")}
    done = subprocess.run(
        ["make", "-n", "foreign"], cwd=ROOT, env=clean, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "foreign needs TINY_GPU=FOLDER, your own checkout of tiny-gpu" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_that_is_no_checkout_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, missing in (("nowhere", "core"), ("half", "scheduler")):
        if folder == "half":
            checkout(tmp_path / folder, "")
            (tmp_path / folder / "src" / "scheduler.sv").unlink()
        assert __main__.main([str(tmp_path / folder)]) == 2
        said = f"has no src/{missing}.sv; legal: a checkout of tiny-gpu\n"
        printed = capsys.readouterr()
        assert printed.err == f"foreign: TINY_GPU is '{tmp_path}/{folder}', which {said}"
        assert printed.out == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "m #(.A(1),\n    .B(2),\n) n (\n  .c(c),\n);",
            "m #(.A(1),\n    .B(2)\n) n (\n  .c(c)\n);",
        ),
        (
            "begin // why\n  // and why\n  reg a = 0;",
            "begin // why\n  // and why\n  automatic reg a = 0;",
        ),
        # Those that are right stay: no initial value, an assignment, a comma in a list.
        ("begin\n  reg a;\n  a = 0;", "begin\n  reg a;\n  a = 0;"),
        ("module m;\n  reg a = 0;", "module m;\n  reg a = 0;"),
        ("f(a, b)", "f(a, b)"),
    ],
)
def test_a_source_is_repaired_and_means_the_same(text: str, expected: str) -> None:
    assert repaired(text) == expected


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("foreign")


@pytest.fixture(scope="module")
def files(folder: Path) -> list[Path]:
    """Return the files of a simulation with the stand-in's cores."""
    return bench_files(checkout(folder / "checkout", STAND_IN.read_text()), folder)


@pytest.fixture(scope="module")
def bench(files: list[Path], folder: Path) -> Path:
    """Return that simulation."""
    return built_bench(files, folder)


@pytest.mark.thorough
def test_the_bench_fits_the_front_end_the_adapter_and_a_core(files: list[Path]) -> None:
    verilate(files, "--lint-only")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (".report_valid(report_valid),\n    .report_ready(", ".report_ready(", "report_valid"),
        ("threads[$clog2(THREADS):0]", "threads[$clog2(THREADS)+1:0]", "WIDTH"),
    ],
)
def test_a_bench_that_does_not_fit_is_found(
    right: str, wrong: str, message: str, files: list[Path], tmp_path: Path
) -> None:
    text = tiny_gpu.BENCH.read_text()
    assert right in text
    (tmp_path / "wrong.sv").write_text(text.replace(right, wrong))
    changed = [tmp_path / "wrong.sv" if file == tiny_gpu.BENCH else file for file in files]
    with pytest.raises(ProgramError, match=message):
        verilate(changed, "--lint-only")


def test_a_run_without_a_record_or_a_memory_is_not_equal(tmp_path: Path) -> None:
    """The program does nothing, and a memory of an earlier run is there."""
    bench = tmp_path / "bench"
    bench.write_text("#!/bin/sh\n")
    bench.chmod(0o755)
    (tmp_path / "memory.hex").write_text("00\n")
    with pytest.raises(FileNotFoundError):
        add_vectors(bench, 4, tmp_path)
    assert not tiny_gpu.Outcome((), ()).equal
    assert tiny_gpu.Outcome(("ticket 1: fate 0, 5 cycles",), ()).equal


@pytest.mark.deep
@pytest.mark.parametrize("threads", THREADS)
def test_a_core_adds_behind_front_end(threads: int, bench: Path, folder: Path) -> None:
    outcome = add_vectors(bench, threads, folder, seed=threads)
    assert outcome.equal, outcome.differing
    (record,) = outcome.records
    assert record.startswith("ticket 1: fate 0, ")


@pytest.mark.deep
def test_an_aborted_launch_leaves_cores_that_add(bench: Path, folder: Path) -> None:
    outcome = add_vectors(bench, 80, folder, abort_after=20)
    assert outcome.equal
    assert [record.partition(",")[0] for record in outcome.records] == [
        "ticket 1: fate 1",
        "ticket 2: fate 0",
    ]


@pytest.mark.deep
def test_a_core_that_adds_wrongly_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread too few: each block's last element is not written."""
    right, wrong = "t < thread_count &&", "t + 1 < thread_count &&"
    text = STAND_IN.read_text()
    assert right in text
    monkeypatch.chdir(tmp_path)
    assert __main__.main([str(checkout(tmp_path / "checkout", text.replace(right, wrong)))]) == 1
    printed = capsys.readouterr().out
    assert " 4 threads: ticket 1: fate 0, " in printed and "; differs at (11,)" in printed
    assert printed.endswith("add differs\n")


def test_no_line_of_a_checkout_is_here() -> None:
    """The bench names the foreign module, and defines none."""
    text = tiny_gpu.BENCH.read_text()
    assert "core #(" in text and "module core" not in text
    assert shutil.which("git") and not (ROOT / "examples" / "foreign_cores" / "src").exists()
