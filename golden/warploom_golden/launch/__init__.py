"""Models of the blocks that own a launch from its ticket to its final record."""

from warploom_golden.launch.kernel_queue import KernelQueue
from warploom_golden.launch.launch_check import LaunchCheck
from warploom_golden.launch.launch_path import LaunchPath
from warploom_golden.launch.record_queue import RecordQueue

__all__ = [
    "LaunchCheck",
    "LaunchPath",
    "RecordQueue",
    "KernelQueue",
]
