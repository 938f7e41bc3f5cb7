"""Compiled functions: kept from process to process, and never kept when they are out of date."""

import ast
import importlib
import os
import random
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import FunctionType, ModuleType

import numba
import pytest

from warploom_golden.merging import merged_machine
from warploom_golden.replay import compiled, event_model, h200_machine, h200_state
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_golden.replay.residents import machine as resident_machine
from warploom_spec import Config, LaunchDescriptor, preset

GOLDEN = Path(compiled.__file__).parents[1]
ROOT = GOLDEN.parents[1]
#: A function that calls another one; prints its value and whether it was compiled here.
PROGRAM = """
    from warploom_golden.replay.compiled import compiled, inlined
    FACTOR = 3

    @inlined
    def scaled(x: int) -> int:
        return FACTOR * x

    @compiled
    def result(x: int) -> int:
        return scaled(x) + 1

    print(result(5), sum(result.stats.cache_misses.values()))
"""


def printed(script: Path, *arguments: str, golden: Path = ROOT / "golden", **variables: str) -> str:
    """Run a program in a process of its own and return what it prints."""
    folders = os.pathsep.join(str(folder) for folder in (ROOT / "spec", golden))
    environment = os.environ | {"PYTHONPATH": folders} | variables
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.thorough
def test_a_second_process_compiles_nothing_and_a_changed_file_is_compiled_again(
    tmp_path: Path,
) -> None:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    # It is kept beside the program.
    assert [printed(script), printed(script)] == ["16 1", "16 0"]
    script.write_text(textwrap.dedent(PROGRAM).replace("FACTOR = 3", "FACTOR = 40"))
    assert printed(script) == "201 1"


def test_it_is_compiled_even_where_nothing_can_be_kept() -> None:
    """Of a function without a file nothing can."""
    names: dict[str, FunctionType] = {}
    exec("def increased(x): return x + 1", names)
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(names["increased"])
    increased = compiled.compiled(names["increased"])
    assert increased(2) == 3
    assert len(increased.signatures) == 1


# --- what stands in another file must be counted in -----------------------------------------------
def imported(source: str) -> dict[str, str]:
    """Return the names that a module imports from others, each with the module's name."""
    statements = (s for s in ast.walk(ast.parse(source)) if isinstance(s, ast.ImportFrom))
    return {a.asname or a.name: s.module or "" for s in statements for a in s.names}


def foreign(module: ModuleType, parts: Collection[str]) -> set[tuple[str, str]]:
    """Return each compiled function that uses a name of a file that is none of the parts."""
    assert module.__file__
    names = imported(Path(module.__file__).read_text(encoding="utf-8"))
    used = ((f, name) for f in functions(module) for name in {*names} & {*f.__code__.co_names})
    return {(f.__name__, name) for f, name in used if names[name] not in parts}


def functions(module: ModuleType) -> Iterator[FunctionType]:
    """Give the functions of a module that are compiled."""
    return (f.py_func for f in vars(module).values() if hasattr(f, "py_func"))


def users() -> list[str]:
    """Return the names of the models' modules that import `compiled` or `inlined`."""
    using = [
        path
        for path in GOLDEN.rglob("*.py")
        if {"compiled", "inlined", "part"} & {*imported(path.read_text())}
    ]
    return sorted(".".join(path.relative_to(GOLDEN.parent).with_suffix("").parts) for path in using)


PARTS = [part.__name__ for part in resident_machine.PARTS]


#: The machines that are compiled, and the files that are compiled together with each.
MACHINES = {
    resident_machine.__name__: PARTS,
    merged_machine.__name__: [resident_machine.__name__, *PARTS],
    # Numba has its own.
    h200_machine.__name__: ["heapq"],
}


def test_the_machines_alone_are_compiled() -> None:
    assert {*users()} <= {*MACHINES, *PARTS}
    assert len(users()) == 9


def test_the_h200s_machine_has_the_constant_of_its_state() -> None:
    assert h200_machine.NONE == h200_state.NONE


@pytest.mark.parametrize("name", users())
def test_compiled_functions_use_the_machines_own_files_alone(name: str) -> None:
    module = importlib.import_module(name)
    assert len([*functions(module)]) > 1
    assert not foreign(module, MACHINES.get(name, PARTS))


def test_a_constant_of_another_file_is_found(tmp_path: Path) -> None:
    module = ModuleType("other")
    module.__file__ = str(tmp_path / "other.py")
    source = "from warploom_golden.replay.event_constants import NEVER\ndef late(): return NEVER\n"
    Path(module.__file__).write_text(source)
    exec(source, vars(module))
    vars(module)["late"] = compiled.inlined(vars(module)["late"])
    assert foreign(module, ()) == {("late", "NEVER")}
    assert not foreign(module, PARTS)


