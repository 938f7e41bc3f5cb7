"""A configuration of hardware that is only modelled: the event model has limits of its own."""

import dataclasses
from dataclasses import dataclass

from warploom_golden.replay.event_constants import MOST_SLOTS, MOST_SMS
from warploom_spec import Config


def _wider(name: str, high: int) -> int:
    """Declare a field of `Config` again, from 1 to another limit."""
    default: int = getattr(Config, name)
    metadata = Config.__dataclass_fields__[name].metadata | {"low": 1, "high": high}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """A `Config` whose SMs are as many, and as large, as the event model takes.

    Attributes
    ----------
    sms, block_slots, warp_slots, register_units, shared_units, barriers : int
        As in `Config`. Amounts that one block takes keep the widths of a launch's fields.
    """

    sms: int = _wider("sms", MOST_SMS)
    block_slots: int = _wider("block_slots", MOST_SLOTS)
    warp_slots: int = _wider("warp_slots", MOST_SLOTS)
    register_units: int = _wider("register_units", 4096)
    shared_units: int = _wider("shared_units", 8192)
    barriers: int = _wider("barriers", 1024)
