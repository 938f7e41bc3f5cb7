"""One SM as BlockDispatcher's cycle model sees it: what is free, what is offered, what runs."""

from collections import deque
from dataclasses import dataclass

from warploom_golden.dispatch.place import Place
from warploom_spec.config import Config
from warploom_spec.resources import RESOURCES, capacities


@dataclass(eq=False, slots=True)
class Block:
    """A block from its decision to the return of what it takes.

    Attributes
    ----------
    place : Place
        Its launch's place.
    sm : Sm
        Where it was placed.
    slot : int
        Its slot there.
    offer : int
        Packed ``layouts.block_offer``.
    reported : int or None
        Port cycle of the report that counted.
    out : bool
        Whether it is out.
    """

    place: Place
    sm: "Sm"
    slot: int
    offer: int
    reported: int | None = None
    out: bool = True

    def leave(self) -> None:
        """Be out no longer."""
        if self.out:
            self.out = False
            self.place.out -= 1


class Sm:
    """State of one SM.

    Parameters
    ----------
    number : int
        Its number.
    config : Config
        Its size.

    Attributes
    ----------
    enabled : bool
        The enable bit, registered once.
    lost : bool
        Taken out of use for ever.
    free : list of int
        What is free of each of ``warploom_spec.RESOURCES``.
    free_slots : deque of int
        Numbers of free slots, the one that has been free longest first.
    blocks : list of Block
        All blocks from their decision to the return of what they take.
    held : list of int
        How many blocks of each place it holds.
    standing : Block or None
        The block whose offer is valid.
    left_standing : bool
        An offer was valid in the cycle before, and not taken.
    running : dict of Block
        Blocks whose offer was taken and that were not reported, by slot.
    decided : int or None
        Cycle in which the last block was decided for it.
    """

    def __init__(self, number: int, config: Config):
        self.number = number
        self.enabled = False
        self.lost = False
        self.free = list(capacities(config).values())
        self.free_slots = deque(range(config.block_slots))
        self.blocks: list[Block] = []
        self.held = [0, 0]
        self.standing: Block | None = None
        self.left_standing = False
        self.running: dict[int, Block] = {}
        self.decided: int | None = None
        self._warp_slots = config.warp_slots

    @property
    def occupied_warps(self) -> int:
        """Warps of the blocks that it holds."""
        return self._warp_slots - self.free[RESOURCES.index("warps")]

    @property
    def in_use(self) -> bool:
        """Whether it may get new blocks."""
        return self.enabled and not self.lost

    def fits(self, place: Place) -> bool:
        """Tell whether one block more of a place's launch fits beside what the SM holds."""
        for amount, free in zip(place.need.amounts, self.free, strict=True):
            if amount > free:
                return False
        return True

    def take(self, block: Block) -> None:
        """Hold a block."""
        self.held[block.place.number] += 1
        for n, amount in enumerate(block.place.need.amounts):
            self.free[n] -= amount

    def give(self, block: Block) -> None:
        """Hold a block no longer; its slot is free."""
        self.blocks.remove(block)
        self.free_slots.append(block.slot)
        self.held[block.place.number] -= 1
        for n, amount in enumerate(block.place.need.amounts):
            self.free[n] += amount

    def unreported(self, place: Place | None, till: int) -> list[Block]:
        """Return the blocks, of one place or of all, without a report in ``till`` or before."""
        return [
            block
            for block in self.blocks
            if (place is None or block.place is place)
            and (block.reported is None or block.reported > till)
        ]
