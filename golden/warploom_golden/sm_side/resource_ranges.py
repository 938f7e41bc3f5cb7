"""Cycle model of ResourceRanges: a contiguous range of each resource for every block."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import layouts, resident_packets, sm_packets
from warploom_spec.config import Config
from warploom_spec.resources import RANGED

#: A number of units for each resource of `RANGED`: a block's size, a row's reach, a range's start.
Units = tuple[int, ...]
NOTHING: Units = (0,) * len(RANGED)


@dataclass(frozen=True)
class Block:
    """A block that waits for its ranges; ``size`` is how much of each resource it needs."""

    offer: Mapping[str, int]
    size: Units


@dataclass(frozen=True)
class Range:
    """Where a block's ranges begin, and the row that they belong to."""

    row: int
    first: Units


@dataclass
class Row:
    """The ranges from one end on: how far they reach, and how many blocks have one."""

    reach: Units = NOTHING
    live: int = 0


class Rows:
    """Both rows, the size of the current one, and its free ranges.

    Numbers in comments are the page's.

    Parameters
    ----------
    capacity : tuple of int
        Units that the SM has.
    """

    def __init__(self, capacity: Units):
        self._capacity = capacity
        #: Row 0 grows from the first unit up, row 1 from the last unit down.
        self._rows = (Row(), Row())
        self._current = 0
        self._size = NOTHING
        #: First units of the current row's free ranges; the last one is the top.
        self._stack: list[Units] = []

    def has_size(self, size: Units) -> bool:
        """Tell whether the current row has ranges of this size."""
        return size == self._size

    def has_range(self, size: Units) -> bool:
        """Tell whether a block of this size gets a range (2b, 2c)."""
        return self.has_size(size) and (bool(self._stack) or self._can_grow())

    def holds_back(self, size: Units) -> bool:
        """Tell whether a block of this size waits for ranges (6)."""
        if self.has_size(size):
            return not self.has_range(size)
        return all(row.live for row in self._rows)

    def take(self) -> Range:
        """Return a range for a block: the one that was freed last, or the row's next (2b, 2c)."""
        row = self._rows[self._current]
        row.live += 1
        if self._stack:
            return Range(self._current, self._stack.pop())
        before, row.reach = row.reach, _sum(row.reach, self._size)
        from_top = tuple(u - r for u, r in zip(self._capacity, row.reach, strict=True))
        return Range(self._current, from_top if self._current else before)

    def change(self, size: Units) -> bool:
        """Begin a row of another size if one has no blocks, the current one first (3).

        Returns
        -------
        bool
            Whether a row begins.
        """
        if self._rows[self._current].live:
            if self._rows[1 - self._current].live:
                return False
            self._current = 1 - self._current
        self._rows[self._current].reach = NOTHING
        self._size, self._stack = size, []
        return True

    def free(self, freed: Range) -> None:
        """Take a range back (4).

        A row that gave its place as the current one away in this cycle has no stack any more.
        """
        self._rows[freed.row].live -= 1
        if freed.row == self._current:
            self._stack.append(freed.first)

    def forget_reach(self) -> None:
        """Let the row that is not current reach nowhere if it has no blocks (5)."""
        other = self._rows[1 - self._current]
        if not other.live:
            other.reach = NOTHING

    def _can_grow(self) -> bool:
        """Tell whether the current row has room for one more range (2c)."""
        low, high = self._rows
        wanted = _sum(_sum(low.reach, high.reach), self._size)
        return all(w <= units for w, units in zip(wanted, self._capacity, strict=True))


