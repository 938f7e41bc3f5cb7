"""Tables of offers, and of the launch words that come with them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from warploom_golden.oracles.index_reference import last_mask, threads, warps, widths
from warploom_golden.replay.event_tables import Table, columns, placed
from warploom_golden.replay.records import Integers
from warploom_spec import Config, LaunchDescriptor, layouts


class BlockTables:
    """Makes tables of offers that come one piece after the other.

    Parameters
    ----------
    config : Config
        The configuration.
    """

    def __init__(self, config: Config):
        self._config = config
        # The ticket of the last offer so far; no launch has 0.
        self._last = 0

    def tables(
        self,
        log: Integers,
        launched: Mapping[int, LaunchDescriptor],
        entries: Mapping[int, int],
    ) -> dict[str, Table]:
        """Return the tables ``offers`` and ``words`` of the next offers.

        Parameters
        ----------
        log : array of int64
            Rows cycle, SM, slot, ticket, block number, in order of cycles.
        launched, entries : mapping of int to LaunchDescriptor, and to int
            The launches by their tickets, and their entries in the queue.
        """
        seen, nth = np.unique(log[3], return_inverse=True)
        tickets = seen.tolist()
        offers = placed(log) | self._of_launches(tickets, launched, entries, nth)
        block = log[4].view(np.uint64)
        gx, gy = (offers.pop(name) for name in ("gx", "gy"))
        offers["block_number"] = block % (1 << layouts.BLOCK_NUMBER_BITS)
        across, offers["bx"] = np.divmod(block, gx)
        offers["bz"], offers["by"] = np.divmod(across, gy)
        words = self._words(tickets, launched)
        changes = self._changes(log[3])
        cycles = {"cycle": offers["cycle"][changes]}
        taken = {name: column[nth[changes]] for name, column in words.items()}
        return {"offers": offers, "words": cycles | taken}

    def _of_launches(
        self,
        tickets: list[int],
        launched: Mapping[int, LaunchDescriptor],
        entries: Mapping[int, int],
        nth: NDArray[np.int64],
    ) -> Table:
        """Return what all blocks of a launch have in common, for each offer."""
        rows = []
        for ticket in tickets:
            launch = launched[ticket]
            count = warps(launch.block, self._config.warp_size)
            own = ticket, launch.stream, entries[ticket], launch.index_address, count
            rows.append((*own, *launch.grid[:2]))
        names = ("ticket", "stream", "entry", "index_address", "warps", "gx", "gy")
        return {name: column[nth] for name, column in columns(rows, names).items()}

    def _words(self, tickets: list[int], launched: Mapping[int, LaunchDescriptor]) -> Table:
        """Return the launch words of each ticket."""
        rows = []
        names = [field.name for field in layouts.launch_words(self._config).fields]
        for ticket in tickets:
            launch = launched[ticket]
            values = launch.values(self._config) | {
                "ticket": ticket,
                "threads": threads(launch.block),
                "warps": warps(launch.block, self._config.warp_size),
                "last_mask": last_mask(launch.block, self._config.warp_size),
            }
            for axis, width in zip("xyz", widths(launch.block), strict=True):
                values[f"width_{axis}"] = width
            rows.append(tuple(values[name] for name in names))
        return columns(rows, names)

    def _changes(self, tickets: Integers) -> NDArray[np.int64]:
        """Return which offers are of another launch than the offer before."""
        before = np.concatenate([[self._last], tickets[:-1]])
        if len(tickets):
            self._last = int(tickets[-1])
        return np.flatnonzero(before[: len(tickets)] != tickets)
