"""Rules that are wrong in RTL and model alike: a comparison of the two cannot find them."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from tb.support.planted import Change, plant
from tb.support.record import Recording


@dataclass(frozen=True)
class WrongRule:
    """A wrong rule and the test that finds it.

    Attributes
    ----------
    finder : callable
        The test, of a block and what else it takes.
    changes : tuple of Change
        The rule in the source of RTL and model.
    arguments : tuple
        What the test gets beside the block.
    """

    finder: Callable[..., None]
    changes: tuple[Change, ...]
    arguments: tuple[Any, ...] = ()


def demand_found(
    wrong: WrongRule,
    blocks: tuple[type, type],
    helpers: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Plant a wrong rule; the test fails for RTL and model, which do the same in every cycle.

    Parameters
    ----------
    wrong : WrongRule
        The rule. An argument of its test that is `pytest.MonkeyPatch` gets ``monkeypatch``.
    blocks : tuple of type
        RTL and model.
    helpers : module
        The one whose ``record`` the tests run their blocks with.
    monkeypatch : pytest.MonkeyPatch
        Undoes it all.
    """
    run: Callable[..., Recording] = helpers.record
    seen: list[Recording] = []

    def kept(*arguments: Any) -> Recording:
        seen.append(run(*arguments))
        return seen[-1]

    monkeypatch.setattr(helpers, "record", kept)
    plant(monkeypatch, wrong.changes)
    counts = []
    for block in blocks:
        # Whatever a test plants for itself is undone before the other block's turn.
        with monkeypatch.context() as own, pytest.raises(AssertionError):
            arguments = (own if one is pytest.MonkeyPatch else one for one in wrong.arguments)
            wrong.finder(block, *arguments)
        counts.append(len(seen) - sum(counts))
    rtl, model = seen[: counts[0]], seen[counts[0] :]
    assert rtl and len(rtl) == len(model)
    for one, other in zip(rtl, model, strict=True):
        demand_alike(one, other)


def demand_alike(rtl: Recording, model: Recording) -> None:
    """Hold that the model's outputs, where it says any, are the RTL's, and the inputs the same."""
    assert rtl.inputs == model.inputs
    assert rtl.validity
    for cycle, (one, other) in enumerate(zip(rtl.outputs, model.outputs, strict=True)):
        want = rtl.validity.meant(other)
        wrong = {n: (one[n], v) for n, v in want.items() if v is not None and v != one[n]}
        assert not wrong, f"RTL and model differ in cycle {cycle}: {wrong}"
