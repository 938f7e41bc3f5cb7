"""Kernels from the host's doorbell to the record: FrontEnd, SimtCores, the C driver."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simt_host import gpu_bench
from simt_host.c_driver import NOTHING_YET, CDriver, built_driver
from simt_host.gpu_run import run_kernels
from tb.examples.kernel_cases import KERNELS, KernelCase, kernel, kernel_case
from tb.examples.run_kernels import rows, run_of
from warploom_sim.commands import run as run_command
from warploom_spec import ErrorCode, WarploomError, preset
from warploom_spec.queue import FinalFate

TINY = preset("tiny")
ADD = str(KERNELS / "vector_add.elf")
SIZES = ("--grid", "1,1,1", "--block", "8,1,1")


def run_all(runs, folder, simulator: str = "verilator"):
    return run_kernels(runs, TINY, simulator, folder)


def fates(outcome) -> list[tuple[FinalFate, int]]:
    return [(FinalFate(record["fate"]), record["code"]) for record in outcome.records]


def other_kernel(name: str, case: KernelCase) -> KernelCase:
    """Return a case with the program of a kernel whose one argument is its buffer."""
    found = kernel(name)
    for address, data in found.segments:
        case.image.bytes[address : address + len(data)] = np.frombuffer(data, np.uint8)
    at = case.image.arguments
    case.image.bytes[at : at + 4] = np.array([case.image.addresses["out"]], "<u4").view(np.uint8)
    return KernelCase(name, found, case.grid, case.block, case.image, case.out)


@pytest.mark.deep
@pytest.mark.parametrize(("config", "launches"), [("tiny", 89), ("default,sms=1", 44)])
def test_every_kernel_and_shape_equals_numpy(config: str, launches: int) -> None:
    made = rows(config, "verilator")
    assert len(made) == launches
    assert made[-1]["doorbell_to_record"] > made[-1]["cycles"]
    assert all(row["equal"] and row["index_reads"] for row in made)


@pytest.mark.deep
def test_the_vector_addition_on_icarus(tmp_path, seed: int) -> None:
    case = kernel_case("vector_add", (7, 5, 1), seed, blocks=2)
    (outcome,) = run_all([run_of(case)], tmp_path, "icarus")
    assert fates(outcome) == [(FinalFate.FINISHED, 0)]
    np.testing.assert_array_equal(case.result(outcome.memory), case.out)


@pytest.mark.deep
def test_an_abort_in_every_cycle_leaves_the_next_launch_right(tmp_path, seed: int) -> None:
    case = kernel_case("vector_add", (8, 1, 1), seed, blocks=2)
    (alone,) = run_all([run_of(case)], tmp_path)
    whole = alone.records[0]["waited"]
    cycles = range(1, whole + 20)
    runs = [run for cycle in cycles for run in (run_of(case, abort_after=cycle), run_of(case))]
    outcomes = run_all(runs, tmp_path)
    ends = [fates(outcome)[0] for outcome in outcomes[::2]]
    assert {*ends} == {(FinalFate.ABORTED, 0), (FinalFate.FINISHED, 0)}
    assert ends.count((FinalFate.ABORTED, 0)) > whole // 2
    for cycle, outcome in zip(cycles, outcomes[1::2], strict=True):
        assert fates(outcome) == [(FinalFate.FINISHED, 0)], cycle
        np.testing.assert_array_equal(case.result(outcome.memory), case.out, str(cycle))


@pytest.mark.deep
def test_a_fault_fails_the_launch_and_an_abort_ends_what_never_ends(tmp_path, seed: int) -> None:
    case = kernel_case("vector_add", (12, 1, 1), seed, blocks=3)
    faults = other_kernel("faults", kernel_case("vector_add", (12, 1, 1), seed, blocks=3))
    never = other_kernel("never_ends", kernel_case("vector_add", (12, 1, 1), seed, blocks=3))
    runs = [run_of(faults), run_of(case), run_of(never, limit=3000), run_of(case)]
    failed, after, aborted, last = run_all(runs, tmp_path)
    assert fates(failed) == [(FinalFate.FAILED, ErrorCode.BLOCK_FAULT)]
    assert fates(aborted) == [(FinalFate.ABORTED, 0)]
    for outcome in (after, last):
        assert fates(outcome) == [(FinalFate.FINISHED, 0)]
        np.testing.assert_array_equal(case.result(outcome.memory), case.out)


@pytest.mark.deep
def test_the_command_runs_a_kernel(tmp_path) -> None:
    a = np.arange(50, dtype=np.int32)
    np.save(tmp_path / "a.npy", a)
    buffers = [f"a={tmp_path / 'a.npy'}", f"b={tmp_path / 'a.npy'}", "out=zeros:50"]
    options = [word for text in buffers for word in ("--buffer", text)]
    options += [word for text in ("a", "b", "out", "50") for word in ("--arg", text)]
    outputs = ["--json", tmp_path / "r.json", "--wave", tmp_path / "w.fst", "--out", tmp_path]
    sizes = ["--grid", "2,1,1", "--block", "33,1,1"]
    done = warploom(ADD, *sizes, *options, *outputs)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "r.json").read_text())
    assert figures["fate"] == "finished"
    assert (figures["code"], figures["blocks"], figures["index_reads"]) == (0, 2, 10)
    assert figures["instructions"] > 100
    assert (tmp_path / "w.fst").stat().st_size > 1000
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a + a)


def warploom(*words) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("warploom")
    command = [program, "run", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((ADD, *SIZES, "--arg", "c"), "argument is 'c'; legal: a number"),
        ((ADD, *SIZES, "--buffer", "c"), "buffer is 'c'; legal: NAME=FILE.npy, NAME=zeros:N"),
        ((ADD, *SIZES, "--buffer", "c=zeros:65536"), "buffer c ends at 0x410c0, outside"),
        ((ADD, "--grid", "0,1,1", *SIZES[2:]), "grid x is 0; legal: 1 to 65535"),
        ((ADD, "--grid", "1,1,256", *SIZES[2:]), "grid z is 256; legal: 1 to 255"),
        ((ADD, *SIZES[:2], "--block", "1,1,65"), "block z is 65; legal: 1 to 64"),
        (
            (ADD, *SIZES[:2], "--block", "129,1,1"),
            "block (129, 1, 1) has 129 threads; legal: 1 to 128",
        ),
        ((ADD, "--grid", "1,1", *SIZES[2:]), "'1,1' is no size; legal: X,Y,Z, such as 4,1,1."),
        ((ADD, *SIZES, "--set", "smz=1"), "field is 'smz'; legal: sms, warp_size"),
        ((ADD, *SIZES, "--set", "sms=0"), "sms is 0; legal: 1 to 256"),
        (
            (ADD, "--grid", "1,1,256", *SIZES[2:], "--set", "grid_bits=16,8,7"),
            "grid z is 256; legal: 1 to 127",
        ),
        ((str(KERNELS / "kernel.ld"), *SIZES), "no ELF file"),
        (("none.elf", *SIZES), "none.elf: No such file or directory"),
    ],
)
def test_what_cannot_run_is_refused_in_one_line(words, message, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoked(words)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        ({"registers": 97}, "a block takes 48 register units; legal: up to 32"),
        ({"shared_bytes": 64 * 128 + 1}, "a block takes 65 shared-memory units; legal: up to 64"),
        ({"barriers": 5}, "a block takes 5 barriers; legal: up to 4"),
    ],
)
def test_a_block_that_takes_too_much_is_refused(needs, message, seed: int, tmp_path) -> None:
    case = kernel_case("vector_add", (96, 1, 1), seed, blocks=1)
    run = run_of(replace(case, kernel=replace(case.kernel, **needs)))
    with pytest.raises(WarploomError, match=message):
        run_kernels([run], TINY, "verilator", tmp_path)


def test_outside_the_repository_one_line_says_what_is_needed(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(run_command, "EXAMPLES", tmp_path / "examples")
    result = invoked((ADD, *SIZES))
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: run needs the folder examples/ of Warploom's repository, which is not in the"
        " package; legal: run from a checkout\n"
    )


def invoked(words):
    from click.testing import CliRunner

    from warploom_sim.cli import main

    return CliRunner().invoke(main, ["run", *words])


def test_a_block_whose_indices_do_not_fit_the_memory_is_refused(tmp_path, seed: int) -> None:
    case = kernel_case("vector_add", (17, 1, 1), seed, blocks=1)
    small = replace(TINY, index_memory_warps=2)
    with pytest.raises(WarploomError, match=r"\(17, 1, 1\) has 17 threads; legal: 1 to 16"):
        run_kernels([run_of(case)], small, "verilator", tmp_path)


@pytest.mark.deep
def test_two_launches_at_once_are_over_sooner_with_rows_of_their_own(tmp_path, seed: int) -> None:
    """At one address the second shape's indices are made when the first launch is over.

    Five shapes do not fit into the memory together: the driver lets them share rows.
    """
    one = kernel_case("vector_add", (121, 1, 1), seed, blocks=1)
    two = kernel_case("vector_add", (122, 1, 1), seed, blocks=1, behind=one)
    many = [kernel_case("vector_add", (n, 1, 1), seed, blocks=1) for n in range(121, 126)]
    runs = [run_of(one, two, index_address=0), run_of(one, two), *map(run_of, many)]
    outcomes = run_all(runs, tmp_path)
    for cases, outcome in zip([(one, two)] * 2 + [(case,) for case in many], outcomes, strict=True):
        assert fates(outcome) == [(FinalFate.FINISHED, 0)] * len(cases)
        for case in cases:
            np.testing.assert_array_equal(case.result(outcome.memory), case.out)
    shared, own = (outcome.records[-1]["waited"] for outcome in outcomes[:2])
    print(f"doorbell to record: {shared} cycles at one address, {own} with rows of their own")
    assert own < 0.8 * shared


class Silent:
    """A GPU, and the driver on it, that never has a record; each call takes a while."""

    written_at = now = 0

    def counts(self) -> tuple[int, int]:
        return 0, 0

    def cycle(self) -> int:
        self.now += 1000
        return self.now

    async def wait(self, cycles: int) -> None:
        self.now += cycles

    def call(self, *arguments) -> int:
        return 0

    def launch(self, fields: dict[str, int], after: list) -> tuple[int, int]:
        return 0, 1

    def event(self, stream: int) -> tuple[int, int]:
        return stream, 1

    def wait_record(self) -> tuple[int, dict[str, int]]:
        return NOTHING_YET, {}


def test_a_gpu_that_never_gives_a_record_ends_the_run() -> None:
    silent = Silent()
    launch = {"launches": [{"stream": 0}], "pauses": [0], "after": [()]}
    plan = launch | {"sms": 1, "limit": 5000}
    with pytest.raises(RuntimeError, match="no record in 1\\d{5} cycles, aborts included"):
        gpu_bench.run(silent, silent, plan)


def test_what_an_access_raises_comes_through_the_c_driver() -> None:
    """Alone ctypes would print it, and the driver would go on with a word that nobody read."""

    def read32(address: int) -> int:
        raise RuntimeError(f"no answer at {address:#x}")

    driver = CDriver(built_driver(TINY), read32, lambda address, value: None, lambda: None)
    with pytest.raises(RuntimeError, match="no answer at 0x0"):
        driver.call("identify")
