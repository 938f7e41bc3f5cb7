"""The tool: traces in, simulators, lockstep comparison, reports out.

From Python, `replay` runs a trace and returns its launches and blocks as NumPy arrays.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warploom_sim.replay.python_api import replay

__all__ = ["replay"]


def __getattr__(name: str) -> Any:
    """Import `replay` when it is first asked for: ``warploom --help`` does without NumPy."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from warploom_sim.replay.python_api import replay

    return replay