#: Runs a replay; prints whether its machine was compiled here.
MACHINE = """
    from warploom_golden.replay import event_model
    from warploom_golden.replay.residents import machine
    from warploom_spec import LaunchDescriptor, preset

    event_model.run([LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1))], preset("tiny"), 1)
    print(sum(machine.advance.stats.cache_misses.values()))
"""

#: The same with a launch among merged ones.
MERGED = """
    from warploom_golden.merging import merged_machine
    from warploom_golden.merging.merged_replay import run_merged
    from warploom_spec import LaunchDescriptor, preset

    run_merged([LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1))], preset("tiny"), 1)
    print(sum(merged_machine.advance.stats.cache_misses.values()))
"""


# A changed file is compiled again, and each part counts: the tests before and behind.
@pytest.mark.deep
@pytest.mark.parametrize("program", [MACHINE, MERGED], ids=["replay", "merged"])
def test_a_change_of_any_part_is_compiled_again(tmp_path: Path, program: str) -> None:
    package = tmp_path / "warploom_golden"
    shutil.copytree(GOLDEN, package, ignore=shutil.ignore_patterns("__pycache__"))
    script = tmp_path / "machine.py"
    script.write_text(textwrap.dedent(program))
    assert [printed(script, golden=tmp_path), printed(script, golden=tmp_path)] == ["1", "0"]
    part = package / "replay" / "event_constants.py"
    part.write_text(part.read_text() + "# Changed.\n")
    assert printed(script, golden=tmp_path) == "1"


def test_the_number_of_the_sources_depends_on_each_part(tmp_path: Path) -> None:
    modules = [ModuleType(name) for name in ("one", "two", "three")]
    for module in modules:
        module.__file__ = str(tmp_path / module.__name__)
        Path(module.__file__).write_text("")
    numbers = {compiled.source_number(*modules)}
    for module in modules:
        assert module.__file__
        Path(module.__file__).write_text("changed")
        numbers.add(compiled.source_number(*modules))
    assert len(numbers) == 4
    assert all(0 <= number < 1 << 56 for number in numbers)


# --- indices are not checked ---------------------------------------------------------------------
@pytest.mark.parametrize("policy", PREDICTED_POLICIES)
def test_the_largest_configuration_has_room(policy: str) -> None:
    most = {f.name: f.metadata["high"] for f in fields(Config) if "high" in f.metadata}
    slots = most["block_slots"]
    config = replace(
        preset("large"), policy=policy, sms=most["sms"], block_slots=slots, warp_slots=slots
    )
    places = config.sms * slots
    launch = LaunchDescriptor(
        grid=(2 * places, 1, 1), block=(32, 1, 1), barriers=0, arguments=2 * places
    )
    offers = event_model.run([launch], config, 1).tables["offers"]
    first = {*zip(offers["sm"][:places].tolist(), offers["slot"][:places].tolist(), strict=True)}
    assert first == {(sm, slot) for sm in range(config.sms) for slot in range(slots)}
    assert len(offers["cycle"]) == 2 * places


#: Prints what a replay by each pair of policies shows; reads the launches' lengths.
REPLAYS = """
    import itertools, sys
    from dataclasses import replace
    from warploom_golden.replay import event_model
    from warploom_spec import LaunchDescriptor, preset
    from warploom_golden.replay.event_constants import PREDICTED_POLICIES
    from warploom_spec.config import RECLAIMS

    launches = [
        LaunchDescriptor(
            grid=(12, 3, 1),
            block=(8 * (1 + number % 5), 1, 1),
            shared=7 * (number % 3),
            stream=number % 2,
            code=number,
            arguments=int(length),
        )
        for number, length in enumerate(sys.argv[1:])
    ]
    for policy, reclaim in itertools.product(PREDICTED_POLICIES, RECLAIMS):
        config = replace(preset("tiny"), policy=policy, reclaim=reclaim)
        for every in (None, 2):
            events = event_model.run(launches, config, 3, every)
            print(events.stalls, [[*map(list, t.values())] for t in events.tables.values()])
"""


@pytest.mark.thorough
def test_compiled_or_not_the_replay_is_the_same(tmp_path: Path, seed: int) -> None:
    """As plain Python indices are checked, and numbers that left 64 bits are refused."""
    script = tmp_path / "replays.py"
    script.write_text(textwrap.dedent(REPLAYS))
    rng = random.Random(seed)
    lengths = [str(rng.choice((4, 40, 400))) for _ in range(8)]
    compiled_here = printed(script, *lengths)
    assert printed(script, *lengths, NUMBA_DISABLE_JIT="1", PYTHONWARNINGS="error") == compiled_here
    assert len(compiled_here.splitlines()) == 16 and len(compiled_here) > 200_000
