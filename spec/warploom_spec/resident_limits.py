"""For which configurations ResidentDispatcher is there in hardware."""

from typing import Final

from warploom_spec.config import Config

#: SMs whose room is one flat vector.
FLAT_SMS: Final = 16


def no_resident_hardware(config: Config) -> str:
    """Return why there is no ResidentDispatcher in hardware; an empty text if there is one."""
    if config.sms > FLAT_SMS:
        return f"sms is {config.sms}; legal for ResidentDispatcher: 1 to {FLAT_SMS}"
    slots = config.sms * config.block_slots
    if config.reclaim == "in_order" and (slots < 2 or slots & (slots - 1)):
        return (
            f"sms x block_slots is {slots}; legal for ResidentDispatcher with reclaim in_order: a "
            "power of two, 2 or more"
        )
    return ""
