"""The ledger of BlockDispatcher with `preempts`: who yields offers nothing, and a skip never tears.

It works from the ports alone: a block that is offered from o on was decided in o - 2.
"""

from collections.abc import Mapping

from warploom_golden.oracles import Ledger
from warploom_golden.oracles.ledger_entry import Entry
from warploom_spec import Config, Fate, Stop, layouts
from warploom_spec.queue_packets import STOP_SKIP

Ports = Mapping[str, int]
#: Cycles from a launch's transfer to the first one in which nobody who yields to it is decided.
YIELDS = 2
#: Cycles from a decision to its offer, and from a skip to its answer at ``started``.
OFFER, ANSWER = 2, 3
#: What a run may be asked to have seen.
PREEMPTS_CASES = (
    "a launch yields in the midst of its blocks",
    "a launch yields before its first block",
    "an older launch goes on beside a newer one's blocks",
    "a launch goes on after the urgent one was stopped",
    "a launch that yields is stopped",
    "a decision in the last cycle before its launch yields",
    "a skip takes a launch back",
    "a skip in the cycle before the first decision could be",
    "a skip in the cycle of the first decision",
    "a skip in the cycle after the first decision",
    "a skip of a launch that runs",
    "block numbers wrap",
    "a record says the number of its next block",
)


