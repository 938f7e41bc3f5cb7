"""Models of BlockDispatcher's placement policies: which SM gets the next block."""

from importlib import import_module

from warploom_golden.dispatch.policies.grouped_round_robin import GroupedRoundRobin
from warploom_golden.dispatch.policies.policy import Policy
from warploom_spec.config import Config
from warploom_spec.resident_limits import in_groups


def policy(config: Config) -> Policy:
    """Return the configuration's placement policy, in its initial state."""
    if config.policy == "round_robin" and in_groups(config):
        return GroupedRoundRobin(config)
    module = import_module(f"{__name__}.{config.policy}")
    made: Policy = getattr(module, config.policy_class)(config)
    return made


__all__ = ["Policy", "policy"]
