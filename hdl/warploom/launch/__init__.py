"""From a launch to the dispatcher, and from its end to its record."""

from warploom.launch.kernel_queue import KernelQueue
from warploom.launch.launch_check import LaunchCheck
from warploom.launch.launch_path import LaunchPath
from warploom.launch.record_queue import RecordQueue

__all__ = ["LaunchCheck", "LaunchPath", "RecordQueue", "KernelQueue"]
