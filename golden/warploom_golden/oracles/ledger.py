"""A ledger of (ticket, block) at the SM ports and the bus, apart from every model."""

from collections import deque
from collections.abc import Mapping
from typing import NoReturn

from warploom_golden.oracles.ledger_entry import (
    KILL,
    Account,
    Coordinates,
    Entry,
    Stalls,
    State,
    Tenant,
)
from warploom_golden.oracles.list_scheduler import CAUSES
from warploom_spec import layouts
from warploom_spec.config import BLOCK_LIMITS, Config
from warploom_spec.errors import Fate
from warploom_spec.timing import timing

Ports = Mapping[str, int]
#: Rare cases that the ledger sees and counts; a test may demand them.
RARE = (
    "second resident started",
    "kill of a standing offer",
    "completion in the cycle of an acknowledgement",
    "an acknowledgement in the cycle before its kill",
    "an SM taken out of use",
    "a lost SM",
)


class LedgerError(AssertionError):
    """Something at the ports that must not be."""


class Ledger:
    """Keeps the ledger and raises at the first entry that is wrong.

    It watches the ports of BlockDispatcher or of LaunchPath, and knows from them which it is. It is
    an observer of the lockstep harness: `see` takes in each cycle without reset.

    Held: tickets count up; the blocks of a launch are offered once each, in the order of their ids,
    one a cycle at most over all SMs, with the launch's own words; a launch begins when every
    earlier one has nothing left or never goes on, and no earlier one of its stream has a block out;
    two launches at most have blocks out; no SM is over-committed, offered a slot that is taken,
    named in a kill or not yet seen beside one, or offered anything while out of use; kills name
    running blocks of stopped launches; every launch gets one final record, with the fate, cycles
    and next block that follow from what was seen, after its last block has ended; a stall counter
    counts no cycle with a decision or without a block that is left, and stream order none in which
    another cause counts.

    Parameters
    ----------
    config : Config
        Widths and sizes.

    Raises
    ------
    LedgerError
        From `see`; names cycle and ticket.
    """

    def __init__(self, config: Config):
        self._config = config
        self._offer = layouts.block_offer(config)
        self._words = layouts.launch_words(config)
        self._completion = layouts.block_completion(config)
        self._mask = layouts.slot_mask(config)
        self._descriptor = layouts.launch_descriptor(config)
        self._dispatch = layouts.dispatch_launch(config)
        self._answer = layouts.launch_answer(config)
        self._stop = layouts.launch_stop(config)
        self._path_end = layouts.end_record(config)
        self._dispatch_end = layouts.dispatch_end(config)
        self._size = (
            *(config.warp_slots, config.register_units, config.shared_units),
            *(config.barriers, config.block_slots),
        )
        self._counts = {f"blocks {state.name.lower()}": 0 for state in State}
        self._counts |= {f"fate {fate.name.lower()}": 0 for fate in Fate}
        self._counts |= {"nothing open": 0}
        self._rare = dict.fromkeys(RARE, 0)
        # Cycles from the SMs' ports to the cycle in which what was sent counts.
        self._delay = timing(config).returns - 1
        # Cycles from a stop at the dispatcher to the first one in which its launch is stopped.
        self._stop_delay = timing(config).stop
        self.reset()

    def reset(self) -> None:
        """Forget all launches; the counts stay."""
        self._now = 0
        self._sent: deque[dict[str, int]] = deque()
        self._answered = True
        self._open: dict[int, Entry] = {}
        self._stops: dict[int, set[int]] = {}
        self._accepted = 0
        self._broken: set[int] = set()
        self._sms = [Account() for _ in range(self._config.sms)]
        self._enabled = (0, 0)
        shared = timing(self._config)
        self._stalled = Stalls(shared.stall, shared.stall_counter_bits)
        # What SMs sent in each of the last cycles, the oldest first.
        self._signals: deque[list[tuple[int, int | None]]] = deque([] for _ in range(self._delay))

    def counts(self) -> dict[str, int]:
        """Return the entries of each kind, how often nothing was left open, and the rare cases."""
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
        named = [sm.named for sm in self._sms]
        self._see_signals()
        self._see_kills(outputs)
        if "answer__valid" in outputs:
            self._see_path(inputs, outputs)
        begun = self._see_offers(inputs, outputs)
        self._see_stop(inputs, outputs)
        if "answer__valid" not in outputs:
            self._see_dispatcher(inputs, outputs)
        self._see_stalls(outputs, bool(begun))
        self._register(inputs)
        for sm, mask in zip(self._sms, named, strict=True):
            sm.look(mask | sm.named, self._config.block_slots, self._now)
        self._counts["nothing open"] += before and not self._open

    def _fail(self, what: str) -> NoReturn:
        raise LedgerError(f"ledger, cycle {self._now}: {what}")

    def _demand(self, holds: bool, what: str) -> None:
        if not holds:
            self._fail(what)

    # The bus

    def _see_path(self, inputs: Ports, outputs: Ports) -> None:
        """Take in launches, answers and final records of LaunchPath.

        A launch is accepted in the cycle before its answer is seen, taken or not.
        """
        if outputs["answer__valid"] and self._answered:
            self._demand(bool(self._sent), "an answer without a launch")
            self._see_answer(self._sent.popleft(), self._answer.unpack(outputs["answer__payload"]))
        self._answered = not outputs["answer__valid"] or bool(inputs["answer__ready"])
        if inputs["launch__valid"] and outputs["launch__ready"]:
            self._sent.append(self._descriptor.unpack(inputs["launch__payload"]))
        if outputs["ended__valid"] and inputs["ended__ready"]:
            self._see_record(self._path_end.unpack(outputs["ended__payload"]))

    def _see_answer(self, launch: dict[str, int], answer: Ports) -> None:
        ticket, code = answer["ticket"], answer["code"]
        self._demand(bool(ticket) != bool(code), f"answer with ticket {ticket} and code {code}")
        if not ticket:
            return
        self._demand(ticket == self._accepted + 1, f"ticket {ticket} after {self._accepted}")
        for axis, limit in zip("xyz", BLOCK_LIMITS, strict=True):
            self._demand(0 < launch[f"d{axis}"] <= limit, f"ticket {ticket}: bad block accepted")
            self._demand(launch[f"g{axis}"] > 0, f"ticket {ticket}: empty grid accepted")
        warps = -(-launch["dx"] * launch["dy"] * launch["dz"] // self._config.warp_size)
        for axis in "xyz":
            launch[f"width_{axis}"] = (launch[f"d{axis}"] - 1).bit_length()
        launch |= {"warps": warps, "registers": warps * launch["warp_registers"]}
        self._enter(ticket, (0, 0, 0), launch)

    def _see_dispatcher(self, inputs: Ports, outputs: Ports) -> None:
        """Take in launches and ends of BlockDispatcher."""
        if outputs["ended__valid"] and inputs["ended__ready"]:
            self._see_record(self._dispatch_end.unpack(outputs["ended__payload"]))
        if inputs["launch__valid"] and outputs["launch__ready"]:
            launch = self._dispatch.unpack(inputs["launch__payload"])
            start = launch["start_x"], launch["start_y"], launch["start_z"]
            self._enter(launch["ticket"], start, launch)

    def _enter(self, ticket: int, start: Coordinates, launch: Ports) -> None:
        """Open an entry for an accepted launch."""
        self._demand(ticket not in self._open, f"ticket {ticket} is given twice")
        need = *(launch[n] for n in ("warps", "registers", "shared", "barriers")), 1
        for used, size in zip(need, self._size, strict=True):
            self._demand(used <= size, f"ticket {ticket}: accepted, but fits no SM")
        words = {f.name: launch[f.name] for f in self._words.fields if f.name != "ticket"}
        index = (*(launch[n] for n in ("index_address", "warps", "width_x", "width_y", "width_z")),)
        self._open[ticket] = Entry(
            ticket=ticket,
            stream=launch["stream"],
            after_previous=launch["after_previous"],
            age=self._accepted,
            grid=(launch["gx"], launch["gy"], launch["gz"]),
            start=start,
            need=need,
            words=words | {"ticket": ticket},
            index=index,
            stops=self._stops.setdefault(ticket, set()),
        )
        self._accepted += 1

    def _see_stop(self, inputs: Ports, outputs: Ports) -> None:
        if not (inputs["stop__valid"] and outputs["stop__ready"]):
            return
        stop = self._stop.unpack(inputs["stop__payload"])
        self._stops.setdefault(stop["ticket"], set()).add(stop["drain"])
        entry = self._open.get(stop["ticket"])
        if entry is None:
            return
        # LaunchPath hands a stop on one cycle later.
        at_dispatcher = "answer__valid" not in outputs
        stopped = self._now + self._stop_delay + (not at_dispatcher)
        if stop["drain"] == KILL:
            entry.kill(stopped)
        if at_dispatcher:
            self._stop_offers(entry, stopped)

    def _see_record(self, record: Ports) -> None:
        ticket = record["ticket"]
        entry = self._open.pop(ticket, None)
        if entry is None:
            self._fail(f"a final record for ticket {ticket}, which is not open")
        all_lost = all(sm.lost_since is not None for sm in self._sms)
        wrong = entry.judge(record, all_lost, entry.stream in self._broken)
        self._demand(not wrong, f"ticket {ticket}, final record: {wrong}")
        self._counts[f"fate {Fate(record['fate']).name.lower()}"] += 1

    # The SMs

    def _register(self, inputs: Ports) -> None:
        """Keep what SMs send until the cycle in which it counts."""
        retired = self._enabled[1] & ~inputs["enable"]
        self._enabled = self._enabled[1], inputs["enable"]
        for n, sm in enumerate(self._sms):
            if retired >> n & 1 and any(sm.living()):
                self._rare["an SM taken out of use"] += 1
        sent: list[tuple[int, int | None]] = []
        for n in range(len(self._sms)):
            if inputs[f"completion__{n}__valid"]:
                sent.append((n, inputs[f"completion__{n}__payload"]))
            if inputs[f"acknowledge__{n}"] & 1:
                sent.append((n, None))
        self._signals.append(sent)

    def _see_losses(self, lost: int) -> None:
        """Write off every block of an SM that is lost from this cycle on."""
        for n, sm in enumerate(self._sms):
            if lost >> n & 1 and sm.lost_since is None:
                sm.lost_since = self._now
                sm.named = 0
                self._rare["a lost SM"] += 1
                for tenant in list(sm.living()):
                    self._write_off(tenant, self._now)
            self._demand(
                bool(lost >> n & 1) == (sm.lost_since is not None), f"SM {n} is found again"
            )

    def _write_off(self, tenant: Tenant, last: int) -> None:
        """Enter a block as lost; its launch's last offer may begin in cycle ``last``."""
        self._end(tenant, State.LOST)
        self._stop_offers(tenant.entry, last)
        self._broken.add(tenant.entry.stream)

    def _end(self, tenant: Tenant, state: State) -> None:
        tenant.processed = self._now
        tenant.entry.tally[State.OPEN] -= 1
        tenant.entry.tally[state] += 1
        self._counts[f"blocks {state.name.lower()}"] += 1

    def _see_signals(self) -> None:
        """Take in what SMs sent ``timing.returns`` - 1 cycles before.

        On one SM completions stand before acknowledgements. An acknowledgement that was at the
        port before its kill was seen is none, and so is a completion from before its block's offer
        was taken.
        """
        outrun: set[int] = set()  # SMs on which a named block completes in the last moment
        for n, payload in self._signals.popleft():
            sm = self._sms[n]
            if sm.lost_since is not None:
                continue
            if payload is not None:
                fields = self._completion.unpack(payload)
                tenant = sm.ran(fields["slot"], self._now)
                if tenant is not None:
                    if sm.named >> tenant.slot & 1:
                        outrun.add(n)
                    self._leave(sm, tenant, State.COMPLETED)
                    if fields["code"]:
                        tenant.entry.fault = True
                        tenant.entry.kill(self._now + 1)
                        self._stop_offers(tenant.entry, self._now + 1)
            elif sm.named and sm.named_in > self._now - self._delay:
                self._rare["an acknowledgement in the cycle before its kill"] += 1
            elif sm.named:
                self._rare["completion in the cycle of an acknowledgement"] += n in outrun
                for slot in range(sm.named.bit_length()):
                    tenant = sm.running(slot, self._now) if sm.named >> slot & 1 else None
                    if tenant is not None:
                        self._leave(sm, tenant, State.KILLED)
                sm.named = 0

    def _stop_offers(self, entry: Entry, last: int) -> None:
        """Allow offers of a stopped launch up to the last that was decided before it stopped."""
        entry.last_offer = last if entry.last_offer is None else min(entry.last_offer, last)

    def _leave(self, sm: Account, tenant: Tenant, state: State) -> None:
        self._end(tenant, state)
        sm.charge(tenant.entry.need, -1)
        tenant.entry.last_seen = self._now - self._delay

    def _see_kills(self, outputs: Ports) -> None:
        for n, sm in enumerate(self._sms):
            kill = outputs[f"kill__{n}"]
            if not kill:
                continue
            named = self._mask.unpack(kill)["mask"]
            self._demand(bool(named), f"SM {n}: a kill that names no slot")
            self._demand(sm.lost_since is None, f"SM {n}: a kill for a lost SM")
            self._demand(not sm.named, f"SM {n}: a second kill before the acknowledgement")
            for slot in range(named.bit_length()):
                if named >> slot & 1:
                    self._check_killed(n, slot, sm.tenants.get(slot))
            sm.named, sm.named_in = named, self._now

    def _check_killed(self, n: int, slot: int, tenant: Tenant | None) -> None:
        """Hold that a slot was running in the cycle before.

        Its launch must have been killed in the one before that already.
        """
        decided = self._now - 1
        where = f"SM {n}, slot {slot}: a kill"
        if tenant is None or tenant.running_from is None or tenant.running_from > decided:
            self._fail(f"{where} of what does not run")
        ended = tenant.processed is not None and tenant.processed < decided
        self._demand(not ended, f"{where} of what has ended")
        entry = tenant.entry
        stopped = entry.killed_from is not None and entry.killed_from < decided
        self._demand(stopped, f"{where} of ticket {entry.ticket}, which nobody stopped")
        self._rare["kill of a standing offer"] += tenant.outlived

    def _see_stalls(self, outputs: Ports, begun: bool) -> None:
        shown = {cause: outputs[f"stall_{cause}"] for cause in CAUSES}
        left = any(not entry.exhausted for entry in self._open.values())
        wrong = self._stalled.look(shown, begun, left)
        self._demand(not wrong, wrong)

    def _see_offers(self, inputs: Ports, outputs: Ports) -> int:
        """Take in new offers, of which there is one at most, and those taken; return how many."""
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
                sm.standing.running_from = self._now + 1
                killed_from = sm.standing.entry.killed_from
                sm.standing.outlived = killed_from is not None and killed_from <= self._now
                sm.standing = None
        self._demand(begun <= 1, f"{begun} blocks are offered in one cycle")
        return begun

    def _offered(self, n: int, sm: Account, fields: Ports, words: Ports) -> Tenant:
        """Enter a block that is offered for the first time."""
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
        tenant = Tenant(entry, slot)
        sm.offered_in = self._now
        sm.tenants[slot] = tenant
        sm.charge(entry.need, 1)
        entry.offered += 1
        entry.tally[State.OPEN] += 1
        self._counts["blocks open"] += 1
        if sm.lost_since is not None:
            # It was decided in the cycle of the loss, which its launch learns of a cycle later.
            self._write_off(tenant, self._now + 1)
        return tenant

    def _check_order(self, who: str, entry: Entry, fields: Ports) -> None:
        """Hold that it is the launch's next block, and that the launch may go on."""
        self._demand(not entry.exhausted, f"{who}: a block after the last one")
        self._demand(not entry.closed, f"{who}: a block although {entry.closed}")
        late = entry.last_offer is not None and self._now > entry.last_offer
        self._demand(not late, f"{who}: a block after the launch was stopped")
        block = fields["bx"], fields["by"], fields["bz"]
        self._demand(block == entry.next_block, f"{who}: block {block}, want {entry.next_block}")
        index = (*(fields[n] for n in ("index_address", "index_warps")),)
        index += (*(fields[f"width_{axis}"] for axis in "xyz"),)
        self._demand(index == entry.index, f"{who}: indices {index}, want {entry.index}")

    def _check_room(self, who: str, n: int, sm: Account, slot: int, entry: Entry) -> None:
        """Hold that the SM is in use, has the slot free and is not over-committed."""
        self._demand(self._enabled[0] >> n & 1 == 1, f"{who}: the SM is disabled")
        found_lost = sm.lost_since is not None and sm.lost_since < self._now
        self._demand(not found_lost, f"{who}: the SM is lost")
        before = sm.tenants.get(slot)
        held = before is not None and before.processed is None
        self._demand(not held, f"{who}: the slot is held")
        self._demand(not sm.named >> slot & 1, f"{who}: a kill names the slot")
        total = [used + one for used, one in zip(sm.used, entry.need, strict=True)]
        fits = all(used <= size for used, size in zip(total, self._size, strict=True))
        self._demand(fits or found_lost, f"{who}: over-committed, {total} of {self._size}")

        # Decided in the cycle before: while a kill is outstanding, a slot is seen a cycle late.
        outstanding, free = sm.looks[0]
        seen = free and sm.offered_in != self._now - 1
        self._demand(seen or not outstanding, f"{who}: the slot was not seen yet")

    def _check_others(self, who: str, entry: Entry) -> None:
        """Hold stream order, and let no earlier launch go on behind a later one."""
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
