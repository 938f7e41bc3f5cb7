"""One SM as the dispatcher sees it: its offer, its reports, its loss."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch.placement import policy_class
from warploom.dispatch.sm.counts import LaunchState, SmCounts, both
from warploom.dispatch.sm.slots import Boot, SmSlots
from warploom_spec import BlockStatus, Config, layouts


class SmEvents(wiring.Signature):
    """Events of SMs for the places, by place.

    Members: ``hits``, a block whose report stood at the port two cycles ago; ``faulty`` and
    ``killed``, whether that was a fault or of a killed block; ``held``, blocks were out in the last
    cycle; ``sm_loss``, the SM was lost three cycles ago, with blocks that nobody reported.
    """

    def __init__(self) -> None:
        names = ("hits", "faulty", "killed", "held", "sm_loss")
        super().__init__({name: Out(2) for name in names})


class SmPort(wiring.Component):
    """Offer blocks to one SM, look its reports up, and say whether it can get the head.

    A decision in d is offered in d + 2. A report at the port in t is looked up in t + 1, counted at
    the end of t + 2, and seen by decisions from t + 4 on. Vectors of 2 bits are indexed by place.

    Parameters
    ----------
    config : Config
        The SM's slots and resources, policy and reclaim.
    persistent_domain : str, optional
        Clock domain of ``lost``.
    preempts : bool, optional
        As for `SmCounts`.
    """

    def __init__(
        self, config: Config, *, persistent_domain: str = "sync", preempts: bool = False
    ) -> None:
        self._config = config
        self._persistent_domain = persistent_domain
        self._preempts = preempts
        block = layouts.block_offer(config).layout()
        extra = {}
        if policy_class(config).READS_LOADS:
            extra = {
                # With a policy that reads loads: warps of one block of each place, of the block
                # decided in the last cycle.
                "warps": In(config.warps_bits).array(2),
                "warps_placed": In(config.warps_bits),
                # With a policy that reads loads: warps of the blocks that the SM holds.
                "load": Out(config.warp_slots.bit_length()),
            }
        super().__init__(
            {
                # The dispatcher's ports of this SM.
                "offer": Out(stream.Signature(block)),
                "report": In(stream.Signature(layouts.block_report(config).layout())),
                "enable": In(1),
                # Reports are ignored while it is active.
                "boot": In(Boot(config)),
                # The head is decided for the SM in this cycle.
                "placed": In(1),
                # The block decided in the last cycle; its slot is not looked at.
                "block": In(block),
                # The signals of the resident launches that are common to all SMs.
                "launches": In(LaunchState(config, preempts)),
                # `in_order`: the oldest block is retired in this cycle; by place, one was in the
                # last.
                "retire": In(1),
                "retired": In(2),
                # The head can be decided for the SM in this cycle; the SM is in use; it is not in
                # use, or has no room. All are registers.
                "eligible": Out(1),
                "in_use": Out(1),
                # The stubs lack `init`.
                "closed": Out(1, init=1),  # type: ignore[call-arg]  # no init in the stubs
                # The SM is lost.
                "lost": Out(1),
                # The SM's reports, and its loss, as events for the places.
                "events": Out(SmEvents()),
                # A block that returned two cycles ago, unless the SM is lost.
                "returned": Out(2),
                # Of a report three cycles ago: not running, killed unasked, from a lost SM.
                "errors": Out(3),
                # `in_order`: the oldest block may be retired.
                "done": Out(1),
                **extra,
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        m.submodules.slots = slots = SmSlots(self._config)
        m.submodules.counts = counts = SmCounts(self._config, preempts=self._preempts)
        placed = Signal(name="placed_before")
        m.d.sync += placed.eq(self.placed)
        self._offer(m, slots, placed)
        self._look_up(m, slots)
        in_order = self._config.reclaim == "in_order"
        returned = Signal(2)
        if in_order:
            m.d.comb += [
                slots.retire.eq(self.retire),
                self.done.eq(slots.done | self.lost),
            ]
            m.d.sync += returned.eq(self.retired)
        else:
            m.d.comb += returned.eq(self.events.hits)
        m.d.comb += self.returned.eq(returned & both(~self.lost))
        m.d.comb += [
            counts.placed.eq(placed),
            counts.returned.eq(returned),
            counts.hits.eq(self.events.hits),
        ]
        wiring.connect(m, wiring.flipped(self.launches), counts.launches)
        self._judge(m, counts, placed)
        if policy_class(self._config).READS_LOADS:
            self._load(m, placed, returned)
        return m

    def _offer(self, m: Module, slots: SmSlots, placed: Signal) -> None:
        """Offer the block that was decided in the last cycle; then wait until it is taken."""
        offer = self.offer
        # Of a layout's signal the stubs do not know that it is a view.
        offered: Any = Signal(offer.payload.shape(), reset_less=True)
        toggle = Signal(name="offered_toggle", reset_less=True)
        with m.If(placed):
            m.d.sync += [
                offered[name].eq(self.block[name])
                for name in offer.payload.shape().members
                if name != "slot"
            ]
            m.d.sync += [
                offered.slot.eq(slots.front.slot),
                toggle.eq(slots.front.toggle),
                offer.valid.eq(1),
            ]
        with m.Elif(offer.ready):
            m.d.sync += offer.valid.eq(0)
        m.d.comb += [
            offer.payload.eq(offered),
            slots.pop.eq(placed),
            slots.taken.valid.eq(offer.valid & offer.ready),
            slots.taken.slot.eq(offered.slot),
            slots.taken.toggle.eq(toggle),
            slots.taken.place.eq(offered.place),
        ]

    def _look_up(self, m: Module, slots: SmSlots) -> None:
        """Register a report, look its slot up, and classify the report."""
        report, boot, events = self.report, self.boot, self.events
        kill = self.launches.kill_before
        sent = Signal()
        status = Signal(len(report.payload.status), reset_less=True)
        hit = Signal()
        killed = Signal()
        asked = Signal()
        faulty = Signal(reset_less=True)
        was_killed = Signal(reset_less=True)
        m.d.comb += [
            report.ready.eq(1),
            slots.entered.eq(boot.entered),
            slots.slot.eq(Mux(boot.active, boot.slot, report.payload.slot)),
            hit.eq(sent & ~self.lost & slots.runs),
            slots.hit.eq(hit),
            killed.eq(status == int(BlockStatus.KILLED)),
            asked.eq(Mux(slots.place, kill[1], kill[0])),
            # Joined behind the register: `hit` comes late.
            events.faulty.eq(events.hits & both(faulty)),
            events.killed.eq(events.hits & both(was_killed)),
        ]
        ended = Cat(hit & ~slots.place, hit & slots.place)
        m.d.sync += [
            sent.eq(report.valid & ~boot.active),
            status.eq(report.payload.status),
            events.hits.eq(ended),
            faulty.eq(status[0] | (killed & ~asked)),
            was_killed.eq(killed),
            self.errors.eq(
                Cat(
                    sent & ~self.lost & ~slots.runs,
                    hit & killed & ~asked,
                    sent & self.lost,
                )
            ),
        ]

    def _judge(self, m: Module, counts: SmCounts, placed: Signal) -> None:
        """Mark the SM lost when it is late; judge whether it can get the head."""
        lose = Signal()
        used = Signal()
        left_standing = Signal()
        lost_1 = Signal()
        lost_2 = Signal()
        m.d.comb += [
            lose.eq((self.launches.late & counts.out).any()),
            used.eq(self.enable & ~self.lost & ~lose),
            left_standing.eq(self.offer.valid & ~self.offer.ready),
        ]
        m.d[self._persistent_domain] += [
            self.lost.eq(self.lost | lose),
            lost_1.eq(self.lost),
            lost_2.eq(lost_1),
        ]
        m.d.sync += [
            self.in_use.eq(used),
            self.closed.eq(~used | counts.full),
            # `placed` comes late: the policy chooses among eligible SMs.
            self.eligible.eq(used & ~counts.full & ~placed & ~left_standing & ~self.placed),
            self.events.held.eq(counts.held & both(~lost_2)),
            self.events.sm_loss.eq(counts.out & both(lost_1 & ~lost_2)),
        ]

    def _load(self, m: Module, placed: Signal, returned: Signal) -> None:
        """Add up the warps of the SM's blocks."""
        back = Signal(2, name="returned_before")
        given = Mux(back[1], self.warps[1], Mux(back[0], self.warps[0], 0))
        m.d.sync += [
            back.eq(returned),
            self.load.eq(self.load + Mux(placed, self.warps_placed, 0) - given),
        ]
