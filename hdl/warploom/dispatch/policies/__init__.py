"""Placement policies: which SM with room gets the next block."""

from importlib import import_module

from warploom.dispatch.room import Room
from warploom_spec import Config


def policy_class(config: Config) -> type[Room]:
    """Return the configuration's policy: ``RoundRobin`` of ``round_robin.py``, and so on."""
    module = import_module(f"{__name__}.{config.policy}")
    found: type[Room] = getattr(module, config.policy_class)
    return found


__all__ = ["policy_class"]
