"""Cycle model of BlockDispatcher: places blocks of one launch for each stream."""

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from warploom_golden.dispatch.amounts import Amounts
from warploom_golden.dispatch.books import Books
from warploom_golden.dispatch.ends import Ends
from warploom_golden.dispatch.error_records import ErrorRecords
from warploom_golden.dispatch.lost_sms import LostSms
from warploom_golden.dispatch.next_resident import Decision, NextResident
from warploom_golden.dispatch.pipe_times import pipe_times
from warploom_golden.dispatch.policies import policy
from warploom_golden.dispatch.policies.policy import PolicyStep
from warploom_golden.dispatch.report_groups import GroupedReportPorts
from warploom_golden.dispatch.resident_launch import LaunchMaker, ResidentBlock, ResidentLaunch
from warploom_golden.dispatch.retirement import retirement
from warploom_golden.dispatch.returns import NOTHING, Outcome, ReportPorts, ReturnStages, judge
from warploom_golden.dispatch.room import Room
from warploom_golden.dispatch.scan import Scan
from warploom_golden.dispatch.stalls import Stalls
from warploom_golden.dispatch.streams import Changes, Streams
from warploom_golden.dispatch.verdicts import PlacementPipe, ReturnPipe, Verdict
from warploom_spec.config import Config
from warploom_spec.errors import WarploomError
from warploom_spec.timing import timing


class _Now(NamedTuple):
    """What a cycle's state and inputs say, before anything of the next cycle is set.

    Attributes
    ----------
    decision : Decision
        Who becomes active.
    block : ResidentBlock or None
        The block that is picked.
    landing : tuple of Verdict or None
        What lands, from placements and from returns.
    start, told : ResidentLaunch or None
        The launches that transfer at `start` and at `ended`.
    outcome : Outcome
        What the books' turn changes.
    written : ResidentBlock or None
        The block whose resources and slot are written back.
    before, offered : ResidentBlock or None
        The block that was picked one cycle before, and the one that is offered.
    """

    decision: Decision
    block: ResidentBlock | None
    landing: tuple[Verdict | None, Verdict | None]
    start: ResidentLaunch | None
    told: ResidentLaunch | None
    outcome: Outcome
    written: ResidentBlock | None
    before: ResidentBlock | None
    offered: ResidentBlock | None


