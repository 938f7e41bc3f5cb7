"""Changes of a source by its structure: they outlive another name of a local, and nothing else."""

import ast
import builtins
import inspect
import sys
import textwrap

import pytest

from tb.host import (
    test_driver_wrong_rules,
    test_execution_unit_wrong_rules,
    test_front_end_units,
    test_host_registers_wrong_rules,
    test_mailbox_queues_wrong_rules,
)
from tb.launch import test_launch_path, test_record_queue
from tb.support.wrong_rules import WrongRule
from warploom_dev.planted import planted
from warploom_dev.rewrite import Rewrite

LIMIT = 10
#: Modules whose rules are planted by their structure.
PLANTED = (
    test_driver_wrong_rules,
    test_execution_unit_wrong_rules,
    test_front_end_units,
    test_host_registers_wrong_rules,
    test_mailbox_queues_wrong_rules,
    test_launch_path,
    test_record_queue,
)


class Adder:
    def add(self, first, second):
        total = first + second
        if total > LIMIT:
            total = LIMIT
        return self.shown(total)

    def shown(self, total):
        return [total, total]


class Doubler(Adder):
    def add(self, first, second):
        return super().add(first + second, 0)


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


def test_a_method_finds_its_super_class():
    with planted([Rewrite(Doubler, "add", "a + b", "a - b")]):
        assert Doubler().add(4, 8) == [-4, -4]


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


def rewrites_in(found):
    """Yield the rewrites among planted rules, however these are kept."""
    if isinstance(found, Rewrite):
        yield found
    elif isinstance(found, WrongRule):
        yield from rewrites_in(found.changes)
    elif isinstance(found, dict):
        yield from rewrites_in(list(found.values()))
    elif isinstance(found, list | tuple):
        for one in found:
            yield from rewrites_in(one)


@pytest.mark.parametrize("planted_in", PLANTED, ids=lambda module: module.__name__.split(".")[-1])
def test_the_planted_rules_fit_a_source_with_other_names_of_all_locals(planted_in):
    found = [*rewrites_in(planted_in.WRONG), *rewrites_in(getattr(planted_in, "RTL", ()))]
    assert found
    demand_fits_other_names(found)
