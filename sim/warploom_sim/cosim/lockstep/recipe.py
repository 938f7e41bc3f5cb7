"""How a component is made, by names and plain data: what its simulation is kept by."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from warploom_sim.build_cache import is_in_checkout
from warploom_sim.cosim.lockstep.names import name_of
from warploom_spec import Config


@dataclass(frozen=True)
class Recipe:
    """A component that need not be made to find its simulation.

    Attributes
    ----------
    key : object
        What tells it from others that the same sources make; JSON can hold it.
    makers : tuple of str
        Names of the classes and functions that make it.
    component : callable
        Makes it.
    """

    key: object
    makers: tuple[str, ...]
    component: Callable[[], wiring.Component]

    @classmethod
    def of(cls, make: Callable[..., wiring.Component], *arguments: Any) -> Recipe:
        """Return the recipe of ``make(*arguments)``.

        Parameters
        ----------
        make : callable
            A class or function at a module's top level.
        *arguments : Config, Recipe or plain JSON value
            Of a recipe its component is handed over.

        Raises
        ------
        ValueError
            If ``make`` cannot be imported by its name.
        """
        makers = [name_of(make)]
        key: list[object] = [*makers]
        for given in arguments:
            if isinstance(given, Recipe):
                makers += given.makers
                key.append(["component", given.key])
            elif isinstance(given, Config):
                key.append(["config", dataclasses.asdict(given)])
            else:
                key.append(["value", given])

        def component() -> wiring.Component:
            made = [a.component() if isinstance(a, Recipe) else a for a in arguments]
            return make(*made)

        return cls(key, tuple(makers), component)

    @classmethod
    def of_case(cls, make: str, params: Mapping[str, Any]) -> Recipe:
        """Return the recipe of a case's component."""
        from warploom_sim.cosim.lockstep.case import Case

        case = Case(make=make, params=params, seed=0)
        return cls([make, dict(case.params)], (make,), lambda: case.build()[0])

    @property
    def is_of_sources(self) -> bool:
        """Whether all that makes it stands in the checkout's sources."""
        return all(is_in_checkout(file) for file in self._files())

    def _files(self) -> Iterator[Path]:
        for maker in self.makers:
            file = sys.modules[maker.partition(":")[0]].__file__
            yield Path(file or "/")
