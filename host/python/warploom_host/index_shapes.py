"""Which block shape has which rows of the index memory."""

from dataclasses import dataclass, replace

from warploom_spec.config import Config
from warploom_spec.errors import WarploomError
from warploom_spec.launch import LaunchDescriptor

_Block = tuple[int, int, int]


@dataclass(frozen=True)
class _Rows:
    first: int
    end: int


class IndexShapes:
    """Gives each block shape rows of its own, which it keeps.

    While there is no room, the shape that was asked for longest ago gives up its rows.

    Parameters
    ----------
    config : Config
        The core's configuration.
    size : int
        Shapes that have rows, at most.

    Raises
    ------
    WarploomError
        If ``size`` is not positive.
    """

    def __init__(self, config: Config, size: int = 16):
        if size < 1:
            raise WarploomError(f"size is {size}; legal: 1 or more")
        self._config = config
        self._size = size
        #: In the order in which launches asked for them last.
        self._rows: dict[_Block, _Rows] = {}

    def place(self, launch: LaunchDescriptor) -> LaunchDescriptor:
        """Return the launch with the ``index_address`` of its block shape.

        Raises
        ------
        WarploomError
            If the block has more warps than the memory has rows.
        """
        x, y, z = launch.block
        warps = -(-x * y * z // self._config.warp_size)
        most = self._config.index_memory_warps
        # The core refuses a block without threads; without an index memory the address is 0.
        if not warps or not most:
            return replace(launch, index_address=0)
        if warps > most:
            raise WarploomError(f"block {launch.block} has {warps} warps; legal: 1 to {most}")
        rows = self._rows.pop(launch.block, None) or self._new(warps)
        self._rows[launch.block] = rows
        return replace(launch, index_address=rows.first)

    def _new(self, warps: int) -> _Rows:
        """Return free rows; shapes lose theirs while there is no room."""
        while True:
            first = 0
            for rows in sorted(self._rows.values(), key=lambda rows: rows.first):
                if rows.first >= first + warps:
                    break
                first = rows.end
            if first + warps <= self._config.index_memory_warps and len(self._rows) < self._size:
                return _Rows(first, first + warps)
            del self._rows[next(iter(self._rows))]
