"""Models of the blocks that own a launch from its ticket to its final record."""

from warploom_golden.launch.launch_check import LaunchCheck
from warploom_golden.launch.launch_path import LaunchPath
from warploom_golden.launch.record_queue import RecordQueue
from warploom_golden.launch.resident_queue import ResidentQueue

__all__ = [
    "LaunchCheck",
    "LaunchPath",
    "RecordQueue",
    "ResidentQueue",
]
