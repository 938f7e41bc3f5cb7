"""Checks the law of preemption on the events at the ports: for each urgent launch.

``docs/preemption/preemption.md`` states it in *How long it takes*.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from warploom_golden.replay.event_tables import Table
from warploom_golden.replay.machine import block_needs
from warploom_sim.methods.preempt.port_figures import (
    Blocks,
    Integers,
    Kills,
    acceptances,
    signed,
)
from warploom_sim.methods.preempt.stream_law import StreamLaw
from warploom_spec import RESOURCES, Config, LaunchDescriptor, capacities, timing
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import MAX_KILLS

#: Launches that make way for a higher priority by a hold, and those that may be killed.
_MAKE_WAY = (Mode.AUTO, Mode.RESET, Mode.DRAIN)
_KILLED = (Mode.AUTO, Mode.RESET)


@dataclass
class Verdict:
    """What the check of one run, or of several, has found.

    Attributes
    ----------
    checked : int
        Urgent launches whose first offer was checked.
    violations : list of str
        What breaks the law, in words.
    reached : Counter of str
        Urgent launches whose first offer was bound by a term, by that term.
    slack : dict of str to int
        Of each term how many cycles before its bound it came, at least.
    outside : Counter of str
        Urgent launches that are outside the law, by the reason.
    """

    checked: int = 0
    violations: list[str] = field(default_factory=list)
    reached: Counter[str] = field(default_factory=Counter)
    slack: dict[str, int] = field(default_factory=dict)
    outside: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Verdict", name: str) -> None:
        """Add the verdict on another run."""
        self.checked += other.checked
        self.violations += [f"{name}: {each}" for each in other.violations]
        self.reached += other.reached
        self.outside += other.outside
        for term, slack in other.slack.items():
            self.note(term, slack)

    def note(self, term: str, slack: int) -> None:
        """Note how many cycles before a term's bound something came."""
        self.slack[term] = min(self.slack.get(term, slack), slack)


@dataclass(frozen=True)
class _Urgent:
    """An urgent launch.

    Attributes
    ----------
    ticket, accepted : int
        Its ticket, and the cycle of its acceptance.
    started : int
        The cycle of its start.
    decided : int or None
        The number of its index decision; None: nothing makes indices.
    held_up : bool
        Its own configuration was taken back before its start. One of another head counts for
        nothing here, and neither does a cancel that came too late for its decision.
    since : int
        The cycle from which on lower launches make way: of a head that is held up its start.
    first, last, done : int
        Its first and last offer, and its last report.
    """

    ticket: int
    accepted: int
    started: int
    decided: int | None
    held_up: bool
    since: int
    first: int
    last: int
    done: int


