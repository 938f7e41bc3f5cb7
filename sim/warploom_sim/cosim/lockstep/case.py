"""What to compare: one case of the lockstep harness, and the model's interface."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from amaranth.lib import wiring

from warploom_sim.cosim.lockstep.names import name_of, resolve

#: An importable object, or its name ``module:qualified.name``.
Importable = Callable[..., Any] | str


class Model(Protocol):
    """A cycle model: the ports of its component under their flattened names.

    Signals of an interface are joined by ``__`` (``o__payload``), as are indices (``i__0``). Values
    are raw bit patterns, never negative, whatever the port's shape.
    """

    def outputs(self, inputs: Mapping[str, int]) -> Mapping[str, int | None]:
        """Return every output of the current cycle; None is not compared in this cycle."""

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance over one clock edge with ``inputs`` as they stood before it."""

    def reset(self) -> None:
        """Take the state after a synchronous reset; what a reset leaves alone (memories) stays."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run of a component beside its model.

    Everything is named by strings and plain data, so that ``Case.from_json(case.to_json())`` gives
    an equal case in any process.

    Parameters
    ----------
    make : importable
        Called with ``params`` as keyword arguments, returns ``(component, model)``.
    params : dict
        Plain JSON values; part of every failure's report.
    seed : int
        All randomness of the run derives from it.
    cycles : int
        Clock cycles to compare, resets included. The last ones are always a reset.
    resets : int
        Resets of 1 to 3 cycles at random places in the middle of the run.
    shortest_reset : int
        Cycles that each reset lasts, at least. After the last cycle of a run begins the next run's
        first one, whose model knows no state from before.
    stimulus : importable, optional
        Called with a `Context`, returns a `Stimulus`. Default: `RandomStimulus`.
    options : dict
        Plain JSON values for the stimulus (``context.options``).
    sources : dict
        Input stream or plain input -> importable, called with a `Context`, returns an iterator:
        the payloads of a stream in their order, or a plain input's value for each cycle.
        Used by `RandomStimulus`; default: random bits.
    withdrawable : dict
        Stream -> reason why its refused transfers may be withdrawn or changed.
    meant : importable, optional
        Called with outputs, the component's or the model's, and with ``params`` as keyword
        arguments. Returns those of which only a part says something, with 0 for the rest: both
        sides are compared so.
    events : dict
        Name -> importable: a predicate ``(inputs, outputs) -> bool`` counted under that name, or an
        `Observer` class, which counts under names of its own.

    Raises
    ------
    ValueError
        If something is not importable by name or is no plain data, or a number is out of range.
    """

    make: Importable
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int
    cycles: int = 2000
    resets: int = 2
    shortest_reset: int = 1
    stimulus: Importable | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, Importable] = field(default_factory=dict)
    withdrawable: Mapping[str, str] = field(default_factory=dict)
    meant: Importable | None = None
    events: Mapping[str, Importable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = {
            "make": name_of(self.make),
            "stimulus": None if self.stimulus is None else name_of(self.stimulus),
            "meant": None if self.meant is None else name_of(self.meant),
            "sources": {port: name_of(source) for port, source in self.sources.items()},
            "events": {event: name_of(target) for event, target in self.events.items()},
        }
        for attribute, value in named.items():
            object.__setattr__(self, attribute, value)
        for attribute in ("params", "options", "withdrawable"):
            value = dict(getattr(self, attribute))
            if not _is_plain(value):
                raise ValueError(f"{attribute} must be plain JSON data, got {value!r}")
            object.__setattr__(self, attribute, value)
        if self.cycles < 2:
            raise ValueError(f"cycles must be at least 2, got {self.cycles}")
        if not 1 <= self.shortest_reset <= self.cycles:
            raise ValueError(
                f"shortest_reset must be 1 to {self.cycles} in {self.cycles} cycles,"
                f" got {self.shortest_reset}"
            )
        if not 0 <= self.resets <= self.cycles // 16:
            raise ValueError(
                f"resets must be 0 to {self.cycles // 16} in {self.cycles} cycles,"
                f" got {self.resets}"
            )

    def build(self) -> tuple[wiring.Component, Model]:
        """Make the component and its model."""
        component, model = resolve(str(self.make))(**self.params)
        # Often only the ports are wanted, as in a simulator's process that has the Verilog already.
        component._MustUse__silence = True
        return component, model

    @property
    def block(self) -> str:
        """Class name of the component."""
        return _block_name(str(self.make), json.dumps(self.params))

    def rng(self, purpose: str) -> random.Random:
        """Return the random numbers for one purpose, the same in every process."""
        return random.Random(f"{self.seed}/{purpose}")

    def reset_cycles(self) -> frozenset[int]:
        """Return the cycles in which ``rst`` is up: mid-run resets and the last cycle."""
        rng = self.rng("resets")
        cycles = set(range(self.cycles - self.shortest_reset, self.cycles))
        for start in rng.sample(range(1, self.cycles), self.resets):
            length = max(rng.choice((1, 1, 2, 3)), self.shortest_reset)
            cycles.update(range(start, min(start + length, self.cycles)))
        return frozenset(cycles)

    def to_json(self) -> dict[str, Any]:
        """Return the case as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Case:
        """Rebuild a case from `to_json`'s data."""
        return cls(**data)


def _is_plain(value: object) -> bool:
    """Tell whether JSON gives the value back as it is."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except TypeError:
        return False


@functools.cache
def _block_name(make: str, params: str) -> str:
    component, _ = Case(make=make, params=json.loads(params), seed=0).build()
    return type(component).__name__
