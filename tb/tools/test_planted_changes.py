"""Every fault that tests and proofs plant in a source still fits there; nothing is simulated."""

import ast
import dataclasses
import functools
import importlib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warploom_dev.planted import Change, planted
from warploom_dev.rewrite import Rewrite

ROOT = Path(__file__).parents[2]
KINDS = ("Change", "Rewrite")
PROPERTIES = "warploom_dev/formal/properties"


def files() -> list[str]:
    """Return the modules that make changes, as paths; those of `tb/toys` need a changed source."""
    paths = [*(ROOT / "tb").rglob("*.py"), *(ROOT / "tools" / PROPERTIES).glob("*.py")]
    left_out = (Path(__file__), *(ROOT / "tb" / "toys").iterdir())
    texts = {path: path.read_text() for path in paths if path not in left_out}
    makes = [p for p, text in texts.items() if any(f"{kind}(" in text for kind in KINDS)]
    return sorted(str(path.relative_to(ROOT)) for path in makes)


def module_of(file: str) -> types.ModuleType:
    parts = Path(file).with_suffix("").parts
    return importlib.import_module(".".join(parts[1:] if parts[0] == "tools" else parts))


def in_tables(value: Any, depth: int = 6) -> Iterator[tuple[Change, ...]]:
    """Yield what is planted together, of all that a module's variable holds."""
    if isinstance(value, Change):
        yield (value,)
    elif depth and isinstance(value, dict):
        for one in value.values():
            yield from in_tables(one, depth - 1)
    elif depth and isinstance(value, list | tuple):
        owner, *texts = value or [None]
        if isinstance(owner, type) and len(texts) == 3 and all(isinstance(t, str) for t in texts):
            yield (Change(owner, *texts),)
        elif value and all(isinstance(one, Change) for one in value):
            yield tuple(value)
        else:
            for one in value:
                yield from in_tables(one, depth - 1)
    elif depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from in_tables(getattr(value, field.name), depth - 1)


def in_functions(source: str, known: dict[str, Any]) -> Iterator[Change]:
    """Yield the changes that functions make of what the module knows: those of locals are left."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            try:
                yield eval(ast.unparse(node), known)
            except NameError:
                continue


def misfits(module: types.ModuleType, source: str) -> tuple[int, list[str]]:
    """Return how many changes a module makes, and what is said of those that do not fit."""
    known = {k: v for k, v in vars(module).items() if not k.startswith("__")}
    together = [of for value in known.values() for of in in_tables(value)]
    together += [(one,) for one in in_functions(source, known)]
    said = []
    for changes in together:
        try:
            with planted(changes):
                pass
        except AssertionError as error:
            said.append(str(error))
    return len(together), said


@functools.cache
def misfits_of(file: str) -> tuple[int, list[str]]:
    return misfits(module_of(file), (ROOT / file).read_text())


@pytest.mark.parametrize("file", files())
def test_every_planted_fault_fits_its_source(file: str) -> None:
    _, said = misfits_of(file)
    assert not said, f"{file}: the source is another by now: {'; '.join(said)}"


class Named:
    def shown(self) -> str:
        return "old name"


@pytest.mark.parametrize("kind", [Change, Rewrite])
def test_a_fault_that_fits_nowhere_is_named(kind: type[Change]) -> None:
    module = types.ModuleType("tables")
    fits, not_so = kind(Named, "shown", '"old name"', '"x"'), kind(Named, "shown", '"new"', '"x"')
    vars(module).update(TABLE={"one": [fits], "other": not_so}, PAIR=(Named, "shown", "old", ""))
    assert misfits(module, "") == (3, ["Named.shown has '\"new\"' 0x"])
    source = f"""
def plants(text):
    {kind.__name__}(Named, "shown", '"older"', '"x"')
    {kind.__name__}(Named, "shown", text, "x")
"""
    vars(module).clear()
    vars(module).update({"Named": Named, kind.__name__: kind})
    assert misfits(module, source) == (1, ["Named.shown has '\"older\"' 0x"])


def test_most_modules_that_make_changes_are_read() -> None:
    """A change that is made of locals alone is left out, but in few modules all are."""
    found = [misfits_of(file)[0] for file in files()]
    assert sum(found) > 300
    assert len([count for count in found if not count]) < len(found) / 5
