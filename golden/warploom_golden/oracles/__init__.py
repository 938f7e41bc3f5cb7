"""What is independent of the cycle models: closed forms, list scheduling, a ledger."""

from warploom_golden.oracles.ledger import Ledger, LedgerError
from warploom_golden.oracles.list_scheduler import ListScheduler

__all__ = [
    "Ledger",
    "LedgerError",
    "ListScheduler",
]
