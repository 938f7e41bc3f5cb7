"""Changes of a source by its structure: a local of another name is the same source."""

import ast
import builtins
import inspect
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from warploom_dev.planted import Change

Renames = dict[str, str]


@dataclass(frozen=True)
class Rewrite(Change):
    """One piece of a method's or function's syntax tree, and what stands there instead.

    ``old`` is an expression, or statements that follow each other. A plain name in it that the
    function's module does not know stands for any local of the function, and for the same one in
    ``new``. All else means itself: attributes, keywords, constants, names of the module.

    Attributes
    ----------
    owner, name, old, new
        As in `Change`; ``old`` fits at exactly one place.
    """

    def made(self) -> Any:
        """Return the changed function.

        Raises
        ------
        AssertionError
            If ``old`` does not fit at exactly one place: the source is another by now.
        """
        function = inspect.unwrap(getattr(self.owner, self.name))
        source = getattr(function, "planted", None) or textwrap.dedent(inspect.getsource(function))
        spaces = vars(sys.modules[function.__module__])
        source = self.rewritten(source, spaces)
        made: dict[str, Any] = {}
        where = f"{self.owner.__name__}.{self.name}"
        exec(compile(source, f"<{where}, rewritten>", "exec"), spaces, made)
        made[self.name].planted = source
        return made[self.name]

    def rewritten(self, source: str, known: Mapping[str, Any]) -> str:
        """Return the changed source of a function whose module has the names ``known``."""
        tree = ast.parse(source)
        old, new = ast.parse(self.old).body, ast.parse(self.new).body
        fixed = {*known, *vars(builtins), "self"}
        found = list(_fits(tree, old, fixed))
        where = f"{self.owner.__name__}.{self.name}"
        assert len(found) == 1, f"{where} has {self.old!r} {len(found)}x"
        [(place, renames)] = found
        _put(place, old, [_Renamed(renames).visit(statement) for statement in new])
        return ast.unparse(ast.fix_missing_locations(tree))


#: A field of a node, and the index in it if it is a list.
_Place = tuple[ast.AST, str, int | None]


def _fits(tree: ast.AST, old: list[ast.stmt], fixed: set[str]) -> Iterator[tuple[_Place, Renames]]:
    """Yield where the statements, or the expression that they are, fit, and the locals there."""
    single = old[0].value if len(old) == 1 and isinstance(old[0], ast.Expr) else None
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            for index, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                renames: Renames = {}
                if single is not None:
                    fits = _alike(single, part, fixed, renames)
                else:
                    here = value[index : index + len(old)] if index is not None else []
                    fits = _alike(old, here, fixed, renames)
                if fits:
                    yield (node, field, index), renames


def _alike(one: Any, other: Any, fixed: set[str], renames: Renames) -> bool:
    """Say whether two trees are the same but for the names of locals; note those in ``renames``."""
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(_alike(a, b, fixed, renames) for a, b in zip(one, other, strict=True))
        )
    if not isinstance(one, ast.AST):
        return bool(type(one) is type(other) and one == other)
    if isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id not in fixed:
        return other.id not in fixed and renames.setdefault(one.id, other.id) == other.id
    return type(one) is type(other) and all(
        _alike(value, getattr(other, field), fixed, renames)
        for field, value in ast.iter_fields(one)
        if field != "ctx"
    )


def _put(place: _Place, old: list[ast.stmt], new: list[ast.stmt]) -> None:
    node, field, index = place
    where = getattr(node, field)
    if len(old) == 1 and isinstance(old[0], ast.Expr):
        [statement] = new
        assert isinstance(statement, ast.Expr)
        if index is None:
            setattr(node, field, statement.value)
        else:
            where[index] = statement.value
    elif index is not None:
        where[index : index + len(old)] = new


class _Renamed(ast.NodeTransformer):
    """Gives the locals of a pattern the names that they have in the source."""

    def __init__(self, renames: Renames) -> None:
        self._renames = renames

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Rename one name."""
        return ast.Name(self._renames.get(node.id, node.id), node.ctx)
