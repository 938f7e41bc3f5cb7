"""A configuration of hardware that is only modelled: the event model has limits of its own."""

import dataclasses
from dataclasses import dataclass

from warploom_golden.replay.event_constants import MOST_SLOTS, MOST_SMS
from warploom_spec import Config


def _int(default: int, high: int) -> int:
    """Declare an integer field with its legal range, from 1."""
    return dataclasses.field(default=default, metadata={"low": 1, "high": high})


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """A `Config` whose SMs are as many, and as large, as the event model takes.

    Attributes
    ----------
    sms, block_slots, warp_slots, register_units, shared_units, barriers : int
        As in `Config`. Amounts that one block takes keep the widths of a launch's fields.
    """

    sms: int = _int(Config.sms, MOST_SMS)
    block_slots: int = _int(Config.block_slots, MOST_SLOTS)
    warp_slots: int = _int(Config.warp_slots, MOST_SLOTS)
    register_units: int = _int(Config.register_units, 4096)
    shared_units: int = _int(Config.shared_units, 8192)
    barriers: int = _int(Config.barriers, 1024)
