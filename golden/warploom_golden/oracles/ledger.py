"""A ledger of every launch and block, kept from the ports alone; it shares no code with a model."""

from collections import deque
from collections.abc import Mapping
from typing import NoReturn

from warploom_golden.oracles.ledger_entry import (
    Account,
    Coordinates,
    Entry,
    HeldBlock,
    State,
    reported_state,
)
from warploom_golden.oracles.ledger_places import Places
from warploom_golden.oracles.stalls import Stalls
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import BlockStatus, Fate, Stop
from warploom_spec.layouts import PLACES
from warploom_spec.resources import RESOURCES, capacities
from warploom_spec.timing import timing

Ports = Mapping[str, int]
#: Rare cases that the ledger counts. A test may demand that they occurred.
RARE = (
    "second resident started",
    "a block reported ok while its place is killed",
    "an offer taken while its place is killed",
    "both places killed at once",
    "killed although nobody asked",
    "a report in the cycle of the offer's taking",
    "a kill in the cycle of the other place's last report",
    "a lost SM with two launches",
    "a lost SM",
    "an SM taken out of use",
)


class LedgerError(AssertionError):
    """The ports break one of the ledger's rules."""


class Ledger:
    """Keeps account of launches and blocks, and raises at the first fault.

    The ledger watches the ports of BlockDispatcher. It is an observer of the lockstep harness:
    `see` takes in each cycle without reset.

    These rules are checked:

    - Each block of a launch is offered once, in the order of the block ids, with the launch's own
      words. All SMs together get at most one new offer a cycle.
    - A launch begins when each earlier one has no block left to offer, or gets no further offer.
      Under stream order, no earlier launch of its stream may have a block out.
    - At most two launches have blocks out.
    - No SM is over-committed. An offer has the slot that has been free longest, and no SM gets one
      while it is out of use.
    - ``kill`` is 1 for all launches that are killed, and for no others.
    - An SM is lost exactly if it does not report a killed block in time.
    - Every launch gets one final record, after its last block was reported or lost. Fate, place,
      cycles and next block follow from what the ledger saw.
    - No stall counter counts a cycle with a decision, or one without a block left. Stream order
      counts no cycle in which another cause counts.

    Parameters
    ----------
    config : Config
        Widths and sizes.

    Raises
    ------
    LedgerError
        From `see`; the message names cycle and ticket.
    """

    #: The number of each launch's first block.
    first_number = 0

    def __init__(self, config: Config):
        self._config = config
        self._timing = timing(config)
        self._offer = layouts.block_offer(config)
        self._words = layouts.launch_words(config)
        self._report = layouts.block_report(config)
        self._dispatch = layouts.dispatch_launch(config)
        self._dispatch_stop = layouts.dispatch_stop(config)
        self._dispatch_end = layouts.dispatch_end(config)
        self._size = tuple(capacities(config).values())
        self._counts = {f"blocks {state.name.lower()}": 0 for state in State}
        self._counts |= {f"fate {fate.name.lower()}": 0 for fate in Fate}
        self._counts |= {"nothing open": 0}
        self._rare = dict.fromkeys(RARE, 0)
        self.reset()

    def reset(self) -> None:
        """Forget all launches; the counts stay."""
        self._now = 0
        self._open: dict[int, Entry] = {}
        self._accepted = 0
        self._broken: set[int] = set()
        self._sms = [Account(self._config.block_slots) for _ in range(self._config.sms)]
        # Enable masks of past cycles, the oldest first. An offer that begins now was decided with
        # the oldest one.
        self._enables = deque([0] * (self._timing.offer + 1), maxlen=self._timing.offer + 1)
        self._stalls = Stalls(self._config)
        # Reports of the cycle before: SM, payload.
        self._reports: list[tuple[int, int]] = []
        self._places = Places(self._config)

    def counts(self) -> dict[str, int]:
        """Return all counts: blocks by state, fates, cycles that closed all tickets, rare cases."""
        return {f"ledger: {name}": count for name, count in self._counts.items()} | self._rare

    @property
    def open_tickets(self) -> list[int]:
        """Tickets that were accepted and have no final record."""
        return sorted(self._open)

    def see(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Take in one cycle without reset."""
        self._now = cycle
        before = bool(self._open)
        self._see_losses(outputs["lost"])
        self._see_reports()
        self._see_kills(outputs)
        begun = self._see_offers(inputs, outputs)
        self._see_dispatcher(inputs, outputs)
        left = any(not entry.exhausted for entry in self._open.values())
        wrong = self._stalls.look(outputs, begun, left)
        self._demand(not wrong, wrong)
        self._register(inputs)
        self._counts["nothing open"] += before and not self._open

    def _fail(self, what: str) -> NoReturn:
        raise LedgerError(f"ledger, cycle {self._now}: {what}")

    def _demand(self, holds: bool, what: str) -> None:
        if not holds:
            self._fail(what)

    # The bus

    def _see_dispatcher(self, inputs: Ports, outputs: Ports) -> None:
        """Take in launches, stops and ends of BlockDispatcher."""
        stops = self._dispatch_stop.unpack(inputs["stop"])
        for place, entry in enumerate(self._places.holders):
            stop = Stop(min(stops[f"place{place}"], Stop.KILL))
            if entry is not None and stop:
                stopped = self._now + self._timing.stop
                entry.stops.add(stop)
                entry.end_offers(stopped + self._timing.offer)
                if stop is Stop.KILL:
                    entry.kill(stopped)
        if outputs["ended__valid"] and inputs["ended__ready"]:
            self._see_record(self._dispatch_end.unpack(outputs["ended__payload"]))
        if inputs["launch__valid"] and outputs["launch__ready"]:
            launch = self._dispatch.unpack(inputs["launch__payload"])
            start = launch["start_x"], launch["start_y"], launch["start_z"]
            entry = self._enter(launch["ticket"], start, launch)
            self._demand(self._places.occupy(entry), "a third launch is taken")

    def _enter(self, ticket: int, start: Coordinates, launch: Ports) -> Entry:
        """Open an entry for an accepted launch."""
        self._demand(ticket not in self._open, f"ticket {ticket} is given twice")
        need = tuple(1 if name == "slots" else launch[name] for name in RESOURCES)
        for used, size in zip(need, self._size, strict=True):
            self._demand(used <= size, f"ticket {ticket}: accepted, but fits no SM")
        words = {f.name: launch[f.name] for f in self._words.fields if f.name != "ticket"}
        names = ("index_address", "warps", "width_x", "width_y", "width_z")
        # Without an index memory the index fields of an offer are 0.
        index = tuple(launch[n] if self._config.makes_indices else 0 for n in names)
        entry = self._open[ticket] = Entry(
            ticket=ticket,
            stream=launch["stream"],
            after_previous=launch["after_previous"],
            age=self._accepted,
            grid=(launch["gx"], launch["gy"], launch["gz"]),
            start=start,
            need=need,
            words=words | {"ticket": ticket},
            index=index,
            may_kill=self._config.sm_kill,
            stops=set(),
            first_number=self.first_number,
        )
        self._accepted += 1
        return entry

    def _see_record(self, record: Ports) -> None:
        ticket = record["ticket"]
        entry = self._open.pop(ticket, None)
        if entry is None:
            self._fail(f"a final record for ticket {ticket}, which is not open")
        all_lost = all(sm.lost_since is not None for sm in self._sms)
        wrong = entry.judge(record, all_lost, entry.stream in self._broken)
        self._demand(not wrong, f"ticket {ticket}, final record: {wrong}")
        self._counts[f"fate {Fate(record['fate']).name.lower()}"] += 1
        met = entry.last_report in self._places.kills_beside(entry)
        self._rare["a kill in the cycle of the other place's last report"] += met

    # The SMs

    def _register(self, inputs: Ports) -> None:
        """Keep this cycle's reports and enable mask: they take effect in later cycles."""
        retired = self._enables[-1] & ~inputs["enable"]
        self._enables.append(inputs["enable"])
        for n, sm in enumerate(self._sms):
            if retired >> n & 1 and any(sm.living()):
                self._rare["an SM taken out of use"] += 1
        self._reports = [
            (n, inputs[f"report__{n}__payload"])
            for n in range(len(self._sms))
            if inputs[f"report__{n}__valid"]
        ]

    def _see_losses(self, lost: int) -> None:
        """Write off every block of an SM that is lost from this cycle on."""
        for n, sm in enumerate(self._sms):
            if sm.lost_since is not None:
                self._demand(bool(lost >> n & 1), f"SM {n} is found again")
                continue
            silent = self._places.is_silent(sm, self._now)
            self._demand(bool(lost >> n & 1) == silent, f"SM {n}: lost is {lost >> n & 1}")
            if silent:
                sm.lost_since = self._now
                living = list(sm.living())
                self._rare["a lost SM"] += 1
                launches = {block.entry.ticket for block in living}
                self._rare["a lost SM with two launches"] += len(launches) == PLACES
                for block in living:
                    self._lose_block(block, self._now)

    def _lose_block(self, block: HeldBlock, lost_since: int) -> None:
        """Enter a block as lost with its SM; its launch is killed ``loss_kill`` cycles later."""
        entry = block.entry
        block.lost = True
        self._end(entry, State.LOST)
        killed = lost_since + self._timing.loss_kill
        entry.kill(killed)
        entry.end_offers(killed + self._timing.offer)
        self._broken.add(entry.stream)

    def _end(self, entry: Entry, state: State) -> None:
        entry.tally[State.OPEN] -= 1
        entry.tally[state] += 1
        self._counts[f"blocks {state.name.lower()}"] += 1

    def _see_reports(self) -> None:
        """Process the reports of the cycle before."""
        sent = self._now - 1
        for n, payload in self._reports:
            sm, fields = self._sms[n], self._report.unpack(payload)
            block = sm.running(fields["slot"], sent)
            if sm.lost_since is None and block is not None:
                self._leave(sm, block, fields["status"], sent)

    def _leave(self, sm: Account, block: HeldBlock, status: int, sent: int) -> None:
        """Enter a block's report, which was at the port in the cycle ``sent``."""
        entry = block.entry
        block.reported = entry.last_report = sent
        sm.charge(entry.need, -1)
        sm.free.append(block.slot)
        killed = entry.place is not None and bool(self._places.kill >> entry.place & 1)
        state = reported_state(BlockStatus.of(status), killed)
        self._end(entry, state)
        self._rare["a block reported ok while its place is killed"] += killed and state is State.OK
        self._rare["killed although nobody asked"] += status == BlockStatus.KILLED and not killed
        self._rare["a report in the cycle of the offer's taking"] += block.taken == sent
        if state is State.FAULT:
            stopped = sent + self._timing.fault
            entry.kill(stopped)
            entry.end_offers(stopped + self._timing.offer)

    def _see_kills(self, outputs: Ports) -> None:
        """Check that ``kill`` is 1 for all launches that are killed, and for no others."""
        self._places.find_by_record(outputs)
        wrong = self._places.look(outputs["kill"], self._now)
        self._demand(not wrong, wrong)
        self._rare["both places killed at once"] += outputs["kill"] == (1 << PLACES) - 1

    def _see_offers(self, inputs: Ports, outputs: Ports) -> bool:
        """Take in new offers, and those that are taken; return whether an offer is new."""
        begun = 0
        for n, sm in enumerate(self._sms):
            if not outputs[f"offer__{n}__valid"]:
                self._demand(sm.standing is None, f"SM {n}: an offer was withdrawn")
                continue
            if sm.standing is None:
                begun += 1
                fields = self._offer.unpack(outputs[f"offer__{n}__payload"])
                words = self._words.unpack(outputs[f"words__{fields['place']}"])
                sm.standing = self._offered(n, sm, fields, words)
            if inputs[f"offer__{n}__ready"]:
                killed = self._places.kill >> (sm.standing.entry.place or 0) & 1
                self._rare["an offer taken while its place is killed"] += killed
                sm.standing.taken = self._now
                sm.standing = None
        self._demand(begun <= 1, f"{begun} blocks are offered in one cycle")
        return bool(begun)

    def _offered(self, n: int, sm: Account, fields: Ports, words: Ports) -> HeldBlock:
        """Check and enter a block in the first cycle of its offer."""
        ticket, slot = words["ticket"], fields["slot"]
        entry = self._open.get(ticket)
        if entry is None:
            self._fail(f"SM {n}: a block of ticket {ticket}, which is not open")
        who = f"SM {n}, slot {slot}, ticket {ticket}"
        self._demand(words == entry.words, f"{who}: words {words}, want {entry.words}")
        self._check_order(who, entry, fields)
        self._check_room(who, n, sm, slot, entry)
        self._check_others(who, entry)
        if entry.first_offer is None:
            entry.first_offer = self._now
        block = HeldBlock(entry, slot)
        sm.offers += 1
        sm.blocks[slot] = block
        sm.charge(entry.need, 1)
        entry.offered += 1
        entry.tally[State.OPEN] += 1
        self._counts["blocks open"] += 1
        if sm.lost_since is not None:
            self._lose_block(block, sm.lost_since)
        return block

    def _check_order(self, who: str, entry: Entry, fields: Ports) -> None:
        """Check that the offer has the launch's next block, and that the launch may go on."""
        self._demand(fields["place"] == entry.place, f"{who}: its place is {entry.place}")
        self._demand(not entry.exhausted, f"{who}: a block after the last one")
        self._demand(not entry.closed, f"{who}: a block although {entry.closed}")
        late = entry.last_offer is not None and self._now > entry.last_offer
        self._demand(not late, f"{who}: a block after the launch was stopped")
        block = fields["bx"], fields["by"], fields["bz"]
        self._demand(block == entry.next_block, f"{who}: block {block}, want {entry.next_block}")
        number, want = fields["block_number"], entry.next_number()
        self._demand(number == want, f"{who}: block_number {number}, want {want}")
        index = (*(fields[n] for n in ("index_address", "index_warps")),)
        index += (*(fields[f"width_{axis}"] for axis in "xyz"),)
        self._demand(index == entry.index, f"{who}: indices {index}, want {entry.index}")

    def _check_room(self, who: str, n: int, sm: Account, slot: int, entry: Entry) -> None:
        """Check that the SM is in use, has the right slot and is not over-committed."""
        self._demand(self._enables[0] >> n & 1 == 1, f"{who}: the SM is disabled")
        if sm.lost_since is not None:
            # The block must have been decided before the cycle in which the SM was lost.
            late = self._now > sm.lost_since - 1 + self._timing.offer
            self._demand(not late, f"{who}: the SM is lost")
            return
        before = sm.blocks.get(slot)
        self._demand(before is None or not before.is_held, f"{who}: the slot is held")
        in_order = self._config.reclaim == "in_order"
        want = sm.offers % self._config.block_slots if in_order else sm.free.popleft()
        self._demand(slot == want, f"{who}: slot {want} has been free longest")
        total = [used + one for used, one in zip(sm.used, entry.need, strict=True)]
        fits = all(used <= size for used, size in zip(total, self._size, strict=True))
        self._demand(fits, f"{who}: over-committed, {total} of {self._size}")

    def _check_others(self, who: str, entry: Entry) -> None:
        """Check stream order and the two residents; allow earlier launches no further offer."""
        for other in self._open.values():
            if other.age < entry.age:
                other.close(f"ticket {entry.ticket} went before it")
                held = other.stream == entry.stream and entry.after_previous and not entry.offered
                out = other.tally[State.OPEN]
                self._demand(
                    not (held and out), f"{who}: began while ticket {other.ticket} has {out} out"
                )
        resident = [e for e in self._open.values() if e.tally[State.OPEN] and e is not entry]
        self._demand(len(resident) <= 1, f"{who}: a third resident launch")
        self._rare["second resident started"] += bool(resident and not entry.offered)
