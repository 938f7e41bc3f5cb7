"""Placement policies: which SM gets the next block."""

from importlib import import_module

from warploom.dispatch.placement.placement import PlacementPolicy
from warploom_spec import Config


def policy_class(config: Config) -> type[PlacementPolicy]:
    """Return the configuration's policy: ``RoundRobin`` of ``round_robin.py``, and so on."""
    module = import_module(f"{__name__}.{config.policy}")
    found: type[PlacementPolicy] = getattr(module, config.policy_class)
    return found


__all__ = ["PlacementPolicy", "policy_class"]
