"""Preemption of running launches: a static check of idempotence, and a patent's wrong rules.

Method: *GPU task real-time preemption method and system*, patent CN115408135A. The docstrings of
this folder call it the patent. Page: ``docs/preemption/preemption.md``.
"""

from warploom_golden.preemption.idempotence import is_idempotent

__all__ = ["is_idempotent"]
