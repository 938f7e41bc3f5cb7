"""Delivered Verilog in the hands of others: other dialects, Verilator's lint, Yosys."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tb.host.any_start import any_start
from tb.support.deep_values import deep_but
from warploom_dev.yosys import run_yosys
from warploom_sim.cosim import simulators
from warploom_sim.verilog.blocks import BLOCKS, block, blocks_of
from warploom_sim.verilog.generate import component_text, generate, module_text
from warploom_sim.verilog.portable_verilog import LINT, LINT_ALL, hide_first_rows, run_at_start
from warploom_spec import preset

TINY = preset("tiny")
BENCH = Path(__file__).parents[2] / "verilog" / "launch_three.v"
#: What the bench prints of each block.
SAID = {
    "block_dispatcher": "SM 0 block 0\nSM 1 block 1\nSM 0 block 2\nended stream 0 fate 0 code 0\n",
    "launch_path": "ticket 1 code 0\nSM 0 block 0\nSM 1 block 1\nSM 0 block 2\n"
    "ended 1 fate 0 code 0\n",
}
DEFINES = {"block_dispatcher": (), "launch_path": ("-DLAUNCH_PATH",)}
FIRST_VALUES = [(), ("-DDECLARED",)]

every_block = pytest.mark.parametrize("name", SAID)
every_bench = pytest.mark.parametrize("first_values", FIRST_VALUES, ids=["initial", "declared"])


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the blocks' files for `tiny`."""
    folder = tmp_path_factory.mktemp("delivered")
    generate(list(SAID), ["tiny"], folder)
    return folder / "tiny"


def run(*command: str, env: Mapping[str, str] | None = None) -> str:
    """Run a program that must not fail; return what it prints."""
    surroundings = {**os.environ, **(env or {})}
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
@every_block
@every_bench
@pytest.mark.parametrize("dialect", ["2005", "2012"])
def test_a_bench_written_by_hand_starts_it_on_icarus(
    name: str, first_values: tuple[str, ...], dialect: str, delivered: Path, tmp_path: Path
) -> None:
    """In SystemVerilog no initial value is an event that an ``always @*`` could wait for."""
    made = str(tmp_path / "bench.vvp")
    flags = (f"-g{dialect}", "-s", "bench", "-o", made, *DEFINES[name], *first_values)
    run("iverilog", *flags, str(BENCH), str(delivered / f"{name}.v"))
    assert run("vvp", "-n", made) == SAID[name]


@every_block
@pytest.mark.deep
def test_a_bench_written_by_hand_starts_it_on_verilator(
    name: str, delivered: Path, tmp_path: Path
) -> None:
    flags = ("--binary", "--timing", "-Wno-fatal", "-CFLAGS", "-std=c++20 -O0", "--quiet")
    top = ("--top-module", "bench", "--Mdir", str(tmp_path), "-o", "bench", "-DDECLARED")
    files = (str(BENCH), str(delivered / f"{name}.v"))
    env = simulators.environment("verilator")
    run("verilator", *flags, *top, *DEFINES[name], *files, env=env)
    assert run(str(tmp_path / "bench")).startswith(SAID[name])


