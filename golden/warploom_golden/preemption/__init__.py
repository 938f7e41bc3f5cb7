"""Kernel queue and preemption: the golden model ahead of its hardware."""

from warploom_golden.preemption.idempotence import is_idempotent
from warploom_golden.preemption.kernel_queue import KernelQueue
from warploom_golden.preemption.model import Host, PreemptionModel, StandsStill
from warploom_golden.preemption.parameters import (
    QueueLatency,
    QueueParameters,
    SourceRules,
)
from warploom_golden.replay.event_dispatcher import SmBehaviour

__all__ = [
    "Host",
    "KernelQueue",
    "PreemptionModel",
    "QueueLatency",
    "QueueParameters",
    "SmBehaviour",
    "SourceRules",
    "StandsStill",
    "is_idempotent",
]
