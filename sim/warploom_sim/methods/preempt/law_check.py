"""Checks the law of preemption on the events at the ports: for each urgent launch.

``docs/preemption/preemption.md`` states it in *How long it takes*.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from warploom_golden.preemption.streams.stream_law import SETTLES, StreamLaw
from warploom_golden.replay.event_tables import Table
from warploom_golden.replay.machine import block_needs
from warploom_sim.methods.preempt.port_figures import Blocks, Integers
from warploom_spec import RESOURCES, Config, Fate, LaunchDescriptor, capacities, timing
from warploom_spec.queue import Mode

#: The kinds of events that are looked at, beside the blocks'.
_KINDS: Final = ("sent", "answers", "handed", "ended", "put_back", "kills", "decisions", "warps")
#: Before every cycle.
_LONG_AGO: Final = -(1 << 40)
#: From the first cycle in which a place is free to the cycle in which the record, or the put-back,
#: of the launch that left it is at its port.
_LEFT: Final = 2


@dataclass
class Verdict:
    """What the check of one run, or of several, has found.

    Attributes
    ----------
    checked : int
        Urgent launches that were checked.
    violations : list of str
        The others, in words.
    reached : Counter of str
        Urgent launches whose first offer came in the last cycle that a term allows, by that term.
    outside : Counter of str
        Urgent launches that are outside the law, by the reason.
    """

    checked: int = 0
    violations: list[str] = field(default_factory=list)
    reached: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Verdict", name: str) -> None:
        """Add the verdict on another run."""
        self.checked += other.checked
        self.violations += [f"{name}: {each}" for each in other.violations]
        self.reached += other.reached
        self.outside += other.outside


@dataclass(frozen=True)
class _Residence:
    """A launch's stay in a place.

    Attributes
    ----------
    ticket : int
        Its ticket.
    handed, left : int
        The cycle of its transfer, and the first one in which its place is free.
    fate : Fate
        Why it left.
    """

    ticket: int
    handed: int
    left: int
    fate: Fate


class LawCheck:
    """The check of one run.

    Parameters
    ----------
    tables : mapping of str to Table
        The RTL's events.
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
        self._timing = timing(config)
        self._tables = {
            kind: {name: column.astype(np.int64) for name, column in table.items()}
            for kind, table in tables.items()
            if kind in _KINDS
        }
        self._residences = self._find_residences()
        self._handed = np.array([each.handed for each in self._residences], np.int64)
        self._left = np.array([each.left for each in self._residences], np.int64)
        self._capacity = np.array(list(capacities(config).values()), np.int64)
        self._needs: dict[int, Integers] = {}
        seen, nth = np.unique(blocks.ticket, return_index=True)
        self._starts = dict(zip(seen.tolist(), blocks.offer[nth].tolist(), strict=True))
        #: The most cycles from a block's offer to the first decision that sees its report.
        self._longest = self._timing.returns + int((blocks.report - blocks.offer).max(initial=0))

    def _find_residences(self) -> list[_Residence]:
        """Return all stays in places, in order of their begin."""
        left: dict[int, list[tuple[int, Fate]]] = {}
        ended, back = self._tables["ended"], self._tables["put_back"]
        rows = zip(ended["cycle"].tolist(), ended["ticket"].tolist(), strict=True)
        for cycle, ticket in rows:
            left.setdefault(ticket, []).append((cycle - _LEFT, Fate.FINISHED))
        columns = (back[name].tolist() for name in ("cycle", "ticket", "fate"))
        for cycle, ticket, fate in zip(*columns, strict=True):
            left.setdefault(ticket, []).append((cycle - _LEFT, Fate(fate)))
        found = []
        handed = self._tables["handed"]
        for cycle, ticket in zip(handed["cycle"].tolist(), handed["ticket"].tolist(), strict=True):
            until, fate = min(each for each in left[ticket] if each[0] > cycle)
            found.append(_Residence(ticket, cycle, until, fate))
        return found

    def run(self) -> Verdict:
        """Check every urgent launch."""
        verdict = Verdict()
        urgent = (1 + np.flatnonzero(self._tables["sent"]["urgent"])).tolist()
        accepted = self._tables["answers"]["cycle"] - 1
        for ticket in urgent:
            self._check(ticket, int(accepted[ticket - 1]), verdict)
        return verdict

    def _check(self, ticket: int, accepted: int, verdict: Verdict) -> None:
        offered = self._starts[ticket]
        if self._config.reclaim == "in_order":
            verdict.outside["in_order"] += 1
            return
        decided = self._decision(offered)
        if not self._tables["decisions"]["hit"][decided]:
            verdict.outside["index_miss"] += 1
            return
        verdict.checked += 1
        terms = self._terms(ticket, accepted, offered, self._made(decided))
        bound = max(terms.values())
        if offered > bound:
            said = ", ".join(f"{name} {at - accepted}" for name, at in terms.items() if at > 0)
            verdict.violations.append(
                f"launch {ticket - 1} was accepted in cycle {accepted} and offered"
                f" {offered - accepted} cycles later; the law allows {bound - accepted} ({said})"
            )
        verdict.reached.update(name for name, at in terms.items() if at == offered == bound)
        self._check_kill(accepted, verdict)

    def _decision(self, offered: int) -> int:
        """Return the number of the last index decision before an offer: the launch's own."""
        return int(np.searchsorted(self._tables["decisions"]["cycle"], offered)) - 1

    def _made(self, decided: int) -> int:
        """Return the cycle in which the last warp of a hit's indices was written."""
        decisions, warps = self._tables["decisions"], self._tables["warps"]
        misses = np.flatnonzero(decisions["hit"][:decided] == 0)
        # Indices are written in the order of their misses.
        nth = np.flatnonzero(decisions["entry"][misses] == decisions["entry"][decided])[-1]
        return int(warps["cycle"][warps["last"] == 1][nth])

    def _check_kill(self, accepted: int, verdict: Verdict) -> None:
        """Demand that the first kill level rises in time if a launch in a place was killed."""
        killed = [each for each in self._standing(accepted) if each.fate is Fate.KILLED]
        if not killed:
            return
        kills = self._tables["kills"]["cycle"]
        rise = int(kills[np.searchsorted(kills, accepted + 1)])
        allowed = self._law.kill + all(_is_late(each, accepted) for each in killed)
        if rise > accepted + allowed:
            verdict.violations.append(
                f"a launch was accepted in cycle {accepted}, and the first kill came"
                f" {rise - accepted} cycles later; the law allows {allowed}"
            )
        verdict.reached["kill"] += rise == accepted + allowed

    # --- the terms -------------------------------------------------------------------------------
    def _standing(self, accepted: int) -> list[_Residence]:
        """Return the stays in places of launches that the urgent one finds, the older one first."""
        flag = accepted + 1
        there = np.flatnonzero((self._handed <= flag) & (self._left > flag))
        return [self._residences[n] for n in there.tolist()]

    def _of(self, stay: _Residence, until: int = 1 << 60) -> Integers:
        """Return the blocks of a stay that were offered up to a cycle."""
        return self._blocks.of(stay.ticket, stay.handed, min(stay.left, until))

    def _terms(self, ticket: int, accepted: int, offered: int, made: int) -> dict[str, int]:
        """Return the last cycles that each term allows for the first offer.

        ``made`` is the cycle in which the last warp of the launch's indices was written.
        """
        law = self._law
        standing = self._standing(accepted)
        staying = [each for each in standing if self._stays(each, accepted)]
        terms = {"idle_launch": accepted + law.idle_launch}
        back = self._taken_back(accepted)
        if back:
            terms["in_flight"] = accepted + law.in_flight + back - 1 + self._ends(accepted)
        if made > accepted:
            terms["indices_made"] = made + law.indices_made
        gone = {}
        for each in standing:
            own = self._of(each, 1 << 60 if each in staying else self._stands(each, accepted))
            last = int(self._blocks.report[own].max(initial=_LONG_AGO))
            gone[each.ticket] = last
            blocks = int(np.prod(self._launches[each.ticket - 1].grid))
            idle = len(standing) > 1 and each not in staying and last < accepted + law.kill
            if idle and len(own) < blocks:
                terms["idle_place"] = accepted + law.idle_place + _is_late(each, accepted)
        if len(standing) > 1:
            terms["next_launch"] = min(gone.values()) + law.next_launch
        if not staying:
            terms["report_to_offer"] = self._rid(standing, accepted) + law.report_to_offer
            return terms
        beside = [each for each in staying if len(standing) == 1 or not _is_first(each, gone)]
        base = max(terms.values())
        room = self._room(ticket, base, offered, beside)
        return terms | room

    def _taken_back(self, accepted: int) -> int:
        """Return how many launches are taken back, from the line or from a place."""
        back = self._tables["put_back"]
        low, high = np.searchsorted(back["cycle"], (accepted + 1, accepted + SETTLES + 1))
        return int((back["fate"][low:high] == Fate.SKIPPED).sum())

    def _ends(self, accepted: int) -> int:
        """Return how many launches end, finally or put back, while the urgent one's way settles."""
        back, until = self._tables["put_back"], (accepted, accepted + SETTLES + 1)
        first, last = np.searchsorted(back["cycle"] - _LEFT, until)
        unfinished = int((back["fate"][first:last] != Fate.SKIPPED).sum())
        first, last = np.searchsorted(self._tables["ended"]["cycle"] - _LEFT, until)
        return unfinished + int(last - first)

    def _stays(self, stay: _Residence, accepted: int) -> bool:
        """Tell whether a launch keeps its place: it has started, and waits or yields."""
        mode = self._launches[stay.ticket - 1].mode
        # The skip is at the dispatcher's port then.
        skip = accepted + self._law.queue_stop
        started = len(self._of(stay, skip + self._timing.offer)) > 0
        return mode in (Mode.WAIT, Mode.YIELD) and started

    def _stands(self, stay: _Residence, accepted: int) -> int:
        """Return the last cycle in which a block of a launch that is stopped can be offered.

        A block that is decided in the first cycle of the stop stands.
        """
        return accepted + self._law.kill + _is_late(stay, accepted) + self._timing.offer

    def _rid(self, standing: Sequence[_Residence], accepted: int) -> int:
        """Return the first report after which some SM holds no block of the stopped launches."""
        last = np.full(self._config.sms, _LONG_AGO, np.int64)
        for each in standing:
            own = self._of(each, self._stands(each, accepted))
            np.maximum.at(last, self._blocks.sm[own], self._blocks.report[own])
        return int(last.min())

    # --- room beside a launch that keeps its place -----------------------------------------------
    def _room(
        self, ticket: int, base: int, offered: int, beside: Sequence[_Residence]
    ) -> dict[str, int]:
        """Return the terms of the room that launches leave that keep their places.

        ``base`` is the last cycle of the first offer that the other terms allow.
        """
        latencies = self._timing
        handed = base - latencies.first_offer
        head = base - latencies.offer
        terms = {}
        known = head
        for each in beside:
            launch = self._launches[each.ticket - 1]
            own = self._of(each)
            if launch.mode == Mode.WAIT:
                last = int(self._blocks.offer[own].max()) - latencies.offer
                if last + 1 + latencies.change > head:
                    head = last + 1 + latencies.change
            most = self._most(ticket), self._most(each.ticket)
            known = max(known, handed + latencies.fit_table + 2 * most[0] + most[1])
        terms["last_block"] = head + latencies.offer if head > base - latencies.offer else _LONG_AGO
        at = self._first_room(ticket, head, known, offered - latencies.offer)
        name = "fit" if at == known and at > head else "room"
        terms[name] = at + latencies.offer if at > head else _LONG_AGO
        return {name: at for name, at in terms.items() if at != _LONG_AGO}

    def _need(self, ticket: int) -> Integers:
        launch = self._launches[ticket - 1]
        if launch.code not in self._needs:
            self._needs[launch.code] = np.array(block_needs(launch, self._config), np.int64)
        return self._needs[launch.code]

    def _most(self, ticket: int) -> int:
        """Return the most blocks of a launch that fit on an empty SM."""
        need = self._need(ticket)
        return int((self._capacity[need > 0] // need[need > 0]).min())

    def _first_room(self, ticket: int, head: int, known: int, until: int) -> int:
        """Return the first cycle in which an SM has room for a launch's first block.

        ``until`` if there is none before it. The launch's first block is the head from ``head`` on;
        from ``known`` on it may be placed beside blocks of the other launch.
        """
        if until <= head:
            return until
        blocks, returns = self._blocks, self._timing.returns
        low, high = np.searchsorted(blocks.offer, (head - self._longest, until + 1))
        near = low + np.flatnonzero(blocks.report[low:high] + returns > head)
        need = self._need(ticket)
        first = until
        for sm in range(self._config.sms):
            on = near[blocks.sm[near] == sm]
            frees = blocks.report[on] + returns
            needs = np.array([self._need(int(blocks.ticket[n])) for n in on], np.int64)
            needs = needs.reshape(-1, len(RESOURCES))
            for cycle in sorted({head, head + 1, known, *frees.tolist()}):
                if not head <= cycle < first:
                    continue
                held = (blocks.offer[on] <= cycle) & (frees > cycle)
                if held.any() and (cycle < known or cycle == head):
                    continue
                if (needs[held].sum(axis=0) + need <= self._capacity).all():
                    first = cycle
                    break
        return first


def _is_late(stay: _Residence, accepted: int) -> bool:
    """Tell whether a launch was handed over in the flag's first cycle: it is stopped a cycle later.

    ``accepted`` is the urgent launch's.
    """
    return stay.handed == accepted + 1


def _is_first(stay: _Residence, gone: Mapping[int, int]) -> bool:
    """Tell whether a launch is the one that is gone first."""
    return gone[stay.ticket] == min(gone.values())
