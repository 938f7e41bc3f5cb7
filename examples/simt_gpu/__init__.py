"""A whole GPU: FrontEnd, SMs of SimtCore, and their memory."""

from simt_gpu.simt_gpu import SimtGpu
from simt_gpu.simt_memory import SimtMemory
from simt_gpu.unit_window import UnitWindow

__all__ = ["SimtGpu", "SimtMemory", "UnitWindow"]
