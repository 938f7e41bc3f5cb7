"""A ledger of a run, by the events at the ports and by what was sent: no model has a part in it.

Each ticket has one record. Each block is once in effect, and no launch is torn. Order and waits are
kept. No SM holds more than it has.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from warploom_golden.replay.event_tables import Table
from warploom_golden.replay.machine import block_needs
from warploom_sim.methods.preempt.port_figures import Blocks, Integers, Kills, signed
from warploom_sim.methods.preempt.workload import Workload
from warploom_spec import BlockStatus, Config, LaunchDescriptor, capacities


class RunLedger:
    """The books of one run.

    Parameters
    ----------
    tables : mapping of str to Table
        The events.
    blocks : Blocks
        The blocks.
    launches : sequence of LaunchDescriptor
        The launches in the order of their tickets, the first one's is 1.
    config : Config
        The configuration.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        blocks: Blocks,
        launches: Sequence[LaunchDescriptor],
        config: Config,
    ):
        self._blocks, self._launches, self._config = blocks, launches, config
        self._sent, self._ended = signed(tables["sent"]), signed(tables["ended"])
        self._kills = Kills(tables)
        self._first = blocks.first_offers()
        ended = zip(self._ended["ticket"].tolist(), self._ended["cycle"].tolist(), strict=True)
        self._ends = dict(ended)

    def check(self, workload: Workload) -> list[str]:
        """Return in words what is wrong.

        Parameters
        ----------
        workload : Workload
            What was sent: it says what low launches wait for.
        """
        records = self._records()
        if records:
            return records
        return [*self._effects(), *self._streams(), *self._waits(workload), *self._rooms()]

    def _records(self) -> list[str]:
        """Return which ticket has not one record."""
        times = np.bincount(self._ended["ticket"], minlength=len(self._launches) + 1)
        wrong = np.flatnonzero(times != 1).tolist()
        return [f"ticket {n} has {times[n]} final records" for n in wrong if n or times[n]][:1]

    def _effects(self) -> Iterator[str]:
        """Each block of a launch's last run ends well, once; what may not run twice never does."""
        blocks, runs = self._blocks, self._kills.runs(self._blocks)
        order = np.lexsort((blocks.number, runs, blocks.ticket))
        ticket, run = blocks.ticket[order], runs[order]
        edges = np.flatnonzero((np.diff(ticket) != 0) | (np.diff(run) != 0)) + 1
        edges = np.concatenate(([0], edges)) if len(ticket) else edges
        sizes = np.diff(np.append(edges, len(ticket)))
        last = np.append(np.diff(ticket[edges]) != 0, True)
        for begin, size, is_last in zip(edges.tolist(), sizes.tolist(), last.tolist(), strict=True):
            own = order[begin : begin + size]
            yield from self._effect(int(ticket[begin]), own, is_last)
        for missing in set(range(1, len(self._launches) + 1)) - set(ticket[edges].tolist()):
            yield f"ticket {missing} has no block"

    def _effect(self, ticket: int, own: Integers, is_last: bool) -> Iterator[str]:
        blocks, launch = self._blocks, self._launches[ticket - 1]
        size = int(np.prod(launch.grid))
        if not np.array_equal(blocks.number[own], np.arange(len(own))):
            yield f"ticket {ticket}: a run has not each block up to its last one once"
        if is_last and len(own) != size:
            yield f"ticket {ticket} finished with {len(own)} of {size} blocks"
        if is_last and (blocks.status[own] != BlockStatus.OK).any():
            yield f"ticket {ticket} finished, and not every block of its last run is ok"
        if not is_last and not launch.idempotent:
            yield f"ticket {ticket} is torn: not idempotent, and a run of it was killed"

    def _streams(self) -> Iterator[str]:
        """A launch begins after the record of the one before it in its stream."""
        before: dict[int, int] = {}
        for ticket, launch in enumerate(self._launches, 1):
            earlier = before.get(launch.stream)
            before[launch.stream] = ticket
            if earlier is not None and self._first.get(ticket, 0) <= self._ends[earlier]:
                yield f"ticket {ticket} overlaps {earlier}, of its stream"

    def _waits(self, workload: Workload) -> Iterator[str]:
        """A low launch begins after the records of all that it waits for."""
        waits = workload.low_waits
        streams: defaultdict[int, list[int]] = defaultdict(list)
        low = (1 + np.flatnonzero(self._sent["urgent"] == 0)).tolist()
        for nth, ticket in enumerate(low):
            repetition, number = divmod(nth, len(workload.low))
            pairs = (*waits.pairs_of(number, repetition), *waits.held_of(number, repetition))
            for stream, count in pairs:
                awaited = streams[stream][count - 1]
                if self._first.get(ticket, 0) <= self._ends[awaited]:
                    yield f"ticket {ticket} begins before {awaited}, for which it waits, has ended"
            streams[self._launches[ticket - 1].stream].append(ticket)

    def _rooms(self) -> Iterator[str]:
        """No SM holds more than it has, from offer to report."""
        blocks = self._blocks
        codes = {launch.code: launch for launch in self._launches}
        needs = {code: block_needs(launch, self._config) for code, launch in codes.items()}
        by_ticket = np.array([needs[launch.code] for launch in self._launches], np.int64)
        # In one cycle what is given back comes first, and SMs stand one after the other.
        gives = np.repeat((1, 0), len(blocks.sm))
        sm = np.tile(blocks.sm, 2)
        order = np.lexsort((gives, np.concatenate((blocks.offer, blocks.report)), sm))
        for k, (resource, size) in enumerate(capacities(self._config).items()):
            need = by_ticket[blocks.ticket - 1, k]
            held = np.concatenate((need, -need))[order].cumsum()
            if (over := np.flatnonzero(held > size)).size:
                yield f"SM {sm[order[over[0]]]} holds {held[over[0]]} of {size} {resource}"