class PreemptsLedger(Ledger):
    """Keeps account as `Ledger` does, and of priorities, yielding and skips.

    These rules are checked beside those of `Ledger`, or in place of them:

    - A launch that came with ``launch_yields`` has no block decided from two cycles after the
      transfer of a more urgent one on, as long as that one has blocks left, is not stopped, and
      does not wait for the first by stream order. Such a launch may begin although an earlier one
      has blocks left, which goes on later.
    - A skip in t takes the launch back if none of its blocks was decided in t or before: none is
      decided any more, and its record is skipped. Otherwise it has no effect at all.
    - Blocks are numbered from ``launch_number`` on. ``ended_number`` is the number of a drained
      launch's next block as long as the record stands, and 0 beside any other record.
    - ``started`` is 1 from the first offer of a place's launch up to its record, and ``yields`` is
      1 in no cycle in which a block of the place is decided.

    Parameters
    ----------
    config : Config
        Widths and sizes.
    """

    def __init__(self, config: Config):
        self._cases = dict.fromkeys(PREEMPTS_CASES, 0)
        self._stop_layout = layouts.dispatch_stop(config)
        super().__init__(config)

    def reset(self) -> None:
        """Forget all launches; the counts stay."""
        super().reset()
        # By ticket: priority, whether it may yield, cycle of its transfer.
        self._beside: dict[int, tuple[int, bool, int]] = {}
        # Skips that are not judged yet: cycle, launch.
        self._skips: list[tuple[int, Entry]] = []
        self._yielded: set[int] = set()
        # `yields` of the last cycles, the oldest first.
        self._levels = [0] * (OFFER + 1)

    def counts(self) -> dict[str, int]:
        """Return the ledger's counts and those of the hard cases."""
        return super().counts() | self._cases

    def see(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Take in one cycle without reset."""
        holders = list(self._places.holders)
        self._levels = [*self._levels[1:], outputs["yields"]]
        self._now = cycle
        self._see_number(outputs)
        super().see(cycle, inputs, outputs)
        for place, entry in enumerate(holders):
            started = entry is not None and entry.offered > 0
            level = bool(outputs["started"] >> place & 1)
            self._demand(level == started, f"place {place}: started is {level}")
            if outputs["yields"] >> place & 1:
                self._demand(entry is not None, f"place {place} is free, but yields")
        for skipped, entry in [skip for skip in self._skips if skip[0] == cycle - OFFER]:
            self._judge_skip(skipped, entry)

    def _see_number(self, outputs: Ports) -> None:
        """Check the number beside the record that stands at ``ended``."""
        end = self._dispatch_end.unpack(outputs["ended__payload"])
        entry = self._open.get(end["ticket"])
        if not outputs["ended__valid"] or entry is None:
            return
        drained = end["fate"] == Fate.DRAINED
        number, want = outputs["ended_number"], entry.next_number() if drained else 0
        self._demand(number == want, f"record of ticket {entry.ticket}: {number}, want {want}")
        self._cases["a record says the number of its next block"] += drained

    def _see_dispatcher(self, inputs: Ports, outputs: Ports) -> None:
        """Take in launches, stops and ends; a skip is none of the stops that `Ledger` knows."""
        stops = self._stop_layout.unpack(inputs["stop"])
        for place, entry in enumerate(self._places.holders):
            if entry is None:
                continue
            code = stops[f"place{place}"]
            if code == STOP_SKIP:
                self._skips.append((self._now, entry))
            elif code and outputs["yields"] >> place & 1:
                self._cases["a launch that yields is stopped"] += 1
        others = {name: 0 if code == STOP_SKIP else code for name, code in stops.items()}
        taken = inputs["launch__valid"] and outputs["launch__ready"]
        if taken:
            ticket = self._dispatch.unpack(inputs["launch__payload"])["ticket"]
            may_yield = bool(inputs["launch_yields"])
            self._beside[ticket] = inputs["launch_priority"], may_yield, self._now
        super()._see_dispatcher({**inputs, "stop": self._stop_layout.pack(others)}, outputs)
        if taken:
            self._open[ticket].first_number = inputs["launch_number"]

    def _judge_skip(self, sent: int, entry: Entry) -> None:
        """Take a launch back whose first block was not decided in the cycle of the skip."""
        self._skips.remove((sent, entry))
        if entry.ticket not in self._open:
            return
        if entry.first_offer is None:
            self._cases["a skip takes a launch back"] += 1
            head_since = self._beside[entry.ticket][2] + 4
            name = "a skip in the cycle before the first decision could be"
            self._cases[name] += head_since == sent + 1
            # No offer is valid from now on: one of the next cycle would be decided after the skip.
            entry.end_offers(self._now)
            entry.stops.add(Stop.DRAIN)
            return
        late = sent - (entry.first_offer - OFFER)
        self._cases["a skip in the cycle of the first decision"] += late == 0
        self._cases["a skip in the cycle after the first decision"] += late == 1
        self._cases["a skip of a launch that runs"] += late > 1

    def _yields_to(self, low: Entry, high: Entry) -> bool:
        """Tell whether a launch gives way to another one, if that one has blocks left."""
        priority, may_yield, _ = self._beside[low.ticket]
        ordered = high.after_previous and high.stream == low.stream and low.age < high.age
        return may_yield and self._beside[high.ticket][0] > priority and not ordered

    def _check_others(self, who: str, entry: Entry) -> None:
        """Check who may go on beside whom; an earlier launch that yields is not closed."""
        decided = self._now - OFFER
        self._cases["block numbers wrap"] += entry.next_number() < entry.first_number
        place = entry.place or 0
        self._demand(not self._levels[0] >> place & 1, f"{who}: decided although it yields")
        residents = [holder for holder in self._places.holders if holder is not None]
        for other in residents:
            if other is not entry:
                self._check_yielding(who, entry, other, decided)
        earlier = [e for e in self._open.values() if e.age < entry.age]
        kept = [e for e in earlier if self._yields_to(e, entry) and not e.closed]
        super()._check_others(who, entry)
        for other in kept:
            other.closed = ""
            if not other.exhausted and other.ticket not in self._yielded:
                self._yielded.add(other.ticket)
                name = "in the midst of its blocks" if other.offered else "before its first block"
                self._cases[f"a launch yields {name}"] += 1

    def _check_yielding(self, who: str, entry: Entry, other: Entry, decided: int) -> None:
        """Check that no block is placed while a more urgent launch has blocks to place."""
        if not self._yields_to(entry, other):
            return
        since = self._beside[other.ticket][2]
        stopped = other.last_offer is not None and other.last_offer <= self._now
        left = not other.exhausted and not stopped
        late = decided >= since + YIELDS
        self._demand(
            not (left and late), f"{who}: decided while ticket {other.ticket} has blocks left"
        )
        name = "a decision in the last cycle before its launch yields"
        self._cases[name] += left and decided == since + YIELDS - 1
        if other.age > entry.age and other.offered:
            shares = any(
                {block.entry for block in sm.living()} == {entry, other} and sm.standing is None
                for sm in self._sms
            )
            name = "an older launch goes on beside a newer one's blocks"
            self._cases[name] += shares
        if stopped and not other.exhausted and entry.ticket in self._yielded:
            self._cases["a launch goes on after the urgent one was stopped"] += 1
