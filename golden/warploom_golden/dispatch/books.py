"""What SMs have taken and been given back, their slots, and who runs there."""

from collections import deque

from warploom_golden.dispatch.amounts import Amounts
from warploom_golden.dispatch.resident_launch import ResidentBlock
from warploom_spec.config import Config
from warploom_spec.resources import capacities


class Books:
    """The two books, the free slots, and the rows of the slots (2, 21, 22, 26).

    Parameters
    ----------
    config : Config
        Number and size of SMs.
    amounts : Amounts
        Packs what an SM has.

    Attributes
    ----------
    taken, given : list of int
        Packed amounts of each SM. What is given begins with what an SM has.
    """

    def __init__(self, config: Config, amounts: Amounts):
        self.taken = [0] * config.sms
        self.given = [amounts.pack(capacities(config))] * config.sms
        self._slots = [deque(range(config.block_slots)) for _ in range(config.sms)]
        self._rows: list[dict[int, ResidentBlock]] = [{} for _ in range(config.sms)]

    def next_slot(self, sm: int) -> int:
        """Return the slot of an SM that has been free longest; a block gets it."""
        return self._slots[sm].popleft()

    def enter(self, block: ResidentBlock) -> None:
        """Let a block have its slot's row; it runs there from its offer on."""
        self._rows[block.sm][block.slot] = block

    def take(self, block: ResidentBlock) -> None:
        """Write what a block takes."""
        self.taken[block.sm] += block.launch.needs

    def give(self, block: ResidentBlock) -> None:
        """Write back what a block took; its slot becomes the last of the free ones."""
        self.given[block.sm] += block.launch.needs
        self._slots[block.sm].append(block.slot)

    def running(self, sm: int, slot: int, cycle: int) -> ResidentBlock | None:
        """Return the block that runs in a slot when its books are looked at in a cycle (26)."""
        block = self._rows[sm].get(slot)
        return block if block is not None and block.offered <= cycle - 3 else None

    def leave(self, block: ResidentBlock) -> None:
        """Let a block run no longer."""
        del self._rows[block.sm][block.slot]
