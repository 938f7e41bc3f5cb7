"""Cycle model of GridWalker: a grid's blocks in order of their id."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import layouts
from warploom_spec.config import Config

#: (x, y, z)
Place3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Walk:
    """A grid and a block in it.

    Attributes
    ----------
    grid : tuple of int
        Blocks in x, y, z.
    block : tuple of int
        The block that is next.
    number : int
        Its number, modulo 2^32.
    """

    grid: Place3
    block: Place3
    number: int = 0

    @classmethod
    def of(cls, fields: Mapping[str, int], number: int) -> "Walk":
        """Return the walk of a launch's grid from its start on, whose number is known."""
        grid = fields["gx"], fields["gy"], fields["gz"]
        return cls(grid, (fields["start_x"], fields["start_y"], fields["start_z"]), number)

    @property
    def last(self) -> bool:
        """Whether no block follows."""
        gx, gy, gz = self.grid
        return self.block == (gx - 1, gy - 1, gz - 1)

    def following(self) -> "Walk | None":
        """Return the walk at its next block, x fastest; None after the last one."""
        (gx, gy, gz), (x, y, z) = self.grid, self.block
        number = (self.number + 1) % (1 << layouts.BLOCK_NUMBER_BITS)
        if x + 1 < gx:
            return Walk(self.grid, (x + 1, y, z), number)
        if y + 1 < gy:
            return Walk(self.grid, (0, y + 1, z), number)
        if z + 1 < gz:
            return Walk(self.grid, (0, 0, z + 1), number)
        return None


class GridWalker:
    """Cycle model of GridWalker.

    Ports and rules: ``docs/dispatch/grid_walker.md``. A grid that transfers in the cycle of a
    ``flush`` is held; the one before it is forgotten.

    Parameters
    ----------
    config : Config
        Widths of the grid.
    first_number : int, optional
        Number of each grid's first block.
    """

    def __init__(self, config: Config, *, first_number: int = 0):
        self._first_number = first_number
        self._input = layouts.grid_walk(config)
        self._output = layouts.walked_block(config)
        self.reset()

    def reset(self) -> None:
        """Forget the grid."""
        self._walk: Walk | None = None

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        walk = self._walk
        if walk is None:
            return {"i__ready": 1, "o__valid": 0, "o__payload": None}
        bx, by, bz = walk.block
        last = int(walk.last)
        fields = {"bx": bx, "by": by, "bz": bz, "block_number": walk.number, "last": last}
        return {
            "i__ready": last & inputs["o__ready"],
            "o__valid": 1,
            "o__payload": self._output.pack(fields),
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        ready = self.outputs(inputs)["i__ready"]
        if self._walk is not None and inputs["o__ready"]:
            self._walk = self._walk.following()
        if inputs["flush"]:
            self._walk = None
        if inputs["i__valid"] and ready:
            fields = self._input.unpack(inputs["i__payload"])
            self._walk = Walk.of(fields, self._first_number)
