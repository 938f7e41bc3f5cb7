"""Another rule, or another first value, in the source of RTL and model, in memory and for one test.

The files stay as they are, and so does the Verilog that is made of them anywhere else.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from tb.support.record import forget_simulations
from warploom_dev.planted import Change
from warploom_spec.config import Config
from warploom_spec.timing import Timing


def plant(monkeypatch: pytest.MonkeyPatch, changes: Iterable[Change]) -> None:
    """Let the changes hold until the test is over."""
    forget_simulations(monkeypatch)
    for change in changes:
        monkeypatch.setattr(change.owner, change.name, change.made())


def plant_timing(monkeypatch: pytest.MonkeyPatch, *owners: Any, **changes: int) -> None:
    """Let the modules of some classes or functions see another `timing` until the test is over."""
    forget_simulations(monkeypatch)
    for owner in owners:
        module = sys.modules[owner.__module__]
        real = module.timing

        def changed(config: Config, real: Callable[[Config], Timing] = real) -> Timing:
            return replace(real(config), **changes)

        monkeypatch.setattr(module, "timing", changed)
