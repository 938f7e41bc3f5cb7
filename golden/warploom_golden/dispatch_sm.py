"""One SM as BlockDispatcher's cycle model sees it: what is free, what runs, what is killed."""

from dataclasses import dataclass

from warploom_golden.dispatch_place import Need, Place
from warploom_spec.config import Config


@dataclass(eq=False, slots=True)
class Block:
    """A block from its decision to the return of what it holds.

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
    running : bool
        Its offer was taken, and neither completion nor kill was processed.
    done : bool
        Completed, killed, or lost with its SM.
    """

    place: Place
    sm: "Sm"
    slot: int
    offer: int = 0
    running: bool = False
    done: bool = False


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
    warps, registers, shared, barriers : int
        What is free.
    blocks : list of Block or None
        What holds each slot.
    standing : Block or None
        The block whose offer is valid.
    kill : int
        Mask of the kill pulse in this cycle, 0 for none.
    outstanding : bool
        Whether a kill waits for its acknowledgement; ``named`` is its mask, ``killed_at`` the
        cycle of its pulse.
    """

    def __init__(self, number: int, config: Config):
        self.number = number
        self.enabled = False
        self.lost = False
        self.warps = config.warp_slots
        self.registers = config.register_units
        self.shared = config.shared_units
        self.barriers = config.barriers
        self.blocks: list[Block | None] = [None] * config.block_slots
        self.standing: Block | None = None
        self.kill = 0
        self.outstanding = False
        self.named = 0
        self.killed_at = 0
        self._all_warps = config.warp_slots
        self._unheld = (1 << config.block_slots) - 1

    @property
    def free_slots(self) -> int:
        """Mask of the slots that no block holds and no outstanding kill names."""
        return self._unheld & ~self.named

    @property
    def occupied_warps(self) -> int:
        """Warp slots in use."""
        return self._all_warps - self.warps

    @property
    def in_use(self) -> bool:
        """Whether it may get new blocks."""
        return self.enabled and not self.lost

    def lacks(self, need: Need) -> tuple[bool, bool, bool, bool, bool]:
        """Tell for slots, warps, registers, shared memory and barriers whether they do not fit."""
        return (
            not self.free_slots,
            self.warps < need.warps,
            self.registers < need.registers,
            self.shared < need.shared,
            self.barriers < need.barriers,
        )

    def has_room(self, need: Need) -> bool:
        """Whether all of a block's need is free."""
        return (
            self.warps >= need.warps
            and self.registers >= need.registers
            and self.shared >= need.shared
            and self.barriers >= need.barriers
            and bool(self._unheld & ~self.named)
        )

    def take(self, place: Place) -> Block:
        """Give the lowest free slot and the need of one block to ``place``."""
        mask = self.free_slots
        slot = (mask & -mask).bit_length() - 1
        self._unheld &= ~(1 << slot)
        block = Block(place, self, slot)
        self.blocks[slot] = block
        need = place.need
        self.warps -= need.warps
        self.registers -= need.registers
        self.shared -= need.shared
        self.barriers -= need.barriers
        return block

    def give(self, block: Block) -> None:
        """Return what a block held."""
        self.blocks[block.slot] = None
        self._unheld |= 1 << block.slot
        need = block.place.need
        self.warps += need.warps
        self.registers += need.registers
        self.shared += need.shared
        self.barriers += need.barriers

    def running(self, slot: int) -> Block | None:
        """Return the block that runs in a slot."""
        block = self.blocks[slot] if slot < len(self.blocks) else None
        return block if block is not None and block.running else None

    def held(self) -> list[Block]:
        """Return all blocks that hold something, by slot."""
        return [block for block in self.blocks if block is not None]
