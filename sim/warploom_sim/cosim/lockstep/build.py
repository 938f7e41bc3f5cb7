"""Simulations built once: cached by the hash of all that goes into them."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path

import amaranth.back.rtlil as rtlil
from amaranth.lib import wiring

from warploom_sim import build_cache
from warploom_sim.build_cache import cached, cached_by_sources, versions
from warploom_sim.cosim import simulators
from warploom_sim.cosim.lockstep import compilation
from warploom_sim.cosim.lockstep.compilation import FLAGS, PACKAGES, TOP, own_source, tools_of
from warploom_sim.cosim.lockstep.ports import Ports
from warploom_sim.cosim.lockstep.recipe import Recipe

#: Simulations that stay: twice those of all tests.
KEPT_SIMULATIONS = 256
#: Hashes of RTLIL that stay, each of some bytes.
KEPT_NETLISTS = 2048
_HASH = "rtlil.sha256"
#: The RTLIL whose hash was made last, by its hash: what is hashed is mostly built next.
_last_made: dict[str, str] = {}


def built(
    source: wiring.Component | Recipe,
    simulator: str,
    waveform: simulators.Waveform | None = None,
) -> Path:
    """Return the folder with a simulation of a component, built now or before.

    Of a recipe whose simulation was built before nothing is elaborated. Safe beside other
    processes: one of them builds, in a folder of its own that it then renames; the others wait for
    it.
    """
    # The Verilog follows from the RTLIL and Yosys, which takes seconds to start.
    wanted = rtlil_hash(source)
    waves = waveform is not None
    flags = FLAGS[simulator] + (waveform.flags if waveform else ())
    parts = [simulator, wanted, own_source(), tools_of(simulator), flags, waves]

    def make(folder: Path) -> None:
        component = source.component() if isinstance(source, Recipe) else source
        netlist = _rtlil_of(component, wanted)
        compilation.build(component, netlist, simulator, flags, waves, folder)

    return cached("simulations", parts, make, KEPT_SIMULATIONS)


def rtlil_hash(source: wiring.Component | Recipe) -> str:
    """Return the SHA-256 of a component's RTLIL, without source positions.

    That of a recipe is kept by the sources and the recipe, unless a source was changed in memory.
    """
    if not isinstance(source, Recipe):
        return _hash_made(source)
    if not build_cache.sources_as_loaded or not source.is_of_sources:
        return _hash_made(source.component())

    def make(folder: Path) -> None:
        (folder / _HASH).write_text(_hash_made(source.component()))

    parts = [source.key, platform.python_version(), *versions(PACKAGES)]
    folder = cached_by_sources("netlists", parts, make, KEPT_NETLISTS, checkout=True)
    return (folder / _HASH).read_text()


def _hash_made(component: wiring.Component) -> str:
    ports = Ports.of(component).to_convert()
    text = rtlil.convert(component, name=TOP, ports=ports, emit_src=False)
    made = hashlib.sha256(text.encode()).hexdigest()
    _last_made.clear()
    _last_made[made] = text
    return made


def _rtlil_of(component: wiring.Component, wanted: str) -> str:
    """Return the component's RTLIL; it is made only if that of the hash ``wanted`` is not there."""
    if wanted not in _last_made:
        _hash_made(component)
    return _last_made.popitem()[1]
