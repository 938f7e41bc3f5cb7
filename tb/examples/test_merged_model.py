"""The merged kernel's program on the instruction model, and what its runner refuses."""

import random
import runpy
import shutil
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from amaranth.hdl import UnusedElaboratable

from simt_host import gpu_run, kernel_sources, merged_command
from simt_host.kernel_sources import KERNELS, current_kernel, is_fresh
from simt_host.merged_case import merged_case
from simt_host.merged_run import planning
from tb.examples.kernel_cases import kernel
from tb.examples.merged_model import NeverEnds, run_merged_model
from tb.examples.merged_tables import random_table, task_of, usual_table, usual_tasks
from tb.merging.graphs import whole_tasks
from warploom_golden.merging import Deadlock, MergePlanner, TableError, run_untimed
from warploom_golden.merging.merge_planner import ORDERS
from warploom_golden.merging.tags_and_marks import permuted
from warploom_spec import WarploomError, preset

TINY = preset("tiny")
FILE = """
[[tasks]]
name = "add"
grid = [2, 1, 1]
block = [8, 1, 1]
cycles = 100
[[tasks]]
name = "stencil"
grid = [1, 1, 1]
block = [3, 3, 3]
cycles = 100
"""
SUM = """
[[tasks]]
name = "sum"
needs = ["add"]
grid = [2, 1, 1]
block = [8, 1, 1]
cycles = 100
"""


@pytest.mark.parametrize("order", ORDERS)
def test_the_results_are_numpys_in_each_order(order: str, seed: int) -> None:
    case = merged_case(usual_table(TINY, order), seed)
    memory = run_merged_model(case, 3, random.Random(seed))
    assert case.equal(memory)
    assert case.kept(memory)
    assert not case.equal(case.images[0].bytes)


def test_two_launches_with_epochs_of_their_own_need_nothing_cleared(seed: int) -> None:
    case = merged_case(usual_table(TINY), seed, epochs=(7, 8))
    memory = run_merged_model(case, 4, random.Random(seed))
    assert case.equal(memory)
    assert {*case.found("tags", memory).tolist()} == {8}
    assert case.found("marks", memory).tolist() == [8, 8, 8]


@pytest.mark.parametrize("number", range(6))
def test_random_tables_end_if_the_models_say_so(number: int, seed: int) -> None:
    rng = random.Random(f"{seed}{number}")
    table = random_table(TINY, rng, blocks=2)
    case, slots = merged_case(table, seed), rng.randint(1, 4)
    try:
        run_untimed(table, slots, rng)
    except Deadlock:
        with pytest.raises(NeverEnds):
            run_merged_model(case, slots, rng)
        return
    assert case.equal(run_merged_model(case, slots, rng))


def test_an_illegal_table_never_ends(seed: int) -> None:
    table = whole_tasks(usual_table(TINY), [2, 0, 1])
    with pytest.raises(TableError):
        MergePlanner(planning(TINY)).check(table)
    case, rng = merged_case(table, seed), random.Random(seed)
    with pytest.raises(NeverEnds):
        run_merged_model(case, 2, rng)
    # With a slot more the task that is awaited has room.
    assert case.equal(run_merged_model(case, 3, rng))


def test_a_legal_table_never_ends_if_the_highest_id_comes_first(seed: int) -> None:
    case = merged_case(usual_table(TINY), seed)
    with pytest.raises(NeverEnds):
        run_merged_model(case, 3, random.Random(seed), highest_first=True)


def test_if_the_last_block_is_that_of_the_highest_id_a_permuted_table_never_ends(
    seed: int,
) -> None:
    table = permuted(whole_tasks(usual_table(TINY), [0, 1, 2]), [0], random.Random(seed))
    # The block of the highest id comes first.
    first, *rest = sorted(table.entries[:3], key=lambda entry: -entry.first[0])
    table = replace(table, entries=(first, *rest, *table.entries[3:]))
    MergePlanner(planning(TINY)).check(table)
    for name, ends in (("merged", True), ("merged_by_block_id", False)):
        case = merged_case(table, seed, kernel=kernel(name))
        if ends:
            assert case.equal(run_merged_model(case, 1, random.Random(seed)))
        else:
            with pytest.raises(NeverEnds):
                run_merged_model(case, 1, random.Random(seed))


class NewestFirst(random.Random):
    """Lets the block that came last go on, nine times of ten."""

    def choice(self, seq):
        return seq[-1] if self.random() < 0.9 else super().choice(seq)


def test_without_the_wait_the_third_task_reads_what_is_not_there_yet(seed: int) -> None:
    case = merged_case(usual_table(TINY), seed, kernel=kernel("merged_no_wait"))
    memory = run_merged_model(case, 12, NewestFirst(seed))
    equal = {name: np.array_equal(case.found(name, memory), out) for name, out in case.outs.items()}
    assert equal == {"out0": True, "out1": True, "out2": False}


