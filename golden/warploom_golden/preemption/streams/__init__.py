"""Event model of a launch path with two places: streams as queues, waits, preemption.

The hardware that it models is gone, and its pages with their numbered rules. It computes what
``warploom preempt`` says.
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