class ResourceRanges:
    """Cycle model of ResourceRanges.

    Ports and rules: ``docs/sm_side/resource_ranges.md``. Numbers in comments are the page's.

    Parameters
    ----------
    config : Config
        Widths, and the units that the SM has.
    """

    def __init__(self, config: Config):
        self._capacity = tuple(resource.capacity(config) for resource in RANGED)
        self._words = layouts.launch_words(config)
        self._offer = resident_packets.resident_block(config)
        self._report = layouts.block_report(config)
        self._placed_block = sm_packets.placed_block(config)
        self.reset()

    def reset(self) -> None:
        """Forget all blocks and their ranges."""
        self._arrived: Block | None = None
        self._measured: Block | None = None
        #: Payload of `o`.
        self._placed: int | None = None
        self._held_back = False
        #: `kill` in the cycle before.
        self._kill = 0
        #: Whether the row changed in the cycle before (3).
        self._settling = False
        self._rows = Rows(self._capacity)
        #: By slot: the range of the last block that left, unless that one has none.
        self._range_of: dict[int, Range] = {}
        #: The range whose block was reported in the cycle before.
        self._freed: Range | None = None

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        return {
            "offer__ready": int(self._arrived is None or self._goes_on(inputs)),  # 1
            "o__valid": int(self._placed is not None),
            "o__payload": self._placed,
            "held_back": int(self._held_back),
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        block, killed = self._measured, self._kill_of_measured()
        leaves, goes_on = self._leaves(inputs), self._goes_on(inputs)
        freed, self._freed = self._freed, self._reported(inputs)
        waits = bool(block and not killed and not self._settling)
        self._held_back = bool(block and waits and self._rows.holds_back(block.size))  # 6
        self._settling = False
        self._rows.forget_reach()
        if inputs["o__ready"]:
            self._placed = None
        if block and leaves:
            self._place(block, None if killed else self._rows.take())
        elif block and not killed and not self._rows.has_size(block.size):
            self._settling = self._rows.change(block.size)
        if freed:
            self._rows.free(freed)
        self._move(inputs, leaves, goes_on)
        self._kill = inputs["kill"]

    def _kill_of_measured(self) -> bool:
        """Tell whether the stream of the block in *measured* was killed in the cycle before."""
        block = self._measured
        return block is not None and bool(self._kill >> block.offer["stream"] & 1)

    def _leaves(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether the block in *measured* leaves (2)."""
        if self._measured is None or (self._placed is not None and not inputs["o__ready"]):
            return False
        if self._kill_of_measured():
            return True
        return not self._settling and self._rows.has_range(self._measured.size)

    def _goes_on(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether the block in *arrived* goes to *measured* (1)."""
        return self._arrived is not None and (self._measured is None or self._leaves(inputs))

    def _reported(self, inputs: Mapping[str, int]) -> Range | None:
        """Return the range of the block that is reported in this cycle (4)."""
        if not inputs["report_valid"]:
            return None
        return self._range_of.pop(self._report.unpack(inputs["report"])["slot"], None)

    def _place(self, block: Block, given: Range | None) -> None:
        """Move a block to *placed*, with its range or without one (2)."""
        slot = block.offer["slot"]
        self._range_of.pop(slot, None)
        if given:
            self._range_of[slot] = given
        first = given.first if given else NOTHING
        names = (f"{resource.name}_first" for resource in RANGED)
        self._placed = self._placed_block.pack(
            {**block.offer, **dict(zip(names, first, strict=True))}
        )

    def _move(self, inputs: Mapping[str, int], leaves: bool, goes_on: bool) -> None:
        """Move blocks between the offer, *arrived* and *measured* (1)."""
        takes = inputs["offer__valid"] and (self._arrived is None or goes_on)
        if leaves:
            self._measured = None
        if goes_on:
            self._measured, self._arrived = self._arrived, None
        if takes:
            self._arrived = self._block(inputs)

    def _block(self, inputs: Mapping[str, int]) -> Block:
        """Return the block that transfers in this cycle, with its size."""
        offer = self._offer.unpack(inputs["offer__payload"])
        words = self._words.unpack(inputs["words"])
        return Block(
            offer,
            tuple(
                words[r.field.name] * (words["warps"] if r.field.of_warp else 1)
                for r in RANGED
                if r.field
            ),
        )


def _sum(one: Units, other: Units) -> Units:
    return tuple(a + b for a, b in zip(one, other, strict=True))
