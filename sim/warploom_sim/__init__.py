"""The tool: traces in, simulators, lockstep comparison, reports out.

From Python, `replay` runs a trace and returns its launches and blocks as NumPy arrays; `gains` says
what would make it quicker.
"""

# The function, not the package of the same name, is `warploom_sim.replay`; the package's modules
# are imported by their full names. Models and RTL come with the first call, not with the import.
from warploom_sim.replay.python_api import gains, replay

__all__ = ["gains", "replay"]
