"""Figures of other designs for the same work, measured with the same flow."""

from dataclasses import dataclass
from typing import Final

#: How the figures of `PEERS` with an area were got.
SOURCE: Final = "same flow, distributed RAM not counted"


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A design that does what one of our blocks does.

    Attributes
    ----------
    beside : str
        Our block.
    name, note : str
        What it is, and what it leaves out or takes.
    lut4eq, ff : int or None
        Area, where it was measured.
    fmax_mhz : float or None
        Clock rate, where it was measured.
    cycles_per_block : str
        Cycles from one block to the next, for a dispatcher.
    source : str
        Where the figures come from.
    """

    beside: str
    name: str
    note: str
    lut4eq: int | None = None
    ff: int | None = None
    fmax_mhz: float | None = None
    cycles_per_block: str = ""
    source: str = SOURCE


PEERS: Final = (
    Peer(
        beside="IndexGenerator",
        name="32-lane dividers, pipelined",
        note="x, y, z by division in every lane, unpacked",
        lut4eq=16_037,
        ff=15_494,
    ),
    Peer(
        beside="IndexGenerator",
        name="Vortex, 32-lane thread-id unit",
        note="unpacked, no history",
        lut4eq=2_523,
        ff=8_926,
        fmax_mhz=48,
    ),
    Peer(
        beside="BlockDispatcher",
        name="FGPU, dispatcher for 8 CUs",
        note="tracks no resources",
        lut4eq=1_803,
        fmax_mhz=95,
        cycles_per_block="3",
    ),
    Peer(
        beside="BlockDispatcher",
        name="Ventus, dispatcher",
        note="",
        lut4eq=29_375,
        fmax_mhz=35,
        cycles_per_block="34 to 58",
    ),
    Peer(
        beside="BlockDispatcher",
        name="MIAOW, dispatcher",
        note="",
        lut4eq=63_223,
        cycles_per_block="18 to 60",
    ),
    Peer(
        beside="BlockDispatcher",
        name="NVIDIA H200",
        note="a real GPU: 0.83 blocks a cycle",
        cycles_per_block="1.2",
        source="recorded on the device",
    ),
)