class LawCheck:
    """The check of one run.

    Parameters
    ----------
    tables : mapping of str to Table
        The events.
    blocks : Blocks
        Its blocks.
    launches : sequence of LaunchDescriptor
        The launches in the order of their tickets, the first one's is 1.
    config : Config
        The configuration.
    law : StreamLaw or None
        The numbers; None: those of the configuration.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        blocks: Blocks,
        launches: Sequence[LaunchDescriptor],
        config: Config,
        law: StreamLaw | None = None,
    ):
        self._blocks, self._launches, self._config = blocks, launches, config
        self._law = law or StreamLaw(config)
        kinds = ("sent", "decisions", "done", "warps", "starts", "kills", "cancels")
        self._tables = {kind: signed(tables[kind]) for kind in kinds}
        self._accepted = acceptances(signed(tables["ended"]))
        self._kills = Kills(tables)
        self._runs = self._kills.runs(blocks)
        self._capacity = np.array(list(capacities(config).values()), np.int64)
        self._needs: dict[int, Integers] = {}
        self._longest = int((blocks.report - blocks.offer).max(initial=0))
        makes_way = [launch.mode in _MAKE_WAY for launch in launches]
        self._makes_way = np.array(makes_way, bool)[blocks.ticket - 1]
        self._is_urgent = (self._tables["sent"]["urgent"] == 1)[blocks.ticket - 1]
        # One urgent launch comes after the other, and so do their blocks.
        self._urgent_blocks = np.flatnonzero(self._is_urgent)
        self._urgent_tickets = blocks.ticket[self._urgent_blocks]

    def run(self) -> Verdict:
        """Check every urgent launch."""
        verdict = Verdict()
        for ticket in (1 + np.flatnonzero(self._tables["sent"]["urgent"])).tolist():
            urgent = self._urgent(ticket)
            self._check_last_low(urgent, verdict)
            self._check_kills(urgent, verdict)
            self._check_first(urgent, verdict)
        return verdict

    def _urgent(self, ticket: int) -> _Urgent:
        low, high = np.searchsorted(self._urgent_tickets, (ticket, ticket + 1))
        own = self._urgent_blocks[low:high]
        first, accepted = int(self._blocks.offer[own].min()), self._accepted[ticket]
        stream = self._launches[ticket - 1].stream
        started = int(self._tables["starts"]["cycle"][self._start(stream, first)])
        decided = self._decision(started)
        held_up = decided is not None and self._held_up(stream, accepted, decided)
        return _Urgent(
            ticket,
            accepted,
            started,
            decided,
            held_up,
            started if held_up else accepted,
            first,
            int(self._blocks.offer[own].max()),
            int(self._blocks.report[own].max()),
        )

    def _decision(self, started: int) -> int | None:
        """Return the number of the last index decision before a start: the launch's own."""
        if not self._config.makes_indices:
            return None
        return int(np.searchsorted(self._tables["decisions"]["cycle"], started)) - 1

    def _held_up(self, stream: int, accepted: int, decided: int) -> bool:
        """Tell whether a stream's head was taken back, from a cycle on, before its decision."""
        cancels = self._tables["cancels"]
        last = self._tables["decisions"]["cycle"][decided] - timing(self._config).cancel_decision
        low, high = np.searchsorted(cancels["cycle"], (accepted, last))
        return bool((cancels["stream"][low:high] == stream).any())

    def _start(self, stream: int, until: int) -> int:
        """Return the number of the last start of a stream before a cycle."""
        starts = self._tables["starts"]
        before = int(np.searchsorted(starts["cycle"], until))
        return int(np.flatnonzero(starts["stream"][:before] == stream)[-1])

    # --- low blocks ------------------------------------------------------------------------------
    def _offered(self, first: int, last: int) -> Integers:
        """Return the blocks that were offered from one cycle to another, both included."""
        low, high = np.searchsorted(self._blocks.offer, (first, last + 1)).tolist()
        return np.arange(low, high)

    def _check_last_low(self, urgent: _Urgent, verdict: Verdict) -> None:
        """No low block that makes way is placed too late, and none between the urgent ones."""
        bound = urgent.since + self._law.last_low
        during = self._offered(urgent.since + 1, urgent.done)
        way = during[self._makes_way[during] & ~self._is_urgent[during]]
        offered = self._blocks.offer[way]
        if (late := offered[offered > bound]).size:
            verdict.violations.append(
                f"launch {urgent.ticket - 1} was busy from cycle {urgent.since} on, and a low"
                f" block was offered {late[-1] - urgent.since} cycles later; the law allows"
                f" {self._law.last_low}"
            )
        elif offered.size:
            verdict.note("last_low", bound - int(offered.max()))
        between = self._offered(urgent.first, urgent.last)
        if (~self._is_urgent[between]).any():
            verdict.violations.append(
                f"a low block was offered between the blocks of launch {urgent.ticket - 1}"
            )

    def _check_kills(self, urgent: _Urgent, verdict: Verdict) -> None:
        """Each low run that may be killed, and has blocks out, is killed in time."""
        bound = urgent.since + self._law.kill
        kills = self._tables["kills"]
        for (ticket, run), offered in self._out(urgent.since, bound).items():
            if not self._may_kill(ticket, run):
                continue
            own = kills["stream"] == self._launches[ticket - 1].stream
            rises = kills["cycle"][own]
            # The first one behind a block of the run is the run's.
            nth = int(np.searchsorted(rises, offered + 1))
            rise = int(rises[nth]) if nth < len(rises) else None
            if rise is None or rise > bound:
                came = "did not come" if rise is None else f"came {rise - urgent.since} later"
                verdict.violations.append(
                    f"launch {urgent.ticket - 1} was busy from cycle {urgent.since} on, and the"
                    f" kill of launch {ticket - 1} {came}; the law allows {self._law.kill}"
                )
            else:
                verdict.note("kill", bound - rise)

    def _out(self, accepted: int, bound: int) -> dict[tuple[int, int], int]:
        """Return the low runs with a block that was offered up to a cycle and is out after.

        By ticket and run; with the cycle of such a block's offer.
        """
        near = self._offered(accepted - self._longest, accepted)
        own = near[(self._blocks.report[near] > bound) & ~self._is_urgent[near]]
        columns = (self._blocks.ticket, self._runs, self._blocks.offer)
        rows = zip(*(column[own].tolist() for column in columns), strict=True)
        return {(ticket, run): offered for ticket, run, offered in rows}

    def _may_kill(self, ticket: int, run: int) -> bool:
        launch = self._launches[ticket - 1]
        # Kills stand in order of tickets: those of this launch, before this run.
        before = run - int(np.searchsorted(self._kills.ticket, ticket))
        may = launch.mode in _KILLED and bool(launch.idempotent) and self._config.sm_kill
        return may and before < MAX_KILLS

    # --- the first offer -------------------------------------------------------------------------
    def _check_first(self, urgent: _Urgent, verdict: Verdict) -> None:
        if self._config.reclaim == "in_order":
            verdict.outside["in_order"] += 1
            return
        if urgent.held_up:
            verdict.outside["held_up"] += 1
            return
        decided = urgent.decided
        if decided is not None and not self._tables["decisions"]["hit"][decided]:
            verdict.outside["index_miss"] += 1
            return
        verdict.checked += 1
        terms = dict(self._terms(urgent))
        name = max(terms, key=lambda term: terms[term])
        bound = terms[name]
        if urgent.first > bound:
            said = ", ".join(f"{term} {at - urgent.accepted}" for term, at in terms.items())
            verdict.violations.append(
                f"launch {urgent.ticket - 1} was accepted in cycle {urgent.accepted} and offered"
                f" {urgent.first - urgent.accepted} cycles later; the law allows"
                f" {bound - urgent.accepted} ({said})"
            )
            return
        verdict.reached[name] += 1
        verdict.note(name, bound - urgent.first)

    def _terms(self, urgent: _Urgent) -> Iterator[tuple[str, int]]:
        """Yield the last cycle that each term allows for the first offer."""
        law, accepted = self._law, urgent.accepted
        yield "idle_launch", accepted + law.idle_launch
        starts = self._tables["starts"]["cycle"]
        own = int(np.searchsorted(starts, urgent.started))
        if own and (before := int(starts[own - 1])) >= accepted:
            yield "next_start", before + law.next_start
        if urgent.decided is not None and (made := self._made(urgent.decided)) > accepted:
            yield "indices_made", made + law.indices_made
        during = self._offered(accepted, urgent.first - 1)
        last = int(self._blocks.offer[during].max(initial=accepted))
        if last > accepted:
            yield "last_block", last + law.last_block
        yield "report_to_offer", self._first_room(urgent, last) + law.report_to_offer

    def _made(self, decided: int) -> int:
        """Return the cycle in which the last warp of a hit's indices was written.

        Or that of the answer that had to leave before it was accepted, if that is later: so many
        are outstanding at most.
        """
        decisions, warps = self._tables["decisions"], self._tables["warps"]
        left = decided - timing(self._config).done_depth
        answered = int(self._tables["done"]["cycle"][left]) if left >= 0 else 0
        misses = np.flatnonzero(decisions["hit"][:decided] == 0)
        # Indices are written in the order of their misses.
        nth = np.flatnonzero(decisions["entry"][misses] == decisions["entry"][decided])[-1]
        return max(answered, int(warps["cycle"][warps["last"] == 1][nth]))

    def _need(self, ticket: int) -> Integers:
        launch = self._launches[ticket - 1]
        if launch.code not in self._needs:
            self._needs[launch.code] = np.array(block_needs(launch, self._config), np.int64)
        return self._needs[launch.code]

    def _first_room(self, urgent: _Urgent, since: int) -> int:
        """Return the first report, not before a cycle, after which some SM has room for a block.

        The cycle itself if there is room in it.
        """
        blocks, need = self._blocks, self._need(urgent.ticket)
        near = self._offered(since - self._longest, since)
        near = near[blocks.report[near] > since]
        first = urgent.first
        for sm in range(self._config.sms):
            on = near[blocks.sm[near] == sm]
            on = on[np.argsort(blocks.report[on], kind="stable")]
            needs = np.array([self._need(int(blocks.ticket[n])) for n in on], np.int64)
            needs = needs.reshape(-1, len(RESOURCES))
            held = needs.sum(axis=0) - np.concatenate(
                (np.zeros((1, len(RESOURCES)), np.int64), needs.cumsum(axis=0))
            )
            fits = np.flatnonzero((held + need <= self._capacity).all(axis=1))
            at = int(fits[0])
            first = min(first, since if at == 0 else int(blocks.report[on[at - 1]]))
        return first
