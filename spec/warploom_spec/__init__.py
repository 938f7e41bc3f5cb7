"""What RTL, golden models and test benches share: parameters, packets, error codes, latencies."""

from warploom_spec.config import PRESETS, Config, preset
from warploom_spec.errors import EXPLANATIONS, ErrorCode, Fate, WarploomError
from warploom_spec.launch import LaunchDescriptor
from warploom_spec.packet import Field, Packet
from warploom_spec.timing import Timing, timing

__all__ = [
    "EXPLANATIONS",
    "PRESETS",
    "Config",
    "ErrorCode",
    "Fate",
    "Field",
    "LaunchDescriptor",
    "Packet",
    "Timing",
    "WarploomError",
    "preset",
    "timing",
]
