"""A launch from its ticket to its final record."""

from warploom.launch.launch_check import LaunchCheck
from warploom.launch.launch_path import LaunchPath

__all__ = [
    "LaunchCheck",
    "LaunchPath",
]
