"""One SM as BlockDispatcher's cycle model sees it: what is free, what runs, what is killed."""

from dataclasses import dataclass

from warploom_golden.dispatch.place import Need, Place
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
    running_from : int
        The first cycle in which it is running.
    done : bool
        Completed, killed, or lost with its SM.
    """

    place: Place
    sm: "Sm"
    slot: int
    offer: int = 0
    running: bool = False
    running_from: int = 0
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
    unseen : bool
        A free slot is not seen in this cycle.
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
        self.unseen = False
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

    @property
    def sees_slot(self) -> bool:
        """Whether a slot is free and seen."""
        return bool(self.free_slots) and not self.unseen

    def look(self, killing: bool, decided: bool) -> bool:
        """Tell whether a free slot will be unseen in the next cycle.

        Parameters
        ----------
        killing : bool
            Whether some launch is being killed, in this cycle's state.
        decided : bool
            Whether a block is decided for this SM in this cycle.
        """
        return (killing or self.outstanding) and (decided or not self.free_slots)

    def lacks(self, need: Need) -> tuple[bool, bool, bool, bool, bool]:
        """Tell for slots, warps, registers, shared memory and barriers whether they do not fit.

        A free slot that is not seen counts as none.
        """
        return (
            not self.sees_slot,
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
            and self.sees_slot
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

    def ran(self, slot: int, cycle: int) -> Block | None:
        """Return the block that runs in a slot and was running before ``cycle`` already."""
        block = self.running(slot)
        return block if block is not None and block.running_from < cycle else None

    def held(self) -> list[Block]:
        """Return all blocks that hold something, by slot."""
        return [block for block in self.blocks if block is not None]
