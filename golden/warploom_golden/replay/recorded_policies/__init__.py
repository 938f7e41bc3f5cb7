"""Placement policies beside a recording: which SM with a free slot gets the next block."""

from importlib import import_module

from warploom_golden.replay.recorded_policies.policy import Load, Policy
from warploom_spec.config import Config


def policy(config: Config) -> Policy:
    """Return the configuration's placement policy, in its initial state."""
    module = import_module(f"{__name__}.{config.policy}")
    made: Policy = getattr(module, config.policy_class)(config)
    return made


__all__ = ["Load", "Policy", "policy"]
