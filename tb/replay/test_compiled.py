"""Compiled functions: kept from process to process, and never kept when they are out of date."""

import ast
import importlib
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import FunctionType, ModuleType

import numba
import pytest

from warploom_golden.replay import compiled, event_dispatch, event_model
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


def printed(script: Path, *arguments: str, **variables: str) -> str:
    """Run a program in a process of its own and return what it prints."""
    folders = os.pathsep.join(str(ROOT / name) for name in ("spec", "golden"))
    environment = os.environ | {"PYTHONPATH": folders} | variables
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


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


# --- what stands in another file would be out of date unnoticed -----------------------------------
def imported(source: str) -> set[str]:
    """Return the names that a module imports."""
    statements = ast.walk(ast.parse(source))
    aliases = (a for s in statements if isinstance(s, ast.Import | ast.ImportFrom) for a in s.names)
    return {alias.asname or alias.name for alias in aliases}


def foreign(module: ModuleType) -> set[tuple[str, str]]:
    """Return each compiled function of a module with each imported name that its code uses."""
    assert module.__file__
    names = imported(Path(module.__file__).read_text(encoding="utf-8"))
    return {
        (f.__name__, name) for f in functions(module) for name in names & {*f.__code__.co_names}
    }


def functions(module: ModuleType) -> Iterator[FunctionType]:
    """Give the functions of a module that are compiled."""
    return (f.py_func for f in vars(module).values() if hasattr(f, "py_func"))


def users() -> list[str]:
    """Return the names of the models' modules that import `compiled`."""
    using = [path for path in GOLDEN.rglob("*.py") if "compiled" in imported(path.read_text())]
    return sorted(".".join(path.relative_to(GOLDEN.parent).with_suffix("").parts) for path in using)


def test_the_machines_alone_are_compiled() -> None:
    assert users() == [
        f"warploom_golden.{m}" for m in ("preemption.machine", "replay.event_machine")
    ]


@pytest.mark.parametrize("name", users())
def test_compiled_functions_use_nothing_of_another_file(name: str) -> None:
    module = importlib.import_module(name)
    assert len([*functions(module)]) > 1
    assert not foreign(module)


def test_a_constant_of_another_file_is_found(tmp_path: Path) -> None:
    module = ModuleType("other")
    module.__file__ = str(tmp_path / "other.py")
    source = "from warploom_golden.replay.event_machine import NEVER\ndef late(): return NEVER\n"
    Path(module.__file__).write_text(source)
    exec(source, vars(module))
    vars(module)["late"] = compiled.inlined(vars(module)["late"])
    assert foreign(module) == {("late", "NEVER")}


# --- indices are not checked ---------------------------------------------------------------------
@pytest.mark.parametrize("policy", event_dispatch.POLICIES)
def test_the_largest_configuration_has_room(policy: str) -> None:
    most = {f.name: f.metadata["high"] for f in fields(Config) if f.metadata}
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
    from warploom_spec.config import POLICIES, RECLAIMS

    launches = [
        LaunchDescriptor(
            grid=(12, 3, 1),
            block=(8 * (1 + number % 5), 1, 1),
            shared=7 * (number % 3),
            stream=number % 2,
            after_previous=number % 3 > 0,
            code=number,
            arguments=int(length),
        )
        for number, length in enumerate(sys.argv[1:])
    ]
    for policy, reclaim in itertools.product(POLICIES, RECLAIMS):
        config = replace(preset("tiny"), policy=policy, reclaim=reclaim)
        events = event_model.run(launches, config, 3)
        print(events.stalls, [[*map(list, table.values())] for table in events.tables.values()])
"""


def test_compiled_or_not_the_replay_is_the_same(tmp_path: Path, seed: int) -> None:
    """As plain Python indices are checked, and numbers that left 64 bits are refused."""
    script = tmp_path / "replays.py"
    script.write_text(textwrap.dedent(REPLAYS))
    rng = random.Random(seed)
    lengths = [str(rng.choice((4, 40, 400))) for _ in range(8)]
    compiled_here = printed(script, *lengths)
    assert printed(script, *lengths, NUMBA_DISABLE_JIT="1", PYTHONWARNINGS="error") == compiled_here
    assert len(compiled_here.splitlines()) == 8 and len(compiled_here) > 100_000
