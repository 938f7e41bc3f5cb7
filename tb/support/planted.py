"""Another rule, or another first value, in the source of RTL and model, in memory and for one test.

The files stay as they are, and so does the Verilog that is made of them anywhere else.
"""

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tb.support.record import forget_simulations
from warploom_spec.config import Config
from warploom_spec.timing import Timing


@dataclass(frozen=True)
class Change:
    """One piece of text in the source of a method or function, and what stands there instead.

    Attributes
    ----------
    owner : class or module
        Whose it is.
    name : str
        Its name.
    old, new : str
        ``old`` stands in its source exactly once.
    """

    owner: Any
    name: str
    old: str
    new: str

    def made(self) -> Any:
        """Return the changed function.

        Raises
        ------
        AssertionError
            If ``old`` does not stand there exactly once: the source is another by now.
        """
        function = getattr(self.owner, self.name)
        # A function that was changed before has no file.
        source = getattr(function, "planted", None) or textwrap.dedent(inspect.getsource(function))
        where = f"{self.owner.__name__}.{self.name}"
        assert source.count(self.old) == 1, f"{where} has {self.old!r} {source.count(self.old)}x"
        source = source.replace(self.old, self.new)
        made: dict[str, Any] = {}
        code = compile(source, f"<{where}, changed>", "exec")
        exec(code, vars(sys.modules[function.__module__]), made)
        made[self.name].planted = source
        return made[self.name]


def plant(monkeypatch: pytest.MonkeyPatch, changes: Iterable[Change]) -> None:
    """Let the changes hold until the test is over."""
    forget_simulations(monkeypatch)
    for change in changes:
        monkeypatch.setattr(change.owner, change.name, change.made())


def plant_timing(monkeypatch: pytest.MonkeyPatch, *owners: type, **changes: int) -> None:
    """Let the modules of some classes see another `timing` until the test is over."""
    forget_simulations(monkeypatch)
    for owner in owners:
        module = sys.modules[owner.__module__]
        real = module.timing

        def changed(config: Config, real: Callable[[Config], Timing] = real) -> Timing:
            return replace(real(config), **changes)

        monkeypatch.setattr(module, "timing", changed)