def complaints(*files: Path, flags: Sequence[str] = ()) -> set[str]:
    """Return the rules of Verilator's lint that files break; the last one's module is the top."""
    env = {**os.environ, **simulators.environment("verilator")}
    top = re.findall(r"^module (\w+)", files[-1].read_text(), re.MULTILINE)[-1]
    command = ["verilator", "--lint-only", *flags, "--top-module", top, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    found = set(re.findall(r"^%\w+-([A-Z]+)", done.stderr, re.MULTILINE))
    assert bool(found) == bool(done.returncode), done.stderr
    return found


def test_a_block_of_one_statement_starts_by_itself_too() -> None:
    """Yosys writes it without the register that the others read."""
    register = "\\$auto$verilog_backend.cc:1:dump_module$2"
    text = (
        f"module m(a);\n  reg {register}  = 0;\n  always @*\n    words[63:57] = 7'h00;\n"
        f"  always @* begin\n    if ({register} ) begin end\n    b = a;\n  end\nendmodule\n"
        "module n(a);\n  assign b = a;\nendmodule\n"
    )
    made = run_at_start(text)
    blocks = re.findall(r"^  always @\*(.*?)^  end$", made, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2 and all(register in block for block in blocks)
    assert "words[63:57] = 7'h00;" in blocks[0] and made.count("initial #0") == 1


@pytest.mark.thorough
@every_block
def test_verilators_lint_passes_under_all_rules(name: str, delivered: Path) -> None:
    assert not complaints(delivered / f"{name}.v", flags=("-Wall",))


@pytest.mark.thorough
def test_the_head_explains_each_rule_that_is_off(delivered: Path) -> None:
    head = (delivered / "block_dispatcher.v").read_text().partition("\nmodule ")[0]
    off = re.findall(r"lint_off (\w+) ", head)
    assert {*off} == {*re.findall(r"^//   ([A-Z]{6,}) +\S+ \S", head, re.MULTILINE)}
    assert len(off) == len({**LINT, **LINT_ALL})


@pytest.mark.deep
def test_no_rule_is_off_without_need_or_in_another_file(tmp_path: Path) -> None:
    text = module_text("front_end", "default")
    bare = re.sub(r"^/\* verilator lint_off .*\n", "", text, flags=re.MULTILINE)
    (tmp_path / "bare.v").write_text(bare)
    assert complaints(tmp_path / "bare.v") == {*LINT}
    assert complaints(tmp_path / "bare.v", flags=("-Wall",)) == {*LINT, *LINT_ALL}
    (tmp_path / "first.v").write_text(module_text("grid_walker", "default"))
    assert complaints(tmp_path / "first.v", tmp_path / "bare.v") == {*LINT}


def netlist(text: str, folder: Path) -> str:
    """Return what Yosys reads, without the places in the file."""
    folder.mkdir()
    (folder / "block.v").write_text(text)
    run_yosys("read", "read_verilog block.v\nproc\nwrite_rtlil block.il\n", folder)
    return re.sub(r"block\.v:[\d.-]+", "block.v", (folder / "block.il").read_text())


@pytest.mark.thorough
@every_block
def test_yosys_reads_the_netlist_that_is_measured(name: str, tmp_path: Path) -> None:
    measured = component_text(block(name)(preset("tiny")), name)
    read = netlist(module_text(name, "tiny"), tmp_path / "delivered")
    assert read == netlist(measured, tmp_path / "measured")
    assert len(read) > 100_000


def memories_with_values(text: str, folder: Path) -> int:
    """Return how many first values of memories a synthesis reads."""
    folder.mkdir()
    (folder / "block.v").write_text(text)
    run_yosys("read", "read_verilog block.v\nproc -norom\nwrite_rtlil block.il\n", folder)
    return (folder / "block.il").read_text().count("cell $meminit")


def test_synthesis_sees_no_first_value_that_the_reset_makes_unseen(tmp_path: Path) -> None:
    """Those that the bench `any start` makes random, and only of the blocks that it looks at."""
    text = component_text(block("loop_expander")(TINY), "loop_expander")
    drawn = re.findall(r"^    (\S+ *\[\d+\]) = bench_any", any_start(text).text, re.MULTILINE)
    hidden = hide_first_rows(text, "host")
    parts = re.findall(r"^`ifndef SYNTHESIS\n(.*?)^`endif$", hidden, re.MULTILINE | re.DOTALL)
    assert re.findall(r"^    (\S+ *\[\d+\]) = ", "".join(parts), re.MULTILINE) == drawn
    assert memories_with_values(text, tmp_path / "seen") and len(drawn) > 50
    assert not memories_with_values(hidden, tmp_path / "hidden")
    assert hide_first_rows(text, "sm_side") == text


@pytest.mark.deep
def test_a_bench_runs_where_first_values_are_for_simulators_alone(tmp_path: Path) -> None:
    """Icarus has four states: without first values one X of a memory stays for ever."""
    generate(["front_end"], ["tiny"], tmp_path, no_init=True)
    files = ("warploom_pkg.sv", "front_end.v", "front_end_packed.v", "front_end_bench.v")
    paths = [str(tmp_path / "tiny" / name) for name in files]
    made = str(tmp_path / "bench.vvp")
    run("iverilog", "-g2012", "-s", "warploom_front_end_bench", "-o", made, *paths)
    assert run("vvp", "-n", made).endswith("record of ticket 1\n")
    text = Path(paths[1]).read_text()
    assert "// Written with --no-init: " in text and not complaints(*map(Path, paths[:3]))
    assert not memories_with_values(text, tmp_path / "synthesis")


HOST_BLOCKS = [
    name for name in blocks_of(TINY) if type(BLOCKS[name](TINY)).__module__.split(".")[1] == "host"
]


#: SMs that cannot kill, on a GPU that makes its own indices.
REDUCED = ("index_memory_warps=0", "sm_kill=False")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "settings"),
    # Of the parts the core consists.
    deep_but([("front_end", ())], [*((name, ()) for name in HOST_BLOCKS), ("front_end", REDUCED)]),
)
def test_the_hosts_blocks_pass_verilator_icarus_and_yosys_check(
    name: str, settings: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.v"
    path.write_text(module_text(name, "tiny", settings))
    assert not complaints(path, flags=("-Wall",))
    for dialect in ("2005", "2012"):
        flags = (f"-g{dialect}", "-Wall", "-t", "null", "-s", f"warploom_{name}")
        said = run("iverilog", *flags, str(path))
        assert not said
    script = f"read_verilog {name}.v\nhierarchy -check -top warploom_{name}\nproc\ncheck -assert\n"
    run_yosys("check", script, tmp_path)