def test_the_kernel_is_short() -> None:
    assert len((KERNELS / "merged.c").read_text().splitlines()) <= 150


def test_the_committed_kernels_are_those_of_the_sources() -> None:
    assert is_fresh()


@pytest.fixture
def stale(tmp_path):
    """Return a folder of kernels that are older than their sources."""
    folder = tmp_path / "kernels"
    shutil.copytree(KERNELS, folder)
    source = folder / "merged.c"
    source.write_text(source.read_text() + "\n")
    return folder


def test_a_stale_kernel_is_refused_without_a_compiler(stale, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(kernel_sources, "COMPILER", "no-such-compiler")
    with pytest.raises(WarploomError) as error:
        current_kernel("merged", tmp_path, stale)
    assert str(error.value) == (
        "merged.elf is older than its sources, and no-such-compiler is not installed; run:"
        " sudo apt-get install gcc-riscv64-unknown-elf"
    )


@pytest.mark.skipif(shutil.which(kernel_sources.COMPILER) is None, reason="no gcc for RISC-V")
def test_a_stale_kernel_is_compiled_anew(stale, tmp_path) -> None:
    assert current_kernel("merged", tmp_path, stale).code == kernel("merged").code
    assert (tmp_path / "merged.elf").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            FILE
            + SUM
            + "".join(
                f'[[entries]]\ntask = "{name}"\nfirst = [0, 0, 0]\nlast = {last}\n'
                for name, last in (("sum", [1, 0, 0]), ("add", [1, 0, 0]), ("stencil", [0, 0, 0]))
            ),
            "TABLE_ORDER: entry 0, task 2, block (0, 0, 0): task 0, which it needs, is not"
            " complete; --unchecked runs it",
        ),
        (FILE + FILE.replace('"a', '"A').replace('"s', '"S'), "4 tasks; legal: 1 to 3, as"),
        ("tasks = 3", "'tasks' is no list of tables"),
    ],
)
def test_the_runner_refuses_a_file_in_one_line(text, message, tmp_path, capsys) -> None:
    file = tmp_path / "tasks.toml"
    file.write_text(text)
    assert merged_command.main([str(file)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert (said.startswith("run_merged: "), said.count("\n")) == (True, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sms", "3"], "--sms is 3; legal: 1 to 2, as the preset has"),
        (["--sms", "0"], "argument --sms: '0'; legal: 1 to 4294967295"),
        (["--rounds", "few"], "argument --rounds: 'few'; legal: 1 to 4294967295"),
        (["--seed", "-1"], "argument --seed: '-1'; legal: 0 to 4294967295"),
        (["--timeout", str(2**32)], "argument --timeout: '4294967296'; legal: 0 to 4294967295"),
        (["--config", "huge"], "config is 'huge'; legal: "),
        (["--colour"], "unrecognized arguments: --colour"),
        (["--json", "tasks.toml"], "--json is tasks.toml, the task file; legal: another file"),
    ],
)
def test_the_runner_refuses_an_option_in_one_line(
    options, message, tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.toml").write_text(FILE)
    assert merged_command.main(["tasks.toml", *options]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"run_merged: {message}")
    assert said.count("\n") == 1


def test_the_runners_help_has_examples(capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["run_merged.py", "--help"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(KERNELS / "run_merged.py"), run_name="__main__")
    assert ended.value.code == 0
    assert "\n  run_merged.py tasks.toml\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("grids", "message"),
    [
        ([(1, 1, 1)] * 4, "4 tasks; legal: 1 to 3, as merged.c has"),
        ([(1, 1, 1), (10_000, 1, 1)], "outside the memory; legal: up to 0x40000"),
    ],
)
def test_tasks_that_the_kernel_does_not_fit_are_refused(grids, message, seed: int) -> None:
    tasks = [task_of(number, grid, (8, 1, 1), ()) for number, grid in enumerate(grids)]
    table = MergePlanner(planning(TINY)).plan(tasks)
    with pytest.raises(WarploomError, match=message):
        merged_case(table, seed)


def test_a_block_that_is_too_large_for_the_kernel_is_refused(seed: int) -> None:
    tasks = [*usual_tasks()[:2], task_of(2, (1, 1, 1), (257, 1, 1), ())]
    table = replace(usual_table(TINY), tasks=tuple(tasks))
    with pytest.raises(WarploomError, match="task 2 has blocks of 257 threads; legal: 1 to 256"):
        merged_case(table, seed)


def test_a_build_warns_of_no_component_that_is_made_for_its_ports(monkeypatch) -> None:
    monkeypatch.setattr(gpu_run, "built", lambda recipe, *_: recipe)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        gpu_run._simulation.__wrapped__(TINY, "icarus", None)
        warnings.warn("unused", UnusedElaboratable, stacklevel=1)
        warnings.warn("another", stacklevel=1)
    assert [str(one.message) for one in seen] == ["another"]
