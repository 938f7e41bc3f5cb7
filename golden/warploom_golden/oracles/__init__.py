"""Checks that share no code with the cycle models: closed forms, list scheduling, ledgers."""

from warploom_golden.oracles.axil_bus import AxilBus
from warploom_golden.oracles.host_ledger import HostLedger
from warploom_golden.oracles.ledger import Ledger, LedgerError
from warploom_golden.oracles.list_scheduler import ListScheduler

__all__ = [
    "AxilBus",
    "HostLedger",
    "Ledger",
    "LedgerError",
    "ListScheduler",
]
