"""Signals have the same names, and blocks the same netlists, on every Python.

Amaranth reads a signal's name from the statement that assigns it. From Python 3.13 on it finds no
name where one statement assigns two new signals.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from amaranth.hdl import Module

from warploom.lib.fifo import SyncFIFO, SyncFIFOBuffered

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path for folder in ("hdl", "tools/warploom_dev") for path in (ROOT / folder).rglob("*.py")
)
PORTS = ("write_port", "read_port")


def lost_names(source: str) -> Iterator[int]:
    """Give the lines that assign to two variables what Amaranth has to name."""
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
            several = len(statement.targets) > 1 or isinstance(target, ast.Tuple)
            values = value.elts if isinstance(value, ast.Tuple) else [value]
            if several and any(map(_is_to_be_named, values)):
                yield statement.lineno


def _is_to_be_named(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    called = ast.unparse(value.func)
    if called.rpartition(".")[2] in PORTS:
        return True
    return called in ("Signal", "Signal.like") and all(k.arg != "name" for k in value.keywords)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_statement_makes_one_signal_that_amaranth_names(path: Path) -> None:
    assert not list(lost_names(path.read_text()))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("a, b = Signal(), Signal()", True),
        ("a, b = Signal(), 3", True),
        ("a, b = x, Signal.like(x)", True),
        ("a = self.a = Signal(4)", True),
        ("write, read = memory.write_port(), memory.read_port(domain='comb')", True),
        ("a = Signal()", False),
        ("a, b = Signal(name='a'), Signal(name='b')", False),
        ("a, b = (Signal(name=n) for n in ('a', 'b'))", False),
        ("write = memory.write_port()", False),
    ],
)
def test_two_signals_in_one_statement_are_found(source: str, found: bool) -> None:
    assert bool(list(lost_names(source))) == found


@pytest.mark.parametrize("fifo", [SyncFIFO, SyncFIFOBuffered])
def test_the_memory_of_a_fifo_is_called_storage(fifo: type[SyncFIFO | SyncFIFOBuffered]) -> None:
    m: Module = fifo(width=3, depth=4).elaborate(None)
    assert m.submodules.storage.data.name == "storage"
