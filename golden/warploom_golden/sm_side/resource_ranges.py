"""Cycle model of ResourceRanges: a contiguous range of each resource for every block."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import layouts, resident_packets, sm_packets
from warploom_spec.config import Config
from warploom_spec.resources import RANGED

#: A number of cells for each resource of `RANGED`.
Cells = tuple[int, ...]
#: Cells of one block, for each resource.
Runs = tuple[range, ...]
NO_RUNS: Runs = (range(0),) * len(RANGED)


@dataclass(frozen=True)
class Block:
    """A block that waits for its ranges; ``size`` is how many cells of each resource it needs."""

    offer: Mapping[str, int]
    size: Cells

    @property
    def length(self) -> int:
        """Cycles of one search for it (2)."""
        return max(1, *self.size)


class ResourceRanges:
    """Cycle model of ResourceRanges.

    Ports and rules: ``docs/sm_side/resource_ranges.md``. Numbers in comments are the page's.

    Parameters
    ----------
    config : Config
        Widths, the units that the SM has, and those of a cell.
    """

    def __init__(self, config: Config):
        self._config = config
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
        #: Free cells of each resource, in their order.
        self._free = [[True] * resource.cells(self._config) for resource in RANGED]
        #: What the search that is on will find, and the cycles to its end (2); None: none is on.
        self._search: tuple[Runs | None, int] | None = None
        #: What was found, and the cycles before it can be given (3b).
        self._found: tuple[Runs, int] | None = None
        #: By slot: the cells of the last block that left.
        self._runs_of: dict[int, Runs] = {}
        #: The cells whose block was reported in the cycle before.
        self._freed: Runs = NO_RUNS

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
        leaves, goes_on = self._leaves(inputs), self._goes_on(inputs)
        freed, self._freed = self._freed, self._reported(inputs)
        block, found = self._measured, self._found
        given = NO_RUNS if self._kill_of_measured() or not found else found[0]
        if inputs["o__ready"]:
            self._placed = None
        if block:
            self._look(block)
        if block and leaves:
            self._place(block, given)
        self._mark(freed, free=True)
        self._move(inputs, leaves, goes_on)
        self._kill = inputs["kill"]

    def _kill_of_measured(self) -> bool:
        """Tell whether the stream of the block in *measured* was killed in the cycle before."""
        block = self._measured
        return block is not None and bool(self._kill >> block.offer["stream"] & 1)

    def _leaves(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether the block in *measured* leaves (3)."""
        if self._measured is None or (self._placed is not None and not inputs["o__ready"]):
            return False
        return self._kill_of_measured() or bool(self._found and self._found[1] == 0)

    def _goes_on(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether the block in *arrived* goes to *measured* (1)."""
        return self._arrived is not None and (self._measured is None or self._leaves(inputs))

    def _look(self, block: Block) -> None:
        """Go on with the search for a block's cells (2, 5)."""
        if self._found:
            runs, left = self._found
            self._found = runs, max(0, left - 1)
            return
        if self._search and self._search[1] > 0:
            self._search = self._search[0], self._search[1] - 1
            return
        if self._search:
            runs_found = self._search[0]
            self._held_back = runs_found is None
            if runs_found is not None:
                self._search, self._found = None, (runs_found, block.length - 1)
                return
        self._search = self._runs(block), block.length - 1

    def _runs(self, block: Block) -> Runs | None:
        """Return the lowest runs of cells that are free now (2)."""
        runs = tuple(
            _first_run(free, size) for free, size in zip(self._free, block.size, strict=True)
        )
        return tuple(run for run in runs if run is not None) if None not in runs else None

    def _mark(self, runs: Runs, free: bool) -> None:
        for cells, run in zip(self._free, runs, strict=True):
            for cell in run:
                cells[cell] = free

    def _reported(self, inputs: Mapping[str, int]) -> Runs:
        """Return the cells of the block that is reported in this cycle (4)."""
        if not inputs["report_valid"]:
            return NO_RUNS
        return self._runs_of.pop(self._report.unpack(inputs["report"])["slot"], NO_RUNS)

    def _place(self, block: Block, given: Runs) -> None:
        """Move a block to *placed*, with its cells or without any (3)."""
        self._runs_of[block.offer["slot"]] = given
        self._mark(given, free=False)
        self._held_back, self._search, self._found = False, None, None
        firsts = {
            f"{resource.name}_first": run.start * resource.cell_units(self._config)
            for resource, run in zip(RANGED, given, strict=True)
        }
        self._placed = self._placed_block.pack({**block.offer, **firsts})

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
        sizes = []
        for resource in RANGED:
            assert resource.field is not None
            units = words[resource.field.name] * (words["warps"] if resource.field.of_warp else 1)
            sizes.append(-(-units // resource.cell_units(self._config)))
        return Block(offer, tuple(sizes))


def _first_run(free: list[bool], size: int) -> range | None:
    """Return the lowest cells side by side that are free; None: there are not so many."""
    for first in range(len(free) - size + 1):
        if all(free[first : first + size]):
            return range(first, first + size)
    return None
