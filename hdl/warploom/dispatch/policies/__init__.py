"""Placement policies: which SM with room gets the next block."""

from importlib import import_module

from warploom.dispatch.policies.grouped_round_robin import GroupedRoundRobin
from warploom.dispatch.room import Room
from warploom_spec import Config
from warploom_spec.resident_limits import in_groups


def policy_class(config: Config) -> type[Room]:
    """Return the configuration's policy: ``RoundRobin`` of ``round_robin.py``, and so on."""
    if config.policy == "round_robin" and in_groups(config):
        return GroupedRoundRobin
    module = import_module(f"{__name__}.{config.policy}")
    found: type[Room] = getattr(module, config.policy_class)
    return found


__all__ = ["policy_class"]
