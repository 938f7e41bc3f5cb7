"""One SM: warps whose lanes have a pc each, behind the ports of Warploom's front end."""

from simt_core.simt_core import SimtCore

__all__ = ["SimtCore"]
