"""The instructions of SimtCore in NumPy: written from the page and the manual, not from the RTL."""

from simt_model.block_model import BlockModel
from simt_model.grid_model import Launch, run_grid
from simt_model.instruction import IllegalInstruction, Instruction, decode
from simt_model.memory_model import Fault, Memory
from simt_model.warp_model import Step, WarpModel

__all__ = [
    "BlockModel",
    "Fault",
    "IllegalInstruction",
    "Instruction",
    "Launch",
    "Memory",
    "Step",
    "WarpModel",
    "decode",
    "run_grid",
]
