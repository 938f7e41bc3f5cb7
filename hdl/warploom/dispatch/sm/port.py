"""One SM as the dispatcher sees it: its offer, what it sends, its kill, its loss."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch._fit_table import fit_news
from warploom.dispatch.sm.counts import SmCounts, both
from warploom.dispatch.sm.load import SmLoad
from warploom.dispatch.sm.slots import SmSlots
from warploom.lib.timers import timer
from warploom_spec import Config, layouts


def most_returned(config: Config) -> int:
    """Return how many blocks of one SM may return their resources in one cycle, but by a kill."""
    return config.retire_width if config.reclaim == "in_order" else 1


class SmPort(wiring.Component):
    """Serve one SM's port and keep its slots and resources.

    What the SM sends is registered, looked up in the cycle after, and processed in the next.

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
    head_first : In(1)
        The head is a block of place 0.
    block : In(block_offer)
        The head as an offer; ``slot`` is not used.
    fit : In
        See `SmCounts`.
    warps : In(array of 2)
        ``least_loaded``: warps of a block of each place.
    stop_kill, late : In(2)
        Places with stop = kill; those whose untaken offers make an SM lost in this cycle.
    hides : In(1)
        A launch is being killed, here or on another SM.
    ending, returned_slots : In
        ``in_order``: blocks that are returned at the end of the next cycle, by place; slots that
        are returned at the end of this one.
    eligible : Out(1)
        The head may be decided for this SM. Depends on ``offer.ready`` (combinational).
    in_use, open, room : Out(1)
        The SM may get new blocks; its offer port is free; it is in use and has room for the head.
    full : Out(1), lacks : Out(5)
        Slots, warps, registers, shared units, barriers that do not suffice for the head; if
        ``full`` those too that it lacks on an SM that holds blocks of its launch alone.
    lowest : Out
        The slot that the head would get.
    load : Out
        ``least_loaded``: warps in use after this cycle, the block decided in it not counted.
    lost : Out(1)
        The SM is lost.
    completed, faulty, killed, struck : Out(2)
        By place, in this cycle: a block's completion, one with a code, an acknowledgement that
        really kills a block, a loss that strikes it, but for a block that is decided now.
    struck_head : Out(1)
        A loss struck the block that was decided in the last cycle. A register.
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
    head_first: Signal
    block: data.View
    fit: data.View
    warps: "list[Signal]"
    stop_kill: Signal
    late: Signal
    hides: Signal
    ending: data.View
    returned_slots: Signal
    eligible: Signal
    in_use: Signal
    open: Signal
    room: Signal
    full: Signal
    lacks: Signal
    lowest: Signal
    load: Signal
    lost: Signal
    completed: Signal
    faulty: Signal
    killed: Signal
    struck: Signal
    struck_head: Signal
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
                "head_first": In(1),
                "block": In(block),
                "fit": In(fit_news(config)),
                "warps": In(config.warps_bits).array(2),
                "stop_kill": In(2),
                "late": In(2),
                "hides": In(1),
                "ending": In(data.ArrayLayout(most.bit_length(), 2)),
                "returned_slots": In(config.block_slots),
                "eligible": Out(1),
                "in_use": Out(1),
                "open": Out(1),
                "room": Out(1),
                "full": Out(1),
                "lacks": Out(5),
                "lowest": Out(config.slot_bits),
                "load": Out(config.warp_slots.bit_length()),
                "lost": Out(1),
                "completed": Out(2),
                "faulty": Out(2),
                "killed": Out(2),
                "struck": Out(2),
                "struck_head": Out(1),
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
        m.submodules.counts = counts = SmCounts(self._config, most_returned(self._config))
        outstanding, answered, lose = Signal(), Signal(), Signal()
        self._offer(m, slots, counts, outstanding, lose)
        self._sent(m, slots, outstanding, answered)
        killing = self._kill(m, slots, counts, outstanding, lose)
        self._account(m, slots, counts)
        if self._in_order:
            self._in_order_account(m, slots, counts, lose)
        else:
            self._out_of_order_account(m, slots, counts, lose, killing & both(answered))
        if self._config.policy == "least_loaded":
            self._weigh(m, counts)
        return m

    def _offer(
        self, m: Module, slots: SmSlots, counts: SmCounts, outstanding: Signal, lose: Signal
    ) -> None:
        """Register what is decided; tell whether the head may be."""
        offer = self.offer
        used, usable = Signal(), Signal(2)
        # The same as ~offer.valid, apart from what the offer's many enables wait for.
        vacant = Signal(init=1)
        # Where a launch is being killed a free slot is seen a cycle later; else counts tell.
        hides, hidden = Signal(), Signal()
        m.d.comb += [
            self.open.eq(~offer.valid | offer.ready),
            used.eq(self.enable & ~self.lost & ~lose),
            self.room.eq(Mux(self.head_first, usable[0], usable[1])),
            hides.eq(self.hides | outstanding),
            self.eligible.eq(self.room & (vacant | offer.ready)),
            self.full.eq(counts.alone),
            counts.placed.eq(self.placed),
            counts.head_place.eq(self.block.place),
            self.lacks.eq(Cat(hidden | ~slots.some, counts.lacks)),
            self.lowest.eq(slots.lowest),
            slots.placed.eq(self.placed),
            slots.head_place.eq(self.block.place),
            slots.open.eq(self.open),
            slots.taken.eq(offer.valid & offer.ready),
            slots.offer_place.eq(offer.payload.place),
            counts.news.eq(self.fit),
        ]
        m.d.sync += self.in_use.eq(used)
        # Either case of the decision is known before it.
        given = counts.fits_placed & both(~hides)
        kept = counts.fits_else & both(~hides | slots.some)
        m.d.sync += [
            usable.eq(Mux(self.placed, given, kept)),
            hidden.eq(hides & (self.placed | ~slots.some)),
        ]
        with m.If(~used):
            m.d.sync += usable.eq(0)
        slot: Value = slots.lowest
        if self._fault == "wrong_slot":
            slot = Mux(slot == 2, 3, slot)
        # Whether the head is placed is known late; what stands without it means nothing.
        with m.If(self.open):
            m.d.sync += [
                field.eq(slot if name == "slot" else self.block[name])
                for name, field in ((n, offer.payload[n]) for n in offer.payload.shape().members)
            ]
            m.d.sync += [offer.valid.eq(self.placed), vacant.eq(~self.placed)]

    def _sent(self, m: Module, slots: SmSlots, outstanding: Signal, answered: Signal) -> None:
        """Register what the SM sends, look it up in the cycle after, judge it in the next."""
        faulty = Signal()
        missed, unasked, foreign, sent = Signal(), Signal(), Signal(), Signal()
        m.d.comb += self.completion.ready.eq(1)
        sending, what = self.completion.valid, self.completion.payload
        for stage in ["looked_up", *(["late"] if self._fault == "late_return" else [])]:
            valid, kept = Signal(name=f"{stage}_valid"), Signal.like(what, name=stage)
            m.d.sync += [valid.eq(sending), kept.eq(what)]
            sending, what = valid, kept
        answers, answer = Signal(), Signal.like(self.acknowledge.mask, name="answer")
        ended = slots.acknowledged
        m.d.comb += [slots.sent.eq(sending), slots.sent_slot.eq(what.slot)]
        # What was sent before the pulse stood at the port is no answer to it. On an SM that gets
        # lost now it does not matter.
        m.d.comb += answered.eq(answers & outstanding & ~ended & ~self.kill.valid)
        m.d.sync += [
            missed.eq(sending & ~slots.coming.any()),
            unasked.eq(answers & ~answered),
            foreign.eq(answered & (answer & ~slots.named).any()),
            sent.eq(sending | answers),
            faulty.eq(what.code.any()),
            answers.eq(self.acknowledge.valid),
            answer.eq(self.acknowledge.mask),
            ended.eq(answered),
        ]
        live = ~self.lost
        m.d.comb += [
            self.errors.eq(Cat(missed & live, unasked & live, foreign & live, sent & self.lost)),
            self.completed.eq(slots.hit & both(live)),
            self.faulty.eq(self.completed & both(faulty)),
        ]

    def _kill(
        self, m: Module, slots: SmSlots, counts: SmCounts, outstanding: Signal, lose: Signal
    ) -> Signal:
        """Kill what runs of stopped launches; see whether the SM gets lost in this cycle.

        Returns the places whose blocks end with the acknowledgement.
        """
        offer, acknowledged = self.offer, slots.acknowledged
        start, doomed = Signal(), Signal(2)
        over = timer(m, "patience", self._config.kill_timeout + 2, start)
        unanswered = outstanding & ~acknowledged & over
        untaken = offer.valid & ~offer.ready & Mux(offer.payload.place, self.late[1], self.late[0])
        # Where an offer stands untaken nothing is placed.
        m.d.sync += self.struck_head.eq(self.placed & ~self.lost & unanswered)
        m.d.comb += [
            lose.eq(~self.lost & (unanswered | untaken)),
            start.eq(~self.lost & ~lose & ~outstanding & slots.victims.any()),
            slots.stop_kill.eq(doomed),
            slots.start.eq(start),
            self.kill.mask.eq(slots.mask),
        ]
        m.d.sync += [
            # What all SMs hear of a stop stands beside each one's slots.
            doomed.eq(self.stop_kill & self.present),
            self.kill.valid.eq(start),
            outstanding.eq(~lose & (start | (outstanding & ~acknowledged))),
            self.lost.eq(self.lost | lose),
        ]
        return self._name(m, slots, counts, doomed)

    def _name(self, m: Module, slots: SmSlots, counts: SmCounts, doomed: Signal) -> Signal:
        """Keep what a kill names, by count: all blocks of a place but one that is left.

        Of a doomed place all blocks that run when the kill starts are named; the one that stands as
        an offer then is left.
        """
        offer, hit = self.offer, slots.hit
        killing = Signal(2)
        left, left_place, ends = Signal(), Signal(), Signal()
        left_slot = Signal(self._config.slot_bits)
        own = Cat(~left_place, left_place)
        spared = left & counts.ends
        m.d.comb += [
            ends.eq(hit.any() & (slots.slot == left_slot)),
            counts.left.eq(own & both(left & ~ends)),
            counts.ends.eq(slots.sent_slot == left_slot),
            slots.wiped.eq(killing & both(slots.acknowledged & ~spared)),
        ]
        # A launch may end, and its place be another's, before its last kill is acknowledged.
        m.d.sync += killing.eq(self.stop_kill & (killing | (doomed & both(slots.start))))
        with m.If(slots.start):
            m.d.sync += [
                left.eq(offer.valid & Mux(offer.payload.place, doomed[1], doomed[0])),
                left_place.eq(offer.payload.place),
                left_slot.eq(offer.payload.slot),
            ]
        with m.Elif(ends):
            m.d.sync += left.eq(0)
        return killing

    def _account(self, m: Module, slots: SmSlots, counts: SmCounts) -> None:
        """Tell of the blocks here."""
        m.d.comb += [
            self.present.eq(counts.some & both(~self.lost)),
            self.busy.eq(slots.busy & (~self.lost).replicate(self._config.block_slots)),
            self.freed.eq(Mux(self.lost, 0, slots.freed)),
        ]

    def _in_order_account(self, m: Module, slots: SmSlots, counts: SmCounts, lose: Signal) -> None:
        """Return blocks as the queue retires them; see by slot what is killed."""
        standing = Cat(~self.offer.payload.place, self.offer.payload.place)
        m.d.comb += [
            slots.returned.eq(self.returned_slots),
            counts.ending.eq(self.ending),
            self.killed.eq(slots.killed & both(~self.lost)),
            self.struck.eq((slots.present | (standing & both(self.offer.valid))) & both(lose)),
        ]

    def _out_of_order_account(
        self, m: Module, slots: SmSlots, counts: SmCounts, lose: Signal, wiped: Value
    ) -> None:
        """Return blocks as they complete, and all that a kill names at its acknowledgement."""
        m.d.comb += [
            # In the next cycle.
            counts.ending.eq(slots.coming),
            counts.wipe.eq(wiped),
            self.killed.eq(counts.killed & both(~self.lost)),
            self.struck.eq(counts.remaining & both(lose)),
        ]

    def _weigh(self, m: Module, counts: SmCounts) -> None:
        """Keep the warps in use."""
        m.submodules.weight = weight = SmLoad(self._config, most_returned(self._config))
        m.d.comb += [
            weight.placed.eq(self.placed),
            weight.head_place.eq(self.block.place),
            weight.ending.eq(counts.ending),
            weight.wipe.eq(counts.wipe),
            weight.stays.eq(counts.stays),
            *(weight.warps[p].eq(self.warps[p]) for p in range(2)),
            self.load.eq(weight.load),
        ]
