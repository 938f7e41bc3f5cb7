"""Kernel queue and preemption: a golden model; the kernel queue has no RTL yet.

Method: *GPU task real-time preemption method and system*, patent CN115408135A. The docstrings of
this folder call it the patent. Page: ``docs/preemption/preemption.md``.
"""

from warploom_golden.preemption.idempotence import is_idempotent
from warploom_golden.preemption.kernel_queue import KernelQueue
from warploom_golden.preemption.model import Host, NoEventLeft, PreemptionModel
from warploom_golden.preemption.parameters import QueueLatency, QueueParameters
from warploom_golden.replay.event_dispatcher import SmBehaviour

__all__ = [
    "Host",
    "KernelQueue",
    "PreemptionModel",
    "QueueLatency",
    "QueueParameters",
    "SmBehaviour",
    "NoEventLeft",
    "is_idempotent",
]
