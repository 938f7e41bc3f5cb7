"""Configurations of the dispatcher's and the launch path's test benches, each a line of text."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

from tb.dispatch_events import PathLedger, StallCauses
from warploom_golden.ledger import Ledger
from warploom_spec import Config, preset
from warploom_spec.config import POLICIES, RECLAIMS

#: Every placement policy with every reclaim policy, as text to add to a preset's name.
POLICIES_AND_RECLAIMS = [f"policy={p},reclaim={r}" for p in POLICIES for r in RECLAIMS]
#: Shapes of machine that are odd in one respect each.
ODD = (
    "tiny,sms=1",
    "tiny,sms=3,block_slots=5",
    "tiny,sms=5,block_slots=1,retire_width=1",
    "tiny,sms=3,retire_width=7",
)


@cache
def config_of(text: str) -> Config:
    """Return the configuration that a text names: ``preset,field=value,...``."""
    name, *changes = text.split(",")
    values: dict[str, Any] = {}
    for change in changes:
        field, _, value = change.partition("=")
        values[field] = int(value) if value.isdigit() else value
    return replace(preset(name), **values)


class _Observers(SimpleNamespace):
    """A ledger class for each text, found by it: ``LEDGERS.tiny,sms=3``."""

    def __init__(self, base: type[Ledger]):
        super().__init__()
        self._base = base

    def __getattr__(self, text: str) -> type[Ledger]:
        config = config_of(text)

        class LedgerOfConfig(self._base):
            def __init__(self) -> None:
                super().__init__(config)

        return LedgerOfConfig


LEDGERS = _Observers(Ledger)
PATH_LEDGERS = _Observers(PathLedger)


def observers(text: str, path: bool = False) -> dict[str, str | type]:
    """Return the ``events`` of a case: the ledger for its configuration, and the stall causes."""
    ledgers = "PATH_LEDGERS" if path else "LEDGERS"
    return {"ledger": f"{__name__}:{ledgers}.{text}", "stalls": StallCauses}
