"""What is kept answers only what all that made it would make again: sources, versions, options."""

import ast
import functools
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from unittest import mock

import pytest
from amaranth.back import verilog

from simt_host.c_driver import built_driver
from tb.host import any_start, core_bench
from tb.support.trace_files import random_document, write
from warploom.dispatch import GridWalker
from warploom.host.front_end import FrontEnd
from warploom.lib.axil_pins import AxilPins
from warploom_dev.coverage.simulation import counting_build
from warploom_dev.mutate.runner import compile_mutants
from warploom_sim import build_cache, gains
from warploom_sim.build_cache import PACKAGES, package_folder, sources
from warploom_sim.cosim import simulators
from warploom_sim.cosim.lockstep import Ports, build, cocotb_runner, compilation
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_sim.methods.preempt.bench import preempt_bench_build
from warploom_sim.replay.bench import driver_build, replay_bench_build
from warploom_sim.sweep.comparison import Job, prepare_comparison
from warploom_sim.sweep.execute import execute
from warploom_sim.sweep.plan import made_by
from warploom_spec import preset

ROOT = Path(__file__).parents[2]
TINY = preset("tiny")
Find = Callable[[], object]


class Wanted(Exception):
    """Something is not kept: its folder would be made now."""


@pytest.fixture(autouse=True)
def nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in an empty folder, and make nothing there."""

    def refuse(folder: Path, make: object) -> None:
        raise Wanted(folder)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build_cache, "_make", refuse)
    build_cache.content_of.cache_clear()
    yield
    build_cache.content_of.cache_clear()


def key(find: Find) -> Path:
    """Return the folder that something is looked for in."""
    with pytest.raises(Wanted) as found:
        find()
    folder = found.value.args[0]
    assert isinstance(folder, Path)
    return folder


def find_gains() -> object:
    path = Path("trace.json")
    if not path.exists():
        path = write(Path.cwd(), random_document(random.Random(1), 3))
    return gains(path, "tiny")


def find_row(rtl: bool) -> object:
    raise Wanted(Path(made_by(rtl)))


def find_case() -> object:
    make, params = "tb.sim.test_kept_keys:make", '{"preset_name": "tiny"}'
    return cocotb_runner._simulation.__wrapped__(make, params, "icarus", None)


def make(preset_name: str) -> tuple[GridWalker, None]:
    return GridWalker(preset(preset_name)), None


#: What is kept by all packages' sources.
BY_SOURCES: dict[str, Find] = {
    "a replay's Verilog": partial(replay_bench_build.build, TINY, "icarus"),
    "its Verilog behind the C driver": partial(driver_build.build, TINY),
    "its Verilog over AXI": partial(replay_bench_build.build, TINY, "icarus", host="axi"),
    "Verilog of preemptions": partial(preempt_bench_build.build, TINY),
    "a run of the models": find_gains,
    "a row of a comparison": partial(find_row, False),
    "a row with RTL": partial(find_row, True),
    "a block's RTLIL": partial(build.built, Recipe.of(GridWalker, TINY), "icarus"),
    "RTLIL behind pins": partial(
        build.built, Recipe.of(AxilPins, Recipe.of(FrontEnd, TINY)), "verilator"
    ),
    "a case's RTLIL": find_case,
    "RTLIL of any start": partial(any_start.program, TINY),
}


def keys() -> dict[str, Path]:
    """Return where each kind is looked for."""
    return {name: key(find) for name, find in BY_SOURCES.items()}


#: Kinds whose hardware tests and examples may make as well.
OF_CHECKOUT = [name for name in BY_SOURCES if "RTLIL" in name]


def changed(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Let one byte of a file be another one, wherever sources are read."""
    read = build_cache._read

    def other(asked: str) -> bytes:
        content = read(asked)
        return content[:-1] + bytes([content[-1] ^ 1]) if asked == path else content

    monkeypatch.setattr(build_cache, "_read", other)
    build_cache.content_of.cache_clear()


def endings(folder: Path) -> list[str]:
    """Return of each ending in a folder one file that holds something."""
    files = [path for path in build_cache._files(folder) if os.stat(path).st_size]
    return list({Path(path).suffix: path for path in files}.values())


