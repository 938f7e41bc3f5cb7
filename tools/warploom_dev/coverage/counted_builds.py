"""The builds whose branches and bits count, for each block."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from amaranth.lib import wiring

from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.names import name_of, resolve
from warploom_sim.variant import variant
from warploom_spec import WarploomError

#: The counted builds by block, in the repository.
BUILDS: Final = "tb.benches.coverage_builds:BUILDS"


@dataclass(frozen=True)
class Build:
    """A component that lockstep cases run: their ``make`` and ``params``.

    Attributes
    ----------
    make : str
        ``module:name``, as a case has it.
    params : mapping
        Its arguments.
    """

    make: str
    params: Mapping[str, Any]

    @classmethod
    def of(cls, make: Callable[..., Any], config: str, **params: Any) -> "Build":
        """Return the build of a configuration."""
        return cls(name_of(make), {"config": config, **params})

    def is_of(self, make: str, params: Mapping[str, Any]) -> bool:
        """Tell whether a case runs this build; a configuration may be written in several ways."""
        return make == self.make and _meant(params) == _meant(self.params)

    def component(self) -> wiring.Component:
        """Return the component, made anew."""
        return Case(make=self.make, params=self.params, seed=0).build()[0]

    @property
    def text(self) -> str:
        """Its configuration, as the page names it."""
        return ", ".join(
            str(value) if name == "config" else f"{name}={value}"
            for name, value in self.params.items()
        )


def _meant(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with the configuration that their text names, where it names one."""
    preset, *settings = str(params["config"]).split(",")
    try:
        return {**params, "config": variant(preset, settings).config}
    except WarploomError:  # a bench's own name
        return dict(params)


def builds() -> dict[str, tuple[Build, ...]]:
    """Return the counted builds by block.

    Raises
    ------
    WarploomError
        If they are not there: this is not the repository.
    """
    # An installed command has its own folder on the path, not the current one.
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: dict[str, tuple[Build, ...]] = resolve(BUILDS)
    except ValueError as error:
        raise WarploomError(f"run this in the repository, where tb/ is: {error}") from error
    return found
