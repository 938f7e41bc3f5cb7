"""Configurations of the dispatcher's and the launch path's test benches, each a line of text."""

import re
from functools import cache
from types import SimpleNamespace
from typing import Any

from warploom_golden.oracles import HostLedger
from warploom_sim.variant import variant
from warploom_spec import Config, layouts
from warploom_spec.config import POLICIES, RECLAIMS

#: Every placement policy with every reclaim policy, as text to add to a preset's name.
POLICIES_AND_RECLAIMS = [f"policy={p},reclaim={r}" for p in POLICIES for r in RECLAIMS]
#: Eight blocks before the highest number: each of its bits is both 0 and 1.
LATE_NUMBER = (1 << layouts.BLOCK_NUMBER_BITS) - 8
#: Shapes of machine that are odd in one respect each.
ODD = (
    "tiny,sms=1",
    "tiny,sms=3,block_slots=5",
    "tiny,sms=5,block_slots=1",
    "tiny,sms=3,block_slots=2",
)


@cache
def config_of(text: str) -> Config:
    """Return the configuration that a text names: ``preset,field=value,...``.

    A value may hold commas: ``grid_bits=8,4,4``.
    """
    name, *changes = re.split(r",(?=[a-z_]+=)", text)
    return variant(name, changes).config


def soon(text: str) -> str:
    """Return a configuration whose SMs are lost as soon as can be, as a run sees many times."""
    return f"{text},kill_timeout={2 * config_of(text).block_slots + 8}"


class Observers(SimpleNamespace):
    """A class of observer for each text, found by it: ``LEDGERS.tiny,sms=3``."""

    def __init__(self, base: type[Any]):
        super().__init__()
        self._base = base

    def __getattr__(self, text: str) -> type[Any]:
        config = config_of(text)

        class ObserverOfConfig(self._base):
            def __init__(self) -> None:
                super().__init__(config)

        return ObserverOfConfig


HOST_LEDGERS = Observers(HostLedger)