# By their names: a list that lacks one would be as wrong here as in the product.
@pytest.mark.parametrize(
    "package",
    [
        "warploom",
        "warploom_spec",
        "warploom_golden",
        "warploom_sim",
        "warploom_loops",
        "warploom_host",
    ],
)
def test_a_byte_of_a_package_is_another_key_of_each_kind(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keys()
    assert len({*before.values()}) == len(before)
    changed(monkeypatch, endings(package_folder(package))[0])
    assert not {*before.values()} & {*keys().values()}


@pytest.mark.parametrize("package", ["warploom_spec", "warploom_golden"])
def test_a_kept_row_is_made_anew_after_a_change_of_a_package(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write(Path.cwd(), random_document(random.Random(1), 3))

    def prepared() -> Job:
        return prepare_comparison((trace,), {"config": ("tiny",)}, Path("rows"))

    job = prepared()
    (run,) = job.missing
    row = execute(run, trace.read_bytes()).row
    assert row is not None
    job.results.write(run, row)
    assert prepared().missing == []
    changed(monkeypatch, endings(package_folder(package))[0])
    assert prepared().missing == [run]


def test_a_file_of_any_ending_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [path for package in PACKAGES for path in endings(package_folder(package))]
    assert {Path(path).suffix for path in files} >= {".py", ".v", ".cpp", ".csv", ".jinja", ".toml"}
    seen = {sources()}
    for path in files:
        with monkeypatch.context() as one:
            changed(one, path)
            seen.add(sources())
    assert len(seen) == len(files) + 1


@pytest.mark.parametrize("folder", ["tb", "tools", "examples"])
def test_a_byte_of_tests_tools_or_examples_is_another_key_of_what_they_may_make(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keys()
    changed(monkeypatch, endings(ROOT / folder)[0])
    after = keys()
    assert [name for name in BY_SOURCES if before[name] != after[name]] == OF_CHECKOUT


# --- what is compiled from what the sources made --------------------------------------------------
def last_key(monkeypatch: pytest.MonkeyPatch, kind: str, find: Find, content: str = "one") -> Path:
    """Return where a kind is looked for, when all before it is made of ``content``."""

    def make_stub(folder: Path, make: object) -> None:
        if folder.parent.name == kind:
            raise Wanted(folder)
        folder.mkdir()
        for name in ("generated.v", build._HASH):
            (folder / name).write_text(content)

    with monkeypatch.context() as one:
        one.setattr(build_cache, "_make", make_stub)
        found = key(find)
    shutil.rmtree("build")
    return found


def find_mutants(text: str = "module dut; endmodule") -> object:
    return compile_mutants("GridWalker", text, Ports.of(GridWalker(TINY)))


@functools.cache
def grid_walker_verilog() -> str:
    """Yosys takes a second for it."""
    walker = GridWalker(TINY)
    return verilog.convert(walker, name="dut", ports=Ports.of(walker).to_convert())


def find_counting() -> object:
    text = grid_walker_verilog()
    with mock.patch.object(verilog, "convert", lambda *_, **__: text):
        return counting_build(GridWalker(TINY))


#: What is compiled, by the folder of its kind.
COMPILED: dict[str, Find] = {
    "replay-icarus": partial(replay_bench_build.build, TINY, "icarus"),
    "replay-verilator": partial(replay_bench_build.build, TINY, "verilator", host="axi"),
    "driver-model": partial(driver_build.build, TINY),
    "preempt-verilator": partial(preempt_bench_build.build, TINY),
    "simulations": find_case,
    "mutants": find_mutants,
    "counting": find_counting,
    "any-start": partial(any_start.program, TINY),
    "core-bench": partial(core_bench.built_program, TINY),
    "c-driver": partial(built_driver, TINY),
}
#: Those whose Verilog, or hash of RTLIL, is kept by itself.
IN_TWO_STEPS = [k for k in COMPILED if k not in ("mutants", "counting", "c-driver")]
#: Those that the code of a lockstep's compilation makes.
AS_LOCKSTEP = ("simulations", "mutants", "counting", "any-start")


@pytest.mark.parametrize("kind", COMPILED)
def test_another_version_of_a_tool_is_another_key(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of Verilator's builds that of the C++ compiler, too; of the C driver that alone."""
    found = [last_key(monkeypatch, kind, COMPILED[kind])]
    tools = {"c-driver": ["compiler"]}.get(kind, ["version", "compiler"])
    if kind in ("replay-icarus", "simulations"):
        tools.remove("compiler")
    for tool in tools:
        monkeypatch.setattr(simulators, tool, lambda name: "another version")
        found.append(last_key(monkeypatch, kind, COMPILED[kind]))
    assert len({*found}) == 1 + len(tools)


@pytest.mark.parametrize("kind", IN_TWO_STEPS)
def test_other_hardware_is_another_key_and_other_sources_of_the_same_are_not(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = COMPILED[kind]
    before = last_key(monkeypatch, kind, find)
    assert last_key(monkeypatch, kind, find, "another") != before
    changed(monkeypatch, endings(package_folder("warploom"))[0])
    assert last_key(monkeypatch, kind, find) == before


@pytest.mark.parametrize("kind", AS_LOCKSTEP)
def test_other_flags_and_other_code_that_compiles_are_another_key(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = COMPILED[kind]
    found = [last_key(monkeypatch, kind, find)]
    simulator = "icarus" if kind == "simulations" else "verilator"
    with monkeypatch.context() as one:
        one.setitem(compilation.FLAGS, simulator, ("-g2012",))
        found.append(last_key(one, kind, find))
    for module in (build, compilation, any_start):
        if hasattr(module, "own_source"):
            monkeypatch.setattr(module, "own_source", lambda: ["another"])
    found.append(last_key(monkeypatch, kind, find))
    assert len({*found}) == 3


def test_all_that_compiles_a_simulation_stands_in_its_own_source() -> None:
    tree = ast.parse(Path(compilation.__file__).read_text())
    named = {
        f"{node.module}.{name.name}" if node.module == "warploom_sim.cosim" else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("warploom")
        for name in node.names
    }
    # These two decide nothing about what is compiled: where it is kept, and how a failure is told.
    named -= {"warploom_sim.build_cache", "warploom_sim.failure"}
    named -= {"warploom_sim.cosim.lockstep", "warploom_sim.verilog"}
    files = [sys.modules[str(name)].__file__ for name in (compilation.__name__, *named)]
    assert sorted(compilation.own_source()) == sorted(Path(str(f)).read_text() for f in files)


@pytest.mark.parametrize("name", BY_SOURCES)
@pytest.mark.parametrize("package", ["amaranth", "numba"])
def test_another_version_of_what_makes_it_is_another_key(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(BY_SOURCES[name])
    real = metadata.version

    def other(asked: str) -> str:
        return "another" if asked == package else real(asked)

    monkeypatch.setattr(metadata, "version", other)
    models = name in ("a run of the models", "a row of a comparison", "a row with RTL")
    rtl = name not in ("a run of the models", "a row of a comparison")
    assert (key(BY_SOURCES[name]) != before) == (rtl if package == "amaranth" else models)
