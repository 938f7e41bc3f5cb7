"""Places blocks of a resident launch for each stream, one a cycle, and takes a report a cycle."""

from typing import Any

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch.active_launch import ActiveLaunch
from warploom.dispatch.books import Books
from warploom.dispatch.ends import Ends
from warploom.dispatch.grouped_returns import GroupedReturns
from warploom.dispatch.lost_sms import LostSms
from warploom.dispatch.offers import Offers
from warploom.dispatch.policies import policy_class
from warploom.dispatch.returned_blocks import ReturnedBlocks
from warploom.dispatch.returns import Returns
from warploom.dispatch.scan import Scan
from warploom.dispatch.slot_rows import SlotRows
from warploom.dispatch.stalled import Stalled
from warploom.dispatch.stream_flags import StreamFlags
from warploom.lib.bits import decoded
from warploom.lib.pipes import held
from warploom_spec import RESOURCES, Config, WarploomError, layouts, timing
from warploom_spec.resident_limits import in_groups, no_resident_hardware
from warploom_spec.resident_packets import (
    resident_block,
    resident_end,
    resident_entry_bits,
    resident_start,
)

STALLS = (*RESOURCES, "offer")


class BlockDispatcher(wiring.Component):
    """Place the blocks of one resident launch of each stream, lowest id first, never skipping.

    A start in t gives an offer in t + 9, a report in t an offer in t + 10, on an idle machine; with
    groups of SMs 13 and 17.
    Ports and the exact machine: ``docs/dispatch/block_dispatcher.md``. A stop in the cycle of a
    start does not speak of the launch that starts.

    Parameters
    ----------
    config : Config
        SMs, their resources, policy and reclaim.
    first_number : int, optional
        Number of each launch's first block, for tests of the numbers' wrap.
    late_stalls : bool, optional
        The stall counters start at -1, for tests of their wrap.

    Raises
    ------
    WarploomError
        If `no_resident_hardware` has a reason against the configuration.
    """

    def __init__(self, config: Config, *, first_number: int = 0, late_stalls: bool = False) -> None:
        refused = no_resident_hardware(config)
        if refused:
            raise WarploomError(refused)
        self._config, self._first_number = config, first_number
        self._late_stalls = late_stalls
        streams, sms = 1 << config.stream_bits, config.sms
        ports: dict[str, Any] = {
            # A launch that becomes resident; its stream has none.
            "start": In(stream.Signature(resident_start(config).layout())),
            # Stop by a kill what is resident of these streams; place no block of these.
            "stop": In(streams),
            "hold": In(streams),
            # SMs that may get new blocks.
            "enable": In(sms),
            "clock": In(32),
            # Resets all but `lost`.
            "restart": In(1),
            # A pulse: SM n takes `block`. Both three cycles after the pick.
            "offer": Out(sms),
            "block": Out(resident_block(config).layout()),
            # The block's entry, two cycles before the offer.
            "fetch": Out(resident_entry_bits(config)),
            # A block has ended.
            "report": In(stream.Signature(layouts.block_report(config).layout())).array(sms),
            # Of each stream's launch: it is resident; a block was picked; blocks are left; blocks
            # are out; it waits for the active one; its blocks are to be ended.
            **{
                name: Out(streams)
                for name in ("resident", "begun", "open", "busy", "yields", "kill")
            },
            "no_sm": Out(1),
            # What became of a launch, and its times two and three cycles after the transfer.
            "ended": Out(stream.Signature(resident_end(config).layout())),
            "ended_first": Out(32),
            "ended_cycles": Out(32),
            # SMs that did not report a killed launch's blocks.
            "lost": Out(sms),
            **{f"stall_{name}": Out(timing(config).stall_counter_bits) for name in STALLS},
            "error": Out(layouts.error_record(config).layout()),
            "error_count": Out(timing(config).error_counter_bits),
        }
        if config.has_order_table:
            ports["order_swap"] = In(stream.Signature(layouts.order_swap(config).layout()))
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        policy = policy_class(config)

        def part(name: str, component: Any) -> Any:
            """Add a part that a restart resets."""
            m.submodules[name] = ResetInserter({"sync": self.restart})(component)
            return component

        rows = part("slot_rows", SlotRows(config))
        flags = part("stream_flags", StreamFlags(config))
        active = part("active_launch", ActiveLaunch(config, first_number=self._first_number))
        room = part("room", policy(config))
        grouped = in_groups(config)
        round_known = policy.ROUND_KNOWN[grouped]
        scan = part("scan", Scan(config, rotates=policy.ROTATES, round_known=round_known))
        books = part("books", Books(config))
        returns = part("returns", (GroupedReturns if grouped else Returns)(config))
        returned = part("returned_blocks", ReturnedBlocks(config))
        ends = part("ends", Ends(config))
        offers = part("offers", Offers(config))
        stalled = part("stalled", Stalled(config, STALLS, late=self._late_stalls))
        fully = Signal(init=1)
        m.submodules.lost_sms = lost = LostSms(config)
        with m.If(~rows.booting & ~self.restart):
            m.d.sync += fully.eq(0)

        self._launches(m, rows, flags, active, returned, ends, offers)
        self._placements(m, rows, flags, active, room, scan, books, offers, lost)
        self._reports(m, rows, flags, books, returns, returned, ends, lost, fully)
        self._order(m, rows, flags, active, room, books, returned)
        m.d.comb += [
            stalled.go.eq(room.go),
            stalled.picks.eq(room.picks),
            stalled.lacks.eq(books.lacks),
            *(
                getattr(self, f"stall_{name}").eq(stalled.counters[k])
                for k, name in enumerate(STALLS)
            ),
        ]
        return m

    def _launches(
        self,
        m: Module,
        rows: SlotRows,
        flags: StreamFlags,
        active: ActiveLaunch,
        returned: ReturnedBlocks,
        ends: Ends,
        offers: Offers,
    ) -> None:
        """Connect starts, flags, the active launch and ends."""
        start = self.start
        starts = decoded(
            m, "starts", start.payload.stream, len(self.stop), start.valid & start.ready
        )
        m.d.comb += [
            start.ready.eq(~rows.booting),
            flags.starts.eq(starts),
            flags.stop.eq(self.stop),
            flags.hold.eq(self.hold),
            flags.active.eq(active.active),
            flags.picked.eq(active.picked),
            flags.spent.eq(active.spent),
            *(
                getattr(flags, name).eq(getattr(returned, name))
                for name in ("returned", "emptied", "bad", "faults", "sm_losses")
            ),
            flags.told.eq(ends.told),
            returned.picked.eq(active.picked),
            returned.picked_stream.eq(active.stream),
            active.start.eq(start.payload),
            active.starts.eq(starts),
            active.candidates.eq(flags.candidates),
            active.open.eq(flags.open),
            active.begun.eq(flags.begun),
            *(
                getattr(ends, name).eq(getattr(flags, name))
                for name in ("resident", "alive", "fault", "sm_lost", "all_ok")
            ),
            ends.active.eq(active.active),
            ends.began.eq(offers.began),
            ends.began_stream.eq(offers.block.stream),
            ends.clock.eq(self.clock),
            *(
                getattr(self, name).eq(getattr(flags, name))
                for name in ("resident", "begun", "open", "busy", "kill")
            ),
            self.yields.eq(active.others),
            self.ended_first.eq(ends.ended_first),
            self.ended_cycles.eq(ends.ended_cycles),
        ]
        wiring.connect(m, ends.ended, wiring.flipped(self.ended))

    def _placements(
        self,
        m: Module,
        rows: SlotRows,
        flags: StreamFlags,
        active: ActiveLaunch,
        room: Any,
        scan: Scan,
        books: Books,
        offers: Offers,
        lost: LostSms,
    ) -> None:
        """Connect the pick, the scan, the pipe of placements, and the offers."""
        used = Signal(self._config.sms)
        m.d.sync += used.eq(self.enable & ~self.lost)
        with m.If(self.restart):
            m.d.sync += used.eq(0)
        m.d.comb += [
            room.go.eq(active.may_go & ~scan.share),
            room.known.eq(scan.known),
            room.change.eq(active.change),
            room.used.eq(used),
            active.picks.eq(room.picks),
            scan.change.eq(active.change),
            scan.idle.eq(active.idle),
            scan.picked.eq(active.picked),
            scan.picked_sm.eq(room.picked_sm),
            scan.returns_look.eq(books.returns_look),
            books.picked_sm.eq(room.picked_sm),
            books.picked.eq(active.picked),
            books.scan.eq(scan.sm),
            books.needs.eq(active.needs),
            books.stream.eq(active.stream),
            books.boot.eq(rows.boot),
            books.booting.eq(rows.booting),
            books.row_sm.eq(rows.sm),
            books.row_slot.eq(rows.slot),
            offers.pick.eq(room.pick),
            offers.was_picked.eq(active.picked),
            offers.picked_sm.eq(room.picked_sm),
            offers.picked.eq(active.block),
            offers.first.eq(active.first),
            offers.slot.eq(books.slot),
            self.offer.eq(offers.offer),
            self.block.eq(offers.block),
            self.fetch.eq(offers.fetch),
            self.lost.eq(lost.lost),
            self.no_sm.eq(lost.no_sm),
        ]
        for name in ("placement", "returned"):
            wiring.connect(m, getattr(books, name), getattr(room, name))

    def _reports(
        self,
        m: Module,
        rows: SlotRows,
        flags: StreamFlags,
        books: Books,
        returns: Returns,
        returned: ReturnedBlocks,
        ends: Ends,
        lost: LostSms,
        fully: Signal,
    ) -> None:
        """Connect reports, the pipe of returns, what a return means, and lost SMs."""
        for port, inner in zip(self.report, returns.report, strict=True):
            wiring.connect(m, wiring.flipped(port), inner)
        m.d.comb += [
            returns.boot.eq(rows.booting),
            returns.steal.eq(lost.steal),
            rows.sweeps.eq(lost.steal),
            books.sweeps.eq(lost.steal),
            books.granted.eq(returns.granted),
            books.granted_sm.eq(returns.sm),
            books.body.eq(returns.body),
            books.found.eq(lost.found),
            books.returns_lost.eq(lost.returns_lost),
            books.forgets_lost.eq(fully),
            returned.kill.eq(flags.kill),
            returned.boot.eq(rows.boot),
            returned.boot_stream.eq(rows.stream),
            ends.returned.eq(books.back.returns),
            ends.emptied.eq(returned.emptied),
            ends.emptied_stream.eq(books.back.stream),
            lost.restart.eq(self.restart),
            lost.kill.eq(flags.kill),
            lost.busy.eq(flags.busy),
            lost.turn.eq(ends.turn),
            lost.at_turn.eq(ends.at_turn),
            lost.returned.eq(returned.returned),
            lost.reported.eq(books.back.returns & ~books.back.swept),
            lost.runs.eq(books.back.swept & books.back.runs),
            lost.stream.eq(books.back.stream),
            lost.sm.eq(books.back.sm),
            lost.last_row.eq(lost.steal & rows.last),
            lost.booting.eq(rows.booting),
            self.error.eq(returned.error),
            self.error_count.eq(returned.error_count),
        ]
        wiring.connect(m, books.back, returned.back)

    def _order(
        self,
        m: Module,
        rows: SlotRows,
        flags: StreamFlags,
        active: ActiveLaunch,
        room: Any,
        books: Books,
        returned: ReturnedBlocks,
    ) -> None:
        """Connect what `freed_first` reads; nothing else does."""
        if not self._config.has_order_table:
            m.d.comb += returned.swap_refused.valid.eq(0)
            return
        quiet = held(
            m, "quiet", ~flags.busy.any() & ~active.picked & ~room.picks, clear=self.restart
        )
        m.d.comb += [
            room.freed.eq(books.freed),
            room.freed_sm.eq(books.freed_sm),
            room.quiet.eq(quiet),
            room.boot.eq(rows.boot),
            room.boot_sm.eq(rows.sm),
        ]
        wiring.connect(m, wiring.flipped(self.order_swap), room.swap)
        wiring.connect(m, room.swap_refused, returned.swap_refused)
