"""A run's figures from the events at the RTL's ports alone."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from warploom_golden.preemption.streams.event_log import PutBack
from warploom_golden.replay.event_tables import Table
from warploom_sim.methods.preempt.measure import Run
from warploom_spec import Config, Fate, timing

Integers = NDArray[np.int64]


class Blocks:
    """The blocks of a run in order of their offers.

    Parameters
    ----------
    tables : mapping of str to Table
        The RTL's events.

    Attributes
    ----------
    offer, report, sm, ticket : array of int64
        Of each block the cycles of its offer and of its report, its SM, and its launch's ticket.

    Raises
    ------
    ValueError
        If an SM's offers and reports do not follow each other in turn.
    """

    def __init__(self, tables: Mapping[str, Table]):
        offers, reports = (_signed(tables[kind]) for kind in ("offers", "reports"))
        # Of each slot offers and reports come in turn.
        first = np.lexsort((offers["cycle"], offers["slot"], offers["sm"]))
        second = np.lexsort((reports["cycle"], reports["slot"], reports["sm"]))
        begins, ends = offers["cycle"][first], reports["cycle"][second]
        in_turn = len(begins) == len(ends) and not (ends < begins).any()
        if not in_turn or not np.array_equal(_slots(offers)[first], _slots(reports)[second]):
            raise ValueError("offers and reports do not belong together")
        ended = np.empty_like(ends)
        ended[first] = ends
        order = np.argsort(offers["cycle"], kind="stable")
        self.offer = offers["cycle"][order]
        self.report = ended[order]
        self.sm = offers["sm"][order]
        self.ticket = offers["ticket"][order]

    def of(self, ticket: int, first: int, last: int) -> Integers:
        """Return which blocks of a launch were offered in these cycles, by their numbers here."""
        low, high = np.searchsorted(self.offer, (first, last + 1)).tolist()
        found: Integers = low + np.flatnonzero(self.ticket[low:high] == ticket)
        return found


def _slots(table: Mapping[str, Integers]) -> Integers:
    """Return a number for each SM's slot."""
    return table["sm"] << 32 | table["slot"]


def _signed(table: Table) -> dict[str, Integers]:
    return {name: column.astype(np.int64) for name, column in table.items()}


def port_run(tables: Mapping[str, Table], blocks: Blocks, config: Config) -> Run:
    """Return a run's results, as `measure.run` does, from the events at the ports.

    Parameters
    ----------
    tables : mapping of str to Table
        The RTL's events.
    blocks : Blocks
        Its blocks.
    config : Config
        The configuration.
    """
    answers, sent, ended = (_signed(tables[kind]) for kind in ("answers", "sent", "ended"))
    urgent = set((1 + np.flatnonzero(sent["urgent"])).tolist())
    accepted = dict(zip(answers["ticket"].tolist(), (answers["cycle"] - 1).tolist(), strict=True))
    seen, nth = np.unique(blocks.ticket, return_index=True)
    starts = dict(zip(seen.tolist(), blocks.offer[nth].tolist(), strict=True))
    made = list(zip(ended["ticket"].tolist(), ended["made"].tolist(), strict=True))
    lookups = _signed(tables["decisions"])
    decisions = [lookups[name].tolist() for name in ("cycle", "hit")]
    ordered = sorted(urgent)
    return Run(
        latencies=tuple(starts[ticket] - accepted[ticket] for ticket in ordered),
        cycles=made[-1][1],
        urgent_starts=tuple(starts[ticket] for ticket in ordered),
        low_ends=tuple(cycle for ticket, cycle in made if ticket not in urgent),
        put_back=tuple(_put_back(tables, blocks)),
        lookups=tuple((cycle, bool(hit)) for cycle, hit in zip(*decisions, strict=True)),
        went_on=tuple(_went_on(blocks, urgent, tables, timing(config).offer)),
    )


def _put_back(tables: Mapping[str, Table], blocks: Blocks) -> list[PutBack]:
    """Return each time that a launch left unfinished; its next block is not told."""
    rows = _signed(tables["put_back"])
    found = []
    since: dict[int, int] = {}
    columns = (rows[name].tolist() for name in ("cycle", "ticket", "fate"))
    for cycle, ticket, fate in zip(*columns, strict=True):
        own = blocks.of(ticket, since.get(ticket, 0), cycle)
        held = int((blocks.report[own] - blocks.offer[own]).sum())
        found.append(PutBack(cycle, ticket, Fate(fate), 0, len(own), held))
        since[ticket] = cycle + 1
    return found


def _went_on(
    blocks: Blocks, urgent: set[int], tables: Mapping[str, Table], offer: int
) -> list[int]:
    """Return the decisions with which low launches went on after urgent blocks were put between.

    These are launches that had started, and were not put back in between.
    """
    back = _signed(tables["put_back"])
    is_urgent = np.isin(blocks.ticket, list(urgent))
    found = []
    # Low blocks right after urgent ones, and the last low blocks before those.
    for n in (np.flatnonzero(is_urgent[:-1] & ~is_urgent[1:]) + 1).tolist():
        before = n - 1
        while before >= 0 and is_urgent[before]:
            before -= 1
        ticket = blocks.ticket[n]
        if before < 0 or blocks.ticket[before] != ticket:
            continue
        between = back["cycle"][back["ticket"] == ticket]
        if not ((between > blocks.offer[before]) & (between <= blocks.offer[n])).any():
            found.append(int(blocks.offer[n]) - offer)
    return found
