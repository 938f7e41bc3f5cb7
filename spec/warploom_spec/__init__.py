"""What RTL, golden models and test benches share: parameters, packets, error codes, latencies."""

from warploom_spec.config import PRESETS, Config, preset
from warploom_spec.errors import (
    ERROR_CODE_BITS,
    EXPLANATIONS,
    BlockStatus,
    ErrorCode,
    Fate,
    WarploomError,
)
from warploom_spec.launch import LaunchDescriptor
from warploom_spec.packet import Field, Packet
from warploom_spec.resources import RESOURCES, SM_RESOURCES, STALL_CAUSES, capacities
from warploom_spec.timing import Timing, timing

__all__ = [
    "ERROR_CODE_BITS",
    "EXPLANATIONS",
    "PRESETS",
    "RESOURCES",
    "SM_RESOURCES",
    "STALL_CAUSES",
    "BlockStatus",
    "Config",
    "ErrorCode",
    "Fate",
    "Field",
    "LaunchDescriptor",
    "Packet",
    "Timing",
    "WarploomError",
    "capacities",
    "preset",
    "timing",
]
