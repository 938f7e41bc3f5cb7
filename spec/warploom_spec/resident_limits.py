"""Where BlockDispatcher is there in hardware, and where its SMs stand in groups."""

from typing import Final

from warploom_spec.config import Config

#: SMs whose room is one flat vector; also the most of a group.
GROUP_SMS: Final = 16
#: The fewest SMs of a group.
LEAST_GROUP_SMS: Final = 8
#: What hardware of more SMs has.
_GROUP_POLICIES: Final = ("round_robin", "freed_first")


def in_groups(config: Config) -> bool:
    """Tell whether BlockDispatcher's SMs stand in groups."""
    of_groups = config.policy in _GROUP_POLICIES and config.reclaim == "out_of_order"
    return config.sms > GROUP_SMS and of_groups


def sm_groups(sms: int) -> tuple[range, ...]:
    """Return the SMs of each group: equally many, where that can be; else they differ by one."""
    fewest = -(-sms // GROUP_SMS)
    legal = range(fewest, sms // LEAST_GROUP_SMS + 1)
    groups = next((groups for groups in legal if sms % groups == 0), fewest)
    return tuple(range(group, sms, groups) for group in range(groups))


def no_resident_hardware(config: Config) -> str:
    """Return why there is no BlockDispatcher in hardware; an empty text if there is one."""
    if config.sms > GROUP_SMS and not in_groups(config):
        return (
            f"policy is {config.policy}, reclaim is {config.reclaim}, sms is {config.sms}; legal "
            f"for BlockDispatcher above {GROUP_SMS} SMs: {' or '.join(_GROUP_POLICIES)} with "
            "out_of_order"
        )
    slots = config.sms * config.block_slots
    if config.reclaim == "in_order" and (slots < 2 or slots & (slots - 1)):
        return (
            f"sms x block_slots is {slots}; legal for BlockDispatcher with reclaim in_order: a "
            "power of two, 2 or more"
        )
    return ""