class BlockDispatcher:
    """Cycle model of BlockDispatcher.

    Ports and rules: ``docs/dispatch/block_dispatcher.md``. Numbers in comments are the page's
    rules. A cycle's outputs and decisions are those of its state; all of `tick` reads the state
    first, and then sets that of the next cycle.

    Parameters
    ----------
    config : Config
        Number and size of SMs, policies, time-out, widths.
    first_number : int, optional
        Number of each launch's first block, for tests of the wrap.
    late_stalls : bool, optional
        The stall counters start at -1, for tests of the wrap.

    Raises
    ------
    WarploomError
        If there is a line of places that the page does not allow.
    """

    def __init__(self, config: Config, *, first_number: int = 0, late_stalls: bool = False):
        places = config.sms * config.block_slots
        if config.reclaim == "in_order" and (places < 2 or places & (places - 1)):
            raise WarploomError(
                f"sms x block_slots is {places}; legal for reclaim in_order: a power of two, "
                "2 or more"
            )
        self._config = config
        self._first_number = first_number
        self._late_stalls = late_stalls
        self._boot = timing(config).resident_boot
        self._turns = 1 << config.stream_bits
        self._rows = max(places, self._turns)
        self._ready_ports = [f"report__{n}__ready" for n in range(config.sms)]
        self._offer_after = timing(config).resident_offer
        self._times = pipe_times(config)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._begin(lost=0)

    def _begin(self, lost: int) -> None:
        """Take the values of a reset (1); ``lost`` is kept by a soft one."""
        config, amounts, times = self._config, Amounts(self._config), self._times
        self._cycle = 0
        self._outputs: dict[str, int | None] | None = None
        # Cycles in a row in which nothing changed.
        self._settled = 0
        self._enabled = 0
        self._maker = LaunchMaker(config, amounts, self._first_number)
        self._books = Books(config, amounts)
        self._streams = Streams(config)
        self._next = NextResident()
        self._policy = policy(config)
        self._room = Room(amounts, late=self._policy.LATE_ROOM, grouped=times.grouped)
        self._scan = Scan(config.sms, self._policy.known_after(times))
        self._placements, self._returns = PlacementPipe(times), ReturnPipe(times)
        self._ports = GroupedReportPorts(config) if times.grouped else ReportPorts(config)
        self._stages = ReturnStages(times.back)
        self._retirement = retirement(config)
        self._lost_sms = LostSms(config, lost)
        self._ends = Ends(config)
        self._stalls, self._errors = (
            Stalls(amounts, grouped=times.grouped, late=self._late_stalls),
            ErrorRecords(config),
        )
        # Blocks that were picked one cycle before, two and so on, up to the offered one.
        self._picked: deque[ResidentBlock | None] = deque([None] * self._offer_after)

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        del inputs  # no output depends on them
        if self._outputs is None:
            self._outputs = self._ports_now()
        return self._outputs

    def _ports_now(self) -> dict[str, int | None]:
        streams, ends, ready = self._streams, self._ends, self._ports.ready
        fetched, offered = self._picked[-3], self._picked[-1]
        values: dict[str, int | None] = {
            "start__ready": int(self._cycle >= self._boot),
            "offer": 0 if offered is None else 1 << offered.sm,
            "block": None if offered is None else offered.words,
            "fetch": None if fetched is None else fetched.launch.entry,
            "resident": streams.resident,
            "begun": streams.begun,
            "open": streams.open,
            "busy": streams.busy,
            "yields": self._next.yields,
            "kill": streams.kill,
            "no_sm": int(self._lost_sms.no_sm),
            "ended__valid": int(ends.payload is not None),
            "ended__payload": ends.payload,
            "ended_first": ends.first,
            "ended_cycles": ends.cycles,
            "lost": self._lost_sms.lost,
            "error": self._errors.record,
            "error_count": self._errors.count,
        }
        values |= self._stalls.counters
        values |= {name: ready >> n & 1 for n, name in enumerate(self._ready_ports)}
        return values | self._policy.outputs(booted=self._cycle >= self._rows)

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        # The pipes still have looks from before it was settled: so many cycles it stays awake.
        if self._settled > self._times.lands:
            if not self._something_comes(inputs):
                self._cycle += 1
                return
            self._settled = 0
        self._outputs = None
        self._step(inputs)
        self._cycle += 1
        self._settled = self._settled + 1 if self._is_settled() else 0
        if inputs["restart"]:
            # The page does not say whether a loss in this very cycle is kept: it is.
            self._begin(self._lost_sms.lost)

    # A cycle

    def _step(self, inputs: Mapping[str, int]) -> None:
        """Judge the state, then set the next one; streams last, as all others read them."""
        now = self._judge(inputs)
        if now.outcome.block is not None:
            now.outcome.block.launch.last_return = inputs["clock"]
        if now.offered is not None and now.offered.first:
            now.offered.launch.first_offer = inputs["clock"]
        self._look(now)
        self._end_policy(inputs, now)
        self._end_room(inputs, now)
        self._end_reports(inputs, now)
        self._retirement.tick(self._cycle, now.offered)
        turn, active = self._cycle % self._turns, self._next.active
        self._ends.tick(turn, self._streams, active, now.told, now.outcome.emptied)
        self._next.tick(self._cycle, now.decision, self._streams, now.start)
        changes = Changes(now.start, inputs["stop"], now.before, now.outcome, now.told)
        self._streams.tick(changes, inputs["hold"])
        self._picked.pop()
        self._picked.appendleft(now.block)

    def _judge(self, inputs: Mapping[str, int]) -> _Now:
        before, offered = self._picked[0], self._picked[-1]
        landing = self._placements.landing, self._returns.landing
        # A launch is spent when its last block was picked in the cycle before (10).
        decision = self._next.decide(self._cycle, spent=before is not None and before.last)
        outcome = self._at_the_books()
        return _Now(
            decision=decision,
            block=self._go(decision, landing[0]),
            landing=landing,
            start=self._start(inputs),
            told=self._ends.transfer(inputs["ended__ready"]),
            outcome=outcome,
            written=self._retirement.written(outcome.block),
            before=before,
            offered=offered,
        )

    def _go(self, decision: Decision, placement: Verdict | None) -> ResidentBlock | None:
        """Return the block that is picked (14); count a stalled cycle (33)."""
        active = self._next.active
        if active is None or not decision.goes or self._scan.takes_turn:
            self._stalls.tick(None)
            return None
        room, known = self._room, self._scan.known(self._cycle)
        sm = self._policy.choose(room.room, room.out, known)
        self._stalls.tick((active.needs, placement) if sm is None else None)
        if sm is None:
            return None
        slot, offered = self._books.next_slot(sm), self._cycle + self._offer_after
        block = self._maker.block(active, sm, slot, offered)
        self._books.enter(block)
        return block

    def _start(self, inputs: Mapping[str, int]) -> ResidentLaunch | None:
        """Return the launch that transfers at `start` (3)."""
        if not inputs["start__valid"] or self._cycle < self._boot:
            return None
        return self._maker.launch(inputs["start__payload"])

    def _at_the_books(self) -> Outcome:
        """Return what the books' turn changes (26, 27, 32)."""
        turn = self._stages.at_books
        if turn is None:
            return NOTHING
        lost, kill = self._lost_sms.lost_before, self._streams.kill
        return judge(turn, self._books, self._cycle, lost, kill)

    def _end_policy(self, inputs: Mapping[str, int], now: _Now) -> None:
        """End the policy's cycle, and show an error (28)."""
        written, outcome = now.written, now.outcome
        swept = written is not None and written is outcome.block and outcome.swept
        step = PolicyStep(
            picked=None if now.block is None else now.block.sm,
            landing=now.landing,
            out=self._room.out,
            freed=None if written is None or swept else written.sm,
            quiet=not (self._streams.busy_before or now.before or self._picked[1]),
            room=self._room.room,
            used=self._room.used,
            clears=self._room.clears(changes=now.decision.made is not None),
        )
        self._policy.tick(step)
        shows, booted = outcome.error is not None, self._cycle >= self._rows
        refusal = self._policy.swap(inputs, booted=booted, quiet=step.quiet, shows=shows)
        self._errors.tick(outcome.error or refusal)

    def _end_room(self, inputs: Mapping[str, int], now: _Now) -> None:
        """Set the room bits (16)."""
        active = self._next.active
        needs = None if active is None else active.needs
        picked = None if now.block is None else now.block.sm
        changes = now.decision.made is not None
        self._room.tick(needs, now.landing, picked, changes=changes)
        self._enabled = inputs["enable"]
        self._room.used = self._enabled & ~self._lost_sms.lost

    def _look(self, now: _Now) -> None:
        """Let both pipes and the scan look at SMs, and write the books (22 to 26)."""
        books, scan, active = self._books, self._scan, self._next.active
        looks = self._retirement.looks_for_scan(self._stages.looked_up is not None)
        # Looks in the boot are not told apart: no launch is active when they land.
        takes = self._times.takes
        unseen = [block for block in list(self._picked)[1:takes] if block is not None]
        counts = all(block.sm != scan.sm for block in unseen)
        self._placements.tick(books, now.before, now.written, scan.sm, counts=counts)
        self._returns.tick(books, now.written, scan.sm if looks else None)
        if now.written is not None:
            books.give(now.written)
        taken = self._picked[takes - 1]
        if taken is not None:
            books.take(taken)
        begins = now.decision.made is not None or (active is None and not self._next.yields)
        advances = now.before is None or looks
        scan.tick(self._cycle, advances=advances, begins=begins, first=self._policy.first)

    def _end_reports(self, inputs: Mapping[str, int], now: _Now) -> None:
        """Grant a report or look at a row of the sweep; hold what comes (25, 31, 32)."""
        cycle, lost_sms, ports = self._cycle, self._lost_sms, self._ports
        row = lost_sms.look(cycle)
        granted = ports.grant() if row is None else None
        self._stages.tick(row if granted is None else ports.turn(granted))
        ports.tick(inputs, granted, booting=cycle < self._boot)
        lost_sms.tick(cycle, cycle % self._turns, self._streams, now.outcome, row)

    # Cycles with nothing to do

    def _is_settled(self) -> bool:
        """Tell whether only the cycle's number changes until something comes at the ports."""
        streams = self._streams
        if not self._next.settled or streams.candidates or self._cycle < self._boot:
            return False
        if any(self._picked) or streams.busy != streams.busy_before:
            return False
        if streams.kill & streams.busy or streams.resident & ~streams.alive:
            return False
        if self._errors.record or self._scan.waits_at != self._policy.first:
            return False
        parts = (
            self._ports,
            self._stages,
            self._retirement,
            self._lost_sms,
            self._ends,
            self._room,
            self._stalls,
            self._policy,
        )
        return all(part.settled for part in parts)

    def _something_comes(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether a cycle's inputs may change something."""
        levels = inputs["enable"] == self._enabled and inputs["hold"] == self._streams.held
        pulses = inputs["start__valid"] or inputs["restart"] or inputs["stop"]
        return bool(not levels or pulses or self._ports.comes(inputs) or self._policy.comes(inputs))
