"""From a launch to the dispatcher, and from its end to its record."""

from warploom.launch.launch_check import LaunchCheck
from warploom.launch.launch_path import LaunchPath
from warploom.launch.record_queue import RecordQueue
from warploom.launch.resident_queue import ResidentQueue

__all__ = ["LaunchCheck", "LaunchPath", "RecordQueue", "ResidentQueue"]
