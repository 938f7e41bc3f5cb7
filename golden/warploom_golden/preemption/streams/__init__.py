"""Event model of KernelQueue and of what stands around it: streams as queues, waits, preemption.

Pages: ``docs/launch/kernel_queue.md``, ``docs/launch/launch_path.md``. "Rule" means a rule
of the first, unless another page is named.
"""

from warploom_golden.preemption.streams.event_launch import SentLaunch
from warploom_golden.preemption.streams.event_log import Log
from warploom_golden.preemption.streams.event_queue import EventQueue
from warploom_golden.preemption.streams.ordered_host import OrderedHost
from warploom_golden.preemption.streams.patent_rules import (
    AllSubmitted,
    FlagCheckBlock,
    OneFlag,
    OnlyNotExecuted,
)
from warploom_golden.preemption.streams.queued_model import QueuedModel, QueueHost

__all__ = [
    "AllSubmitted",
    "EventQueue",
    "FlagCheckBlock",
    "Log",
    "OneFlag",
    "OnlyNotExecuted",
    "OrderedHost",
    "QueueHost",
    "QueuedModel",
    "SentLaunch",
]
