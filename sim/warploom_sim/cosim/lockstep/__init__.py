"""Lockstep comparison of a component with its golden model, on any simulator."""

from warploom_sim.cosim.lockstep.case import Case, Model
from warploom_sim.cosim.lockstep.events import Observer
from warploom_sim.cosim.lockstep.ports import Ports, Stream
from warploom_sim.cosim.lockstep.runner import (
    SIMULATORS,
    LockstepError,
    Result,
    events_folder,
    run,
    run_one,
)
from warploom_sim.cosim.lockstep.stimulus import (
    Context,
    Pace,
    RandomStimulus,
    Stimulus,
    StreamDriver,
    StreamSink,
    random_bits,
)

__all__ = [
    "SIMULATORS",
    "Case",
    "Context",
    "LockstepError",
    "Model",
    "Observer",
    "Pace",
    "Ports",
    "RandomStimulus",
    "Result",
    "Stimulus",
    "Stream",
    "StreamDriver",
    "StreamSink",
    "events_folder",
    "random_bits",
    "run",
    "run_one",
]
