"""The boards that the system is built for; nothing here needs LiteX."""

from dataclasses import dataclass
from typing import Final

from warploom_spec import WarploomError


@dataclass(frozen=True)
class Board:
    """A board with an ECP5.

    Attributes
    ----------
    name : str
        What ``BOARD=`` has.
    platform : str
        Its module in `litex_boards.platforms`.
    part : str
        The FPGA, as that module names it.
    device : tuple of str
        nextpnr's options for it.
    crystal_hz, hz : int
        The clock that comes in, and the system's.
    baud : int
        Bits a second of the UART.
    """

    name: str
    platform: str
    part: str
    device: tuple[str, ...]
    crystal_hz: int
    hz: int
    baud: int


BOARDS: Final = (
    Board(
        name="ulx3s",
        platform="radiona_ulx3s",
        part="LFE5U-85F",
        device=("--85k", "--package", "CABGA381", "--speed", "6"),
        crystal_hz=25_000_000,
        hz=40_000_000,
        baud=115_200,
    ),
)


def board(name: str) -> Board:
    """Return a board by its name.

    Raises
    ------
    WarploomError
        If there is none.
    """
    for one in BOARDS:
        if one.name == name:
            return one
    raise WarploomError(f"BOARD is {name!r}; legal: {', '.join(one.name for one in BOARDS)}")
