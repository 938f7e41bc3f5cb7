"""A run's figures from the events at the ports alone: the RTL's, or the model's."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_tables import Table
from warploom_sim.methods.preempt.runs import KilledRun, Run

Integers = NDArray[np.int64]
#: Bits of a cycle in a key that sorts by ticket, then by cycle.
_CYCLE_BITS = 40


class Blocks:
    """The blocks of a run in order of their offers.

    Parameters
    ----------
    tables : mapping of str to Table
        The events.

    Attributes
    ----------
    offer, report, sm, ticket, number, status : array of int64
        Of each block the cycles of its offer and of its report, its SM, its launch's ticket, its
        number in its run, and what its report says. Without numbers in ``tables`` they are absent.

    Raises
    ------
    ValueError
        If an SM's offers and reports do not follow each other in turn.
    """

    def __init__(self, tables: Mapping[str, Table]):
        offers, reports = (signed(tables[kind]) for kind in ("offers", "reports"))
        # Of each slot offers and reports come in turn.
        first = np.lexsort((offers["cycle"], offers["slot"], offers["sm"]))
        second = np.lexsort((reports["cycle"], reports["slot"], reports["sm"]))
        begins, ends = offers["cycle"][first], reports["cycle"][second]
        in_turn = len(begins) == len(ends) and not (ends < begins).any()
        if not in_turn or not np.array_equal(_slots(offers)[first], _slots(reports)[second]):
            raise ValueError("offers and reports do not belong together")
        ended, status = np.empty_like(ends), np.empty_like(ends)
        ended[first], status[first] = ends, reports["status"][second]
        order = np.argsort(offers["cycle"], kind="stable")
        self.offer = offers["cycle"][order]
        self.report = ended[order]
        self.status = status[order]
        self.sm = offers["sm"][order]
        self.ticket = offers["ticket"][order]
        if "block_number" in offers:
            self.number = offers["block_number"][order]

    def first_offers(self) -> dict[int, int]:
        """Return the cycle of each launch's first offer, by its ticket."""
        seen, nth = np.unique(self.ticket, return_index=True)
        return dict(zip(seen.tolist(), self.offer[nth].tolist(), strict=True))


def _slots(table: Mapping[str, Integers]) -> Integers:
    """Return a number for each SM's slot."""
    return table["sm"] << 32 | table["slot"]


def signed(table: Table) -> dict[str, Integers]:
    """Return a table whose columns may be subtracted."""
    return {name: column.astype(np.int64) for name, column in table.items()}


def acceptances(ended: Mapping[str, Integers]) -> dict[int, int]:
    """Return the cycle of each launch's acceptance, by its ticket: its record has 32 bits of it."""
    since = (ended["cycle"] - ended["accepted"]) & 0xFFFF_FFFF
    return dict(zip(ended["ticket"].tolist(), (ended["cycle"] - since).tolist(), strict=True))


class Kills:
    """The runs that were killed, in order of their tickets.

    Parameters
    ----------
    tables : mapping of str to Table
        The events.
    """

    def __init__(self, tables: Mapping[str, Table]):
        killed, ended = signed(tables["killed"]), signed(tables["ended"])
        tickets = [
            self._resident(ended, cycle, stream)
            for cycle, stream in zip(killed["cycle"], killed["stream"], strict=True)
        ]
        self.ticket = np.array(tickets, np.int64)
        order = np.lexsort((killed["cycle"], self.ticket))
        self.cycle, self.ticket = killed["cycle"][order], self.ticket[order]
        self._keys = self.ticket << _CYCLE_BITS | self.cycle

    @staticmethod
    def _resident(ended: Mapping[str, Integers], cycle: int, stream: int) -> int:
        """Return the ticket of a stream's resident: the first of its launches that ends later."""
        since = int(np.searchsorted(ended["cycle"], cycle))
        nth = since + int(np.flatnonzero(ended["stream"][since:] == stream)[0])
        return int(ended["ticket"][nth])

    def runs(self, blocks: Blocks) -> Integers:
        """Return the number of each block's run: that of the kill that ends it, if one does.

        Blocks of two runs of one launch have different numbers.
        """
        found: Integers = np.searchsorted(self._keys, blocks.ticket << _CYCLE_BITS | blocks.offer)
        return found

    def lost(self, blocks: Blocks) -> tuple[KilledRun, ...]:
        """Return what was lost in each killed run, in order of cycles."""
        if not len(self.ticket):
            return ()
        runs = self.runs(blocks)
        ends = np.minimum(runs, len(self.ticket) - 1)
        own = np.flatnonzero((runs == ends) & (self.ticket[ends] == blocks.ticket))
        count = np.bincount(runs[own], minlength=len(self.ticket))
        took = (blocks.report - blocks.offer)[own]
        held = np.zeros(len(self.ticket), np.int64)
        np.add.at(held, runs[own], took)
        rows = zip(self.cycle.tolist(), count.tolist(), held.tolist(), strict=True)
        return tuple(sorted(KilledRun(*row) for row in rows))


def port_run(tables: Mapping[str, Table], blocks: Blocks) -> Run:
    """Return a run's results from the events at the ports.

    Parameters
    ----------
    tables : mapping of str to Table
        The events.
    blocks : Blocks
        Their blocks.
    """
    sent, ended = signed(tables["sent"]), signed(tables["ended"])
    urgent = (1 + np.flatnonzero(sent["urgent"])).tolist()
    accepted, starts = acceptances(ended), blocks.first_offers()
    lookups = signed(tables["decisions"])
    decisions = [lookups[name].tolist() for name in ("cycle", "hit")]
    is_low = ~np.isin(ended["ticket"], urgent)
    kills = Kills(tables)
    return Run(
        latencies=tuple(starts[ticket] - accepted[ticket] for ticket in urgent),
        cycles=int(ended["cycle"][-1]),
        urgent_starts=tuple(starts[ticket] for ticket in urgent),
        low_ends=tuple(ended["cycle"][is_low].tolist()),
        killed=kills.lost(blocks),
        lookups=tuple((cycle, bool(hit)) for cycle, hit in zip(*decisions, strict=True)),
        went_on=_went_on(blocks, urgent, kills),
    )


def _went_on(blocks: Blocks, urgent: list[int], kills: Kills) -> tuple[int, ...]:
    """Return the offers with which low runs went on after urgent blocks were placed between."""
    is_urgent = np.isin(blocks.ticket, urgent)
    before = np.cumsum(is_urgent)
    low = np.flatnonzero(~is_urgent)
    # The blocks of one run after the other, each run's in order of their offers.
    order = low[np.lexsort((low, kills.runs(blocks)[low], blocks.ticket[low]))]
    same = (np.diff(blocks.ticket[order]) == 0) & (np.diff(kills.runs(blocks)[order]) == 0)
    after = order[1:][same & (np.diff(before[order]) > 0)]
    return tuple(np.sort(blocks.offer[after]).tolist())
