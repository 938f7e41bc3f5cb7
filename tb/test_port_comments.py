"""A port is listed once in the RTL, in the signature with its comment; the docstring names none."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "hdl").rglob("*.py"))


def components(source: str) -> Iterator[ast.ClassDef]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and "wiring.Component" in map(ast.unparse, node.bases):
            yield node


def faults(source: str) -> Iterator[str]:
    """Give the components that list ports in the docstring, or a signature without comments."""
    lines = source.splitlines()
    for component in components(source):
        if "Attributes\n" in (ast.get_docstring(component) or ""):
            yield f"{component.name}: ports in the docstring"
        for call in ast.walk(component):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
                for key in _first_keys(call):
                    if not lines[key.lineno - 2].lstrip().startswith("#"):
                        yield f"{component.name}: no comment on {ast.unparse(key)}"


def _first_keys(call: ast.Call) -> Iterator[ast.expr]:
    """Give the first key of a signature that is written over several lines."""
    for signature in call.args:
        if isinstance(signature, ast.Dict) and signature.end_lineno != signature.lineno:
            yield from [key for key in signature.keys if key is not None][:1]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_ports_have_their_comments_in_the_signature(path: Path) -> None:
    assert list(faults(path.read_text())) == []


def test_a_port_in_the_docstring_and_a_bare_signature_are_found() -> None:
    source = '''
class Adder(wiring.Component):
    """Add.

    Attributes
    ----------
    a : In(8)
    """

    def __init__(self):
        super().__init__(
            {
                "a": In(8),
            }
        )
'''
    assert list(faults(source)) == ["Adder: ports in the docstring", "Adder: no comment on 'a'"]
