"""Changes of a source by its structure: they outlive another name of a local, and nothing else."""

import ast
import builtins
import inspect
import sys
import textwrap

import pytest

from tb.host import test_driver_wrong_rules
from warploom_dev.planted import planted
from warploom_dev.rewrite import Rewrite

LIMIT = 10


class Adder:
    def add(self, first, second):
        total = first + second
        if total > LIMIT:
            total = LIMIT
        return self.shown(total)

    def shown(self, total):
        return [total, total]


def change(old, new, name="add"):
    return Rewrite(Adder, name, old, new)


def added(*changes):
    with planted(changes):
        return Adder().add(4, 8)


def test_an_expression_or_statements_are_replaced():
    assert added() == [10, 10]
    assert added(change("a + b", "a - b")) == [-4, -4]
    assert added(change("if total > LIMIT:\n    total = LIMIT", "total += 1")) == [13, 13]
    assert added(change("a = b + c\nif a > LIMIT:\n    a = LIMIT", "a = b")) == [4, 4]
    assert added(change("[a, a]", "[a]", "shown")) == [10]
    assert added(change("a + b", "a"), change("self.shown(a)", "a")) == 4


@pytest.mark.parametrize(
    ("old", "times"),
    [
        ("a - b", 0),
        ("a + a", 0),
        # `LIMIT` is the module's, and stands for itself alone.
        ("a > b", 0),
        ("self.other(a)", 0),
        ("a", 6),
    ],
)
def test_a_pattern_that_does_not_fit_once_is_refused(old, times):
    with pytest.raises(AssertionError, match=f"Adder.add has '.*' {times}x"):
        added(change(old, "0"))


class _OtherNames(ast.NodeTransformer):
    def __init__(self, known):
        self._known = known

    def visit_Name(self, node):
        name = node.id if node.id in self._known else f"{node.id}_too"
        return ast.Name(name, node.ctx)

    def visit_arg(self, node):
        return ast.arg(node.arg if node.arg in self._known else f"{node.arg}_too")


def demand_fits_other_names(changes):
    """Hold that each change fits its source with other names of all locals."""
    for one in changes:
        function = getattr(one.owner, one.name)
        known = vars(sys.modules[function.__module__])
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        others = _OtherNames({*known, *vars(builtins), "self"}).visit(tree)
        one.rewritten(ast.unparse(others), known)


def test_the_changes_fit_a_source_with_other_names_of_all_locals():
    changes = [rule[-1] for rule in test_driver_wrong_rules.WRONG.values()]
    demand_fits_other_names(changes)
