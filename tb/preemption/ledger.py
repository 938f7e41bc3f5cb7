"""A ledger of the SM ports, the accepted launches and the final records.

It shares no code with the models: all that it knows of a rule stands here.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

OK, FAULT, KILLED = 0, 1, 2
FINISHED, ABORTED, FAILED = 0, 1, 2
#: From a command to the first cycle in which no first block of a preempted launch is decided.
SEEN = 3
#: From a block's decision to its offer.
OFFER = 2


@dataclass
class Ticket:
    """A launch as the host was told of it.

    ``need``: what a block takes beside its slot, in the order of `RESOURCES`. ``accepted``: cycle.
    """

    ticket: int
    blocks: int
    stream: int
    priority: int
    idempotent: bool
    waits: bool
    need: tuple[int, ...]
    accepted: int


@dataclass
class Machine:
    """What one SM has."""

    sms: int
    slots: int
    room: tuple[int, ...]


@dataclass
class Books:
    """All that was seen.

    ``offers``: (cycle, SM, slot, ticket, block). ``reports``: (cycle, SM, slot, status).
    ``records``: (cycle, ticket, fate). ``preempts``: tickets of PREEMPT commands. ``closed``:
    (priority, from, to): the queue is preempted from its command to its resumption. ``lost``: SMs.
    """

    machine: Machine
    tickets: Sequence[Ticket]
    offers: Sequence[tuple[int, int, int, int, int]]
    reports: Sequence[tuple[int, int, int, int]]
    records: Sequence[tuple[int, int, int]]
    preempts: Sequence[int] = ()
    closed: Sequence[tuple[int, int, int]] = ()
    lost: Sequence[int] = ()
    problems: list[str] = field(default_factory=list)

    def check(self) -> list[str]:
        """Return all that is wrong, in words."""
        statuses = self._settle()
        self._check_room()
        self._check_records()
        by_ticket = defaultdict(list)
        for offer in self.offers:
            by_ticket[offer[3]].append(offer)
        fates = {ticket: fate for _, ticket, fate in self.records}
        for ticket in self.tickets:
            offers = by_ticket[ticket.ticket]
            self._check_effect(ticket, offers, statuses, fates.get(ticket.ticket))
            self._check_closed(ticket, offers)
        self._check_streams(by_ticket, statuses)
        self._check_priorities(by_ticket)
        return self.problems

    def _settle(self) -> dict[int, tuple[int, int]]:
        """Match each offer with its one report: number of the offer to (cycle, status)."""
        open_: dict[tuple[int, int], int] = {}
        settled: dict[int, tuple[int, int]] = {}
        # In one cycle a slot's report comes before its next offer, but after an offer in it.
        events = [(cycle, 1, n) for n, (cycle, *_) in enumerate(self.offers)]
        events += [(cycle, 2, n) for n, (cycle, *_) in enumerate(self.reports)]
        for cycle, kind, n in sorted(events):
            if kind == 1:
                slot = self.offers[n][1:3]
                if slot in open_:
                    self.problems.append(f"slot {slot} is offered a block while it holds one")
                open_[slot] = n
                continue
            slot = self.reports[n][1:3]
            if slot not in open_:
                self.problems.append(f"cycle {cycle}: {slot} reports a block that it does not hold")
                continue
            settled[open_.pop(slot)] = cycle, self.reports[n][3]
        for slot, n in open_.items():
            if slot[0] not in self.lost:
                self.problems.append(f"block {self.offers[n][3:]} is never reported")
        return settled

    def _check_room(self) -> None:
        """No SM holds more than it has, from offer to report."""
        needs = {each.ticket: each.need for each in self.tickets}
        used = defaultdict(lambda: [0] * 5)
        held: dict[tuple[int, int], tuple[int, ...]] = {}
        events = [(offer[0], 1, offer) for offer in self.offers]
        events += [(report[0], 2, report) for report in self.reports]
        for cycle, kind, event in sorted(events):
            sm, slot = event[1:3]
            if kind == 2:
                for r, amount in enumerate(held.pop((sm, slot), (0,) * 5)):
                    used[sm][r] -= amount
                continue
            held[sm, slot] = (1, *needs[event[3]])
            for r, (amount, most) in enumerate(
                zip(held[sm, slot], (self.machine.slots, *self.machine.room), strict=True)
            ):
                used[sm][r] += amount
                if used[sm][r] > most:
                    self.problems.append(f"cycle {cycle}: SM {sm} has too little of resource {r}")

    def _check_records(self) -> None:
        """Each ticket has one final record, and nothing else has one."""
        given = {each.ticket for each in self.tickets} | set(self.preempts)
        made = Counter(ticket for _, ticket, _ in self.records)
        self.problems += [f"ticket {t} has no final record" for t in given - made.keys()]
        self.problems += [f"record of ticket {t}, never given" for t in made.keys() - given]
        self.problems += [f"ticket {t} has {n} final records" for t, n in made.items() if n > 1]

    def _check_effect(
        self,
        ticket: Ticket,
        offers: Sequence[tuple[int, int, int, int, int]],
        statuses: dict[int, tuple[int, int]],
        fate: int | None,
    ) -> None:
        """Blocks come in order; a finished launch ran once in effect, and was not torn."""
        numbers = {id(offer): n for n, offer in enumerate(self.offers)}
        runs: list[list[tuple[int, int]]] = []
        for offer in offers:
            block = offer[4]
            status = statuses.get(numbers[id(offer)], (0, -1))[1]
            if block == 0:
                runs.append([])
            if not runs or block != len(runs[-1]):
                self.problems.append(f"ticket {ticket.ticket}: block {block} is out of turn")
                return
            runs[-1].append((block, status))
        name = f"ticket {ticket.ticket}"
        if fate == FINISHED:
            last = runs[-1] if runs else []
            if len(last) != ticket.blocks:
                self.problems.append(f"{name} finished with {len(last)} of {ticket.blocks} blocks")
            if any(status != OK for _, status in last):
                self.problems.append(f"{name} finished, and not every block of its last run is ok")
        if ticket.idempotent or fate in (ABORTED, FAILED):
            return
        done = Counter(block for run in runs for block, status in run if status == OK)
        if any(times > 1 for times in done.values()):
            self.problems.append(f"{name} is torn: not idempotent, and a block ran twice")
        if any(status == KILLED for run in runs for _, status in run):
            self.problems.append(f"{name} is torn: not idempotent, and a block was killed")

    def _check_closed(self, ticket: Ticket, offers: Sequence[tuple[int, ...]]) -> None:
        """A preempted queue offers nothing but the rest of what waits its own end."""
        for priority, since, until in self.closed:
            if priority != ticket.priority:
                continue
            seen = since + SEEN + OFFER
            started = any(offer[0] < seen for offer in offers)
            # A started launch's decision in the first cycle of its stop stands.
            late = [offer for offer in offers if seen + started <= offer[0] <= until]
            if late and not (ticket.waits and started):
                self.problems.append(f"ticket {ticket.ticket} is offered while it is preempted")

    def _check_streams(
        self,
        by_ticket: dict[int, list[tuple[int, int, int, int, int]]],
        statuses: dict[int, tuple[int, int]],
    ) -> None:
        """No block is offered before the stream's earlier launches are reported and have ended.

        What a lost SM still holds is never awaited: its launches have failed.
        """
        numbers = {offer: n for n, offer in enumerate(self.offers)}
        ended = {ticket: cycle for cycle, ticket, _ in self.records}
        for later in self.tickets:
            starts = [offer[0] for offer in by_ticket[later.ticket]]
            for earlier in self.tickets:
                same = earlier.stream == later.stream and earlier.ticket < later.ticket
                if not (same and starts):
                    continue
                held = [o for o in by_ticket[earlier.ticket] if o[1] not in self.lost]
                ends = [statuses.get(numbers[offer], (0, 0))[0] for offer in held]
                ends.append(ended.get(earlier.ticket, 0))
                if max(ends) >= min(starts):
                    self.problems.append(
                        f"ticket {later.ticket} overlaps {earlier.ticket}, of its stream"
                    )

    def _check_priorities(self, by_ticket: dict[int, list[tuple[int, int, int, int, int]]]) -> None:
        """Nothing of a lower queue starts while a higher one is busy."""
        ended = {ticket: cycle for cycle, ticket, _ in self.records}
        for high in self.tickets:
            stands = [(high.accepted, ended.get(high.ticket, 1 << 60))]
            for priority, since, until in self.closed:
                if priority == high.priority:
                    stands = _without(stands, since, until)
            for low in self.tickets:
                if low.priority >= high.priority:
                    continue
                for since, until in stands:
                    if self._starts_within(by_ticket[low.ticket], since + SEEN, until):
                        self.problems.append(
                            f"ticket {low.ticket} starts although {high.ticket} is urgent"
                        )

    def _starts_within(
        self, offers: Sequence[tuple[int, int, int, int, int]], since: int, until: int
    ) -> bool:
        """Tell whether block 0 was decided from a cycle on and before another one."""
        return any(o[4] == 0 and since <= o[0] - OFFER <= until for o in offers)


def _without(stands: Iterable[tuple[int, int]], since: int, until: int) -> list[tuple[int, int]]:
    """Cut an interval out of others."""
    result = []
    for first, last in stands:
        if until <= first or last <= since:
            result.append((first, last))
            continue
        if first < since:
            result.append((first, since))
        if until < last:
            result.append((until, last))
    return result
