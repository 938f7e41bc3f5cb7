"""A run whose launches a host sends: when they transferred, and when it popped records."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from warploom_golden.replay.host_source import HostCycles
from warploom_sim.failure import ProgramError
from warploom_sim.replay.bench.records import host_packets
from warploom_sim.replay.event_files import EventFile
from warploom_sim.replay.model_run import read_host_cycles
from warploom_sim.replay.simulation_run import Process, failure

#: When the host sent launches and popped records, for the model.
HOST_CYCLES: Final = "host_cycles.npz"


def host_cycles(simulation: Process, folder: Path) -> HostCycles:
    """Wait for the simulation; return when its host did what it did, and write it for the model.

    Raises
    ------
    ProgramError
        If the simulation fails, or its file of the transfers or of the pops is not whole.
    """
    if simulation.wait():
        raise ProgramError(failure("the simulator", simulation.returncode, folder))
    cycles: dict[str, Any] = {}
    for kind, packet in host_packets().items():
        file = EventFile(folder / f"{kind}.bin", packet)
        parts = [*iter(file.read, None), file.finish()]
        cycles[kind] = np.concatenate([part["cycle"] for part in parts])
    np.savez(folder / HOST_CYCLES, **cycles)
    return read_host_cycles(folder / HOST_CYCLES)
