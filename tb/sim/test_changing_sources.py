"""Sources that change while a process runs, in their files or in memory: nothing kept answers."""

import importlib
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from amaranth.hdl import Module

from tb.support.planted import plant
from tb.support.record import forget_simulations
from tb.support.seeded_faults import GRID_WALKER
from tb.support.trace_files import DEVICE
from warploom.dispatch import GridWalker
from warploom.host import task_units
from warploom_sim import build_cache
from warploom_sim.build_cache import PACKAGES, cached_by_sources, package_folder
from warploom_sim.cosim.lockstep import build
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_spec import preset

TINY = preset("tiny")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_source_that_changed_in_memory_has_its_own_rtlil(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing kept is asked; the RTLIL is made of what is loaded."""
    recipe = Recipe.of(GridWalker, TINY)
    kept = build.rtlil_hash(recipe)
    assert len([*Path("build/netlists").glob("*/" + build._HASH)]) == 1
    forget_simulations(monkeypatch)
    assert build.rtlil_hash(recipe) == kept
    plant(monkeypatch, [GRID_WALKER["skip_block"]])
    assert build.rtlil_hash(recipe) != kept
    assert len([*Path("build/netlists").glob("*/" + build._HASH)]) == 1


def test_what_is_made_of_a_source_in_memory_answers_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the same test, and not a later process."""
    made: list[Path] = []
    for planted in (False, True):
        if planted:
            forget_simulations(monkeypatch)
        made += [cached_by_sources("things", [], lambda folder: None) for _ in range(2)]
    assert made[0] == made[1] and len({*made}) == 3


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (GridWalker, "elaborate", lambda self, platform: Module()),
        (task_units, "BusPort", GridWalker),
        ("warploom_spec.layouts.FATE_BITS", 3, None),
        (DEVICE, "name", "no source"),
    ],
)
def test_whatever_a_test_replaces_in_the_hardware_nothing_kept_answers(
    owner: object, name: object, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(owner, str):
        monkeypatch.setattr(owner, name)
    elif isinstance(owner, dict):
        monkeypatch.setitem(owner, name, value)
    else:
        monkeypatch.setattr(owner, str(name), value)
    assert build_cache.sources_as_loaded is isinstance(owner, dict)


def test_a_maker_outside_the_checkout_is_elaborated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it imports is not known."""
    (tmp_path / "foreign_maker.py").write_text("from warploom.dispatch import GridWalker as made\n")
    monkeypatch.syspath_prepend(tmp_path)
    outside = Recipe("any", ("foreign_maker:made",), partial(GridWalker, TINY))
    importlib.import_module("foreign_maker")
    assert not outside.is_of_sources
    assert build.rtlil_hash(outside) == build._hash_made(GridWalker(TINY))


#: Begins before its sources change; says two times what it finds.
PROCESS = """
import sys
from warploom_sim.build_cache import cached_by_sources, sources
def make(folder):
    (folder / "it").write_text(sys.argv[1])
    if sys.argv[1] == "slow":
        print("makes", flush=True)
        sys.stdin.readline()
before = sources()
print("began", flush=True)
sys.stdin.readline()
folder = cached_by_sources("things", [], make)
print((folder / "it").read_text(), sources() == before, flush=True)
"""


class Process:
    """A process with a copy of the packages, that goes on when it is told."""

    def __init__(self, packages: Path, word: str):
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROCESS, word],
            env=os.environ | {"PYTHONPATH": str(packages)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._says() == "began"

    def _says(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def goes_on(self) -> str:
        """Return what it says next."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._says()

    def ends(self) -> str:
        """Return what it says at its end."""
        said, _ = self._process.communicate("\n", timeout=60)
        assert self._process.returncode == 0
        return said.strip()


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Copy the packages."""
    folder = tmp_path / "packages"
    for package in PACKAGES:
        shutil.copytree(
            package_folder(package), folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folder


def test_a_process_whose_sources_change_neither_finds_nor_leaves_anything(packages: Path) -> None:
    source = packages / "warploom" / "__init__.py"
    old = source.read_text()
    one, late = (Process(packages, word) for word in ("one", "late"))
    assert one.ends() == "one True"
    source.write_text(old + "# another\n")
    assert late.ends() == "late False"
    # Back again: what was made before is found, and not what was made meanwhile.
    source.write_text(old)
    assert Process(packages, "four").ends() == "one True"


def test_what_is_made_while_its_sources_change_is_not_kept(packages: Path) -> None:
    source = packages / "warploom" / "__init__.py"
    old = source.read_text()
    slow = Process(packages, "slow")
    assert slow.goes_on() == "makes"
    source.write_text(old + "# another\n")
    # It is made again, for this process alone.
    assert slow.goes_on() == "makes"
    assert slow.ends() == "slow False"
    source.write_text(old)
    assert Process(packages, "next").ends() == "next True"
