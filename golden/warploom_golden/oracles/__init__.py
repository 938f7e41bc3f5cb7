"""Checks that share no code with the cycle models: closed forms and ledgers."""

from warploom_golden.oracles.axil_bus import AxilBus
from warploom_golden.oracles.block_state import LedgerError
from warploom_golden.oracles.host_ledger import HostLedger

__all__ = [
    "AxilBus",
    "HostLedger",
    "LedgerError",
]
