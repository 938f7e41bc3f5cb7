"""One SM as the dispatcher sees it: its offer, what it sends, its kill, its loss."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom._sm_resources import SmResources, amounts, limits
from warploom._sm_slots import SmSlots
from warploom_spec import Config, layouts


def most_returned(config: Config) -> int:
    """Return how many blocks of one SM may return their resources in one cycle, but by a kill."""
    return config.retire_width if config.reclaim == "in_order" else 1


def both(bit: Value) -> Value:
    """Return the bit for each of the two places."""
    return bit.replicate(2)


class SmPort(wiring.Component):
    """Serve one SM's port and keep its slots and resources.

    What the SM sends is registered once and processed in the cycle after.

    Parameters
    ----------
    config : Config
        The configuration.
    fault : str, optional
        One of the dispatcher's faults.

    Attributes
    ----------
    offer, completion, kill, acknowledge, enable :
        The dispatcher's ports of this SM.
    placed : In(1)
        The head is decided for this SM in this cycle.
    block : In(block_offer)
        The head as an offer; ``slot`` is not used.
    needs, limit : In
        See `SmResources`.
    stop_kill, late : In(2)
        Places with stop = kill; those whose untaken offers make an SM lost in this cycle.
    returned, returned_slots : In
        ``in_order``: blocks retired in the last cycle, by place; their slots.
    eligible : Out(1)
        The head may be decided for this SM. Depends on ``offer.ready`` (combinational).
    in_use, open : Out(1)
        The SM may get new blocks; its offer port is free.
    lacks : Out(5)
        Whether slots, warps, registers, shared units, barriers do not suffice for the head.
    lowest : Out
        The slot that the head would get.
    load : Out
        Warps in use, the block decided in this cycle not counted, after this cycle.
    lost : Out(1)
        The SM is lost.
    completed, faulty, killed, struck : Out(2)
        By place, in this cycle: a block's completion, one with a code, an acknowledgement that
        really kills a block, a loss that strikes it.
    present : Out(2)
        The place has a block out here.
    busy : Out(block_slots)
        Slots with blocks that have not ended (none if the SM is lost).
    freed : Out
        Slots that become free at the end of the cycle.
    errors : Out(4)
        Causes in this cycle, from the lowest code up: a completion that was not running, an
        acknowledgement without a kill, one with a wrong mask, a signal of a lost SM.
    """

    offer: stream.Interface
    completion: stream.Interface
    kill: data.View
    acknowledge: data.View
    enable: Signal
    placed: Signal
    block: data.View
    needs: data.View
    limit: data.View
    stop_kill: Signal
    late: Signal
    returned: data.View
    returned_slots: Signal
    eligible: Signal
    in_use: Signal
    open: Signal
    lacks: Signal
    lowest: Signal
    load: Signal
    lost: Signal
    completed: Signal
    faulty: Signal
    killed: Signal
    struck: Signal
    present: Signal
    busy: Signal
    freed: Signal
    errors: Signal

    def __init__(self, config: Config, *, fault: str | None = None) -> None:
        self._config = config
        self._fault = fault
        self._in_order = config.reclaim == "in_order"
        most = most_returned(config)
        block = layouts.block_offer(config).layout()
        super().__init__(
            {
                "offer": Out(stream.Signature(block)),
                "completion": In(stream.Signature(layouts.block_completion(config).layout())),
                "kill": Out(layouts.slot_mask(config).layout()),
                "acknowledge": In(layouts.slot_mask(config).layout()),
                "enable": In(1),
                "placed": In(1),
                "block": In(block),
                "needs": In(data.ArrayLayout(data.ArrayLayout(amounts(config), most), 2)),
                "limit": In(limits(config)),
                "stop_kill": In(2),
                "late": In(2),
                "returned": In(data.ArrayLayout(most.bit_length(), 2)),
                "returned_slots": In(config.block_slots),
                "eligible": Out(1),
                "in_use": Out(1),
                "open": Out(1),
                "lacks": Out(5),
                "lowest": Out(config.slot_bits),
                "load": Out(config.warp_slots.bit_length()),
                "lost": Out(1),
                "completed": Out(2),
                "faulty": Out(2),
                "killed": Out(2),
                "struck": Out(2),
                "present": Out(2),
                "busy": Out(config.block_slots),
                "freed": Out(config.block_slots.bit_length()),
                "errors": Out(4),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        m.submodules.slots = slots = SmSlots(self._config)
        m.submodules.resources = resources = SmResources(
            self._config, most_returned(self._config)
        )
        outstanding, acknowledged = Signal(), Signal()
        self._offer(m, slots, resources)
        self._sent(m, slots, outstanding, acknowledged)
        lose = self._kill(m, slots, outstanding, acknowledged)
        self._account(m, slots, resources, lose)
        return m

    def _offer(self, m: Module, slots: SmSlots, resources: SmResources) -> None:
        """Register what is decided; tell whether the head may be."""
        offer = self.offer
        enabled = Signal()
        m.d.comb += [
            self.open.eq(~offer.valid | offer.ready),
            self.in_use.eq(enabled & ~self.lost),
            self.eligible.eq(self.in_use & slots.room & resources.fits.all() & self.open),
            self.lacks.eq(Cat(~slots.room, ~resources.fits)),
            self.lowest.eq(slots.lowest),
            self.load.eq(resources.load),
            slots.placed.eq(self.placed),
            slots.head_place.eq(self.block.place),
            slots.open.eq(self.open),
            slots.taken.eq(offer.valid & offer.ready),
            resources.needs.eq(self.needs),
            resources.limit.eq(self.limit),
        ]
        m.d.sync += enabled.eq(self.enable)
        slot: Value = slots.lowest
        if self._fault == "wrong_slot":
            slot = Mux(slot == 2, 3, slot)
        with m.If(self.placed):
            m.d.sync += [
                field.eq(slot if name == "slot" else self.block[name])
                for name, field in ((n, offer.payload[n]) for n in offer.payload.shape().members)
            ]
        with m.If(self.open):
            m.d.sync += offer.valid.eq(self.placed)

    def _sent(
        self, m: Module, slots: SmSlots, outstanding: Signal, acknowledged: Signal
    ) -> None:
        """Register what the SM sends, and judge it in the cycle after."""
        sent = Signal(self.completion.payload.shape())
        sent_valid, acknowledgement, foreign = Signal(), Signal(), Signal()
        m.d.comb += self.completion.ready.eq(1)
        sending, what = self.completion.valid, self.completion.payload
        if self._fault == "late_return":
            sending, what = Signal(), Signal.like(what, name="sent_late")
            m.d.sync += [sending.eq(self.completion.valid), what.eq(self.completion.payload)]
        m.d.comb += [slots.sent.eq(sending), slots.sent_slot.eq(what.slot)]
        m.d.sync += [
            sent_valid.eq(sending),
            sent.eq(what),
            acknowledgement.eq(self.acknowledge.valid),
            foreign.eq((self.acknowledge.mask & ~slots.named).any()),
        ]
        hit, hit_place, live = Signal(), Signal(), Signal()
        m.d.sync += [hit.eq(slots.hit), hit_place.eq(slots.hit_place)]
        # What was sent before the pulse stood at the port is no answer to it.
        due = outstanding & ~self.kill.valid
        m.d.comb += [
            live.eq(~self.lost),
            acknowledged.eq(acknowledgement & live & due),
            slots.forgiven.eq(
                self.acknowledge.valid & outstanding & ~acknowledged & ~self.lost
            ),
            self.errors.eq(
                Cat(
                    sent_valid & live & ~hit,
                    acknowledgement & live & ~due,
                    acknowledged & foreign,
                    (sent_valid | acknowledgement) & self.lost,
                )
            ),
            self.completed.eq(Cat(hit & live & ~hit_place, hit & live & hit_place)),
            self.faulty.eq(self.completed & both(sent.code.any())),
        ]

    def _kill(
        self, m: Module, slots: SmSlots, outstanding: Signal, acknowledged: Signal
    ) -> Signal:
        """Kill what runs of stopped launches; return whether the SM gets lost in this cycle."""
        offer = self.offer
        start, lose = Signal(), Signal()
        patience = Signal(range(self._config.kill_timeout + 2))
        unanswered = outstanding & ~acknowledged & (patience == self._config.kill_timeout + 1)
        untaken = offer.valid & ~offer.ready & Mux(offer.payload.place, self.late[1], self.late[0])
        m.d.comb += [
            lose.eq(~self.lost & (unanswered | untaken)),
            start.eq(~self.lost & ~lose & ~outstanding & slots.victims.any()),
            slots.stop_kill.eq(self.stop_kill),
            slots.start.eq(start),
        ]
        m.d.sync += [
            self.kill.valid.eq(start),
            self.kill.mask.eq(Mux(start, slots.victims, 0)),
            outstanding.eq(~lose & (start | (outstanding & ~acknowledged))),
            patience.eq(Mux(start, 0, patience + 1)),
            self.lost.eq(self.lost | lose),
        ]
        return lose

    def _decided(self, place: int) -> Value:
        """Return whether a block of the place is decided for this SM in this cycle."""
        here: Value = self.block.place == place
        return self.placed & here

    def _account(
        self, m: Module, slots: SmSlots, resources: SmResources, lose: Signal
    ) -> None:
        """Charge blocks, return them, wipe what a kill ends."""
        offer = self.offer
        decided, charged = Signal(2), Signal(2)
        m.d.comb += [
            decided.eq(Cat(self._decided(0), self._decided(1))),
            resources.charged.eq(charged),
            self.present.eq((resources.present | charged) & both(~self.lost)),
            self.busy.eq(slots.busy & (~self.lost).replicate(self._config.block_slots)),
            self.freed.eq(Mux(self.lost, 0, slots.freed)),
            slots.returned.eq(self.returned_slots),
        ]
        if self._in_order:
            standing = Cat(~offer.payload.place, offer.payload.place) & both(offer.valid)
            m.d.sync += charged.eq(decided)
            m.d.comb += [
                resources.returned.eq(self.returned),
                # What a lost SM acknowledges does not count.
                self.killed.eq(slots.killed & both(~self.lost)),
                self.struck.eq((slots.present | standing | decided) & both(lose)),
            ]
            return

        # Of a stopped place all blocks that run when the kill starts are named; the one that stands
        # as an offer then is left. The total is wiped one cycle early, so that what is left can be
        # charged anew in the acknowledgement's own cycle.
        killing, ended = Signal(2), Signal(2)
        left, left_place, ends = Signal(), Signal(), Signal()
        left_slot = Signal(self._config.slot_bits)
        stays, stayed = Signal(2), Signal(2)
        m.d.comb += [
            ends.eq(slots.hit & (slots.sent_slot == left_slot)),
            stays.eq(Cat(left & ~left_place, left & left_place) & both(~ends)),
            resources.wipe.eq(killing & both(slots.forgiven)),
            self.killed.eq(ended & resources.more & both(~self.lost)),
            self.struck.eq((resources.remaining | decided) & both(lose)),
            *(resources.expected[p].eq(stayed[p] + self.completed[p]) for p in range(2)),
        ]
        # A launch may end, and its place be another's, before its last kill is acknowledged.
        m.d.sync += [
            killing.eq(self.stop_kill & (killing | both(slots.start))),
            ended.eq(resources.wipe),
            stayed.eq(stays),
            charged.eq(decided | (resources.wipe & stays)),
            resources.returned.eq(
                Cat(slots.hit & ~slots.hit_place, slots.hit & slots.hit_place) & ~resources.wipe
            ),
        ]
        with m.If(slots.start):
            m.d.sync += [
                left.eq(
                    offer.valid
                    & Mux(offer.payload.place, self.stop_kill[1], self.stop_kill[0])
                    & ~(slots.hit & (slots.sent_slot == offer.payload.slot))
                ),
                left_place.eq(offer.payload.place),
                left_slot.eq(offer.payload.slot),
            ]
        with m.Elif(ends):
            m.d.sync += left.eq(0)
