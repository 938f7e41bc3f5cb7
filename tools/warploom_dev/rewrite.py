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
        whole = [statement for statement in (*old, *new) if not isinstance(statement, ast.Expr)]
        pattern = old if whole or len(old) != 1 or len(new) != 1 else _value(old)
        found = list(_fits(tree, pattern, fixed))
        where = f"{self.owner.__name__}.{self.name}"
        assert len(found) == 1, f"{where} has {self.old!r} {len(found)}x"
        [(place, renames)] = found
        renamed = [_Renamed(renames).visit(statement) for statement in new]
        _put(place, pattern, renamed)
        _NamedSuper(self.owner.__name__).visit(tree)
        return ast.unparse(ast.fix_missing_locations(tree))


#: A field of a node, and the index in it if it is a list.
_Place = tuple[ast.AST, str, int | None]
#: Statements, or one expression.
_Pattern = list[ast.stmt] | ast.expr


def _value(statements: list[ast.stmt]) -> ast.expr:
    """Return the expression that a statement is."""
    [statement] = statements
    assert isinstance(statement, ast.Expr)
    return statement.value


def _fits(tree: ast.AST, old: _Pattern, fixed: set[str]) -> Iterator[tuple[_Place, Renames]]:
    """Yield where statements or an expression fit, and the locals there."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            for index, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                renames: Renames = {}
                if isinstance(old, list):
                    here = value[index : index + len(old)] if index is not None else []
                else:
                    here = part
                if _alike(old, here, fixed, renames):
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


def _put(place: _Place, old: _Pattern, new: list[ast.stmt]) -> None:
    node, field, index = place
    if index is None:
        setattr(node, field, _value(new))
    elif isinstance(old, list):
        getattr(node, field)[index : index + len(old)] = new
    else:
        getattr(node, field)[index] = _value(new)


class _Renamed(ast.NodeTransformer):
    """Gives the locals of a pattern the names that they have in the source."""

    def __init__(self, renames: Renames) -> None:
        self._renames = renames

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Rename one name."""
        return ast.Name(self._renames.get(node.id, node.id), node.ctx)


class _NamedSuper(ast.NodeTransformer):
    """Gives ``super()`` its arguments: outside its class a method cannot find them."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Fill in one call, and those inside it."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            node.args = [ast.Name(self._owner, ast.Load()), ast.Name("self", ast.Load())]
        return node
