"""Replays of hardware with many faults in it, of which each run has one, or none.

The hardware takes longer to make than to run: it is made once, with all the faults.
"""

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from amaranth.hdl import Instance, Module, Mux, Signal
from amaranth.hdl._ast import Assign

from tb.support.seeded_faults import REPLAYED
from warploom.launch.launch_path import LaunchPath
from warploom_dev.planted import Change, planted
from warploom_sim.build_cache import cached_by_sources
from warploom_sim.replay.bench import replay_bench_build, replay_bench_verilog
from warploom_sim.replay.bench.replay_bench_build import Simulation

#: The run's fault: its place in `REPLAYED`, counted from 1; 0 is none. LaunchPath, which every
#: replay has, gets it from an option of the run.
chosen: Final = Signal(8)
CHOICE: Final = """\
module fault_choice(output reg [7:0] chosen);
  initial if ($value$plusargs("chosen_fault=%d", chosen) == 0) chosen = 0;
endmodule
"""
_build: Final = replay_bench_build.build


def choose(monkeypatch: pytest.MonkeyPatch, fault: str | None) -> None:
    """Let a test's replays run hardware that has all of `REPLAYED`; in their runs one is there."""
    number = 0 if fault is None else 1 + list(REPLAYED).index(fault)
    monkeypatch.setattr(replay_bench_build, "build", functools.partial(_built, number))


def _built(number: int, *arguments: Any) -> Simulation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay_bench_build, "cached_by_sources", _kept_with_faults)
        # In this process: a child would read the source as it is.
        patch.setattr(replay_bench_build, "_generate", _generate)
        simulation = _build(*arguments)
    return replace(simulation, command=(*simulation.command, f"+chosen_fault={number}"))


def _kept_with_faults(kind: str, parts: Sequence[object], make: Callable[[Path], None]) -> Path:
    return cached_by_sources(f"planted-{kind}", parts, make, checkout=True)


def _generate(job: Mapping[str, Any], folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LaunchPath, "elaborate", _with_choice(LaunchPath.elaborate))
        for module in {_module(change) for change in REPLAYED.values()}:
            patch.setattr(module, "either", either, raising=False)
        changes = [_optional(k, change) for k, change in enumerate(REPLAYED.values(), 1)]
        with planted(changes):
            replay_bench_verilog.write(job, folder)
    (folder / "fault_choice.v").write_text(CHOICE)


def _module(change: Change) -> ModuleType:
    return sys.modules[getattr(change.owner, change.name).__module__]


def _with_choice(elaborate: Callable[[LaunchPath, object], Module]) -> Any:
    def with_choice(path: LaunchPath, platform: object) -> Module:
        m = elaborate(path, platform)
        m.submodules.fault_choice = Instance("fault_choice", o_chosen=chosen)
        return m

    return with_choice


def _optional(number: int, change: Change) -> Change:
    """Return a change whose two texts are expressions so that the run's number decides."""
    return replace(change, new=f"either({number}, ({change.new}), ({change.old}))")


def either(number: int, changed: Any, plain: Any) -> Any:
    """Return what stands there: in runs with this fault ``changed``, in all others ``plain``.

    Values, assignments to the same signal, or tuples and dictionaries of both.
    """
    if isinstance(plain, tuple):
        return tuple(either(number, *pair) for pair in zip(changed, plain, strict=True))
    if isinstance(plain, dict):
        assert changed.keys() == plain.keys()
        return {name: either(number, changed[name], value) for name, value in plain.items()}
    if isinstance(plain, Assign):
        assert repr(changed.lhs) == repr(plain.lhs)
        return plain.lhs.eq(either(number, changed.rhs, plain.rhs))
    return Mux(chosen == number, changed, plain)
