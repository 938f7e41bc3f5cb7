"""What each SM has taken and was given back, its free slots, and who runs in each slot."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch._retirement import Retirement
from warploom.dispatch.amounts import Amounts
from warploom.dispatch.room import Verdict
from warploom.lib.bits import decoded, number_of
from warploom.lib.pipes import Pipe, held
from warploom.lib.rows import Rows
from warploom_spec import Config, layouts

#: Stages of the pipe of placements, from the pick's cycle (0).
_LOOK, _TAKE, _OFFER, _LAND = 1, 2, 3, 4


class BookedReturn(wiring.Signature):
    """What the books say of a report, a swept row, or neither, in the cycle of their writing.

    Members: ``sm``, ``stream``; ``reported``: a report is there (of an SM that is not lost:
    ``counts``), ``swept``: a sweep's row is; ``runs``: a block runs in the slot; ``returns``: it
    returns now; ``lost``: its SM was lost; ``status``: the report's.
    """

    def __init__(self, config: Config) -> None:
        names = ("reported", "swept", "runs", "returns", "lost")
        super().__init__(
            {
                "sm": Out(config.sm_bits),
                "stream": Out(config.stream_bits),
                **{name: Out(1) for name in names},
                "status": Out(layouts.STATUS_BITS),
            }
        )


class Books(wiring.Component):
    """Two pipes over the SMs' books: one of placements, one of returns, a block each in a cycle.

    Each pipe writes its own book, reads the other's one cycle later, and gives a verdict on the
    SM's room. In a cycle without a placement, or a return, a pipe looks at the scan's SM. Rules 2,
    21, 22, 26 and the part ``in_order`` of ``docs/dispatch/resident_dispatcher.md``.

    Parameters
    ----------
    config : Config
        The SMs, their resources, and ``reclaim``.
    """

    pick: Signal
    picked: Signal
    scan: Signal
    needs: Signal
    stream: Signal
    boot: Signal
    booting: Signal
    row_sm: Signal
    row_slot: Signal
    sweeps: Signal
    granted: Signal
    granted_sm: Signal
    body: "data.View[data.StructLayout]"
    found: Signal
    returns_lost: Signal
    forgets_lost: Signal
    picked_sm: Signal
    slot: Signal
    placement: Any
    returned: Any
    returns_look: Signal
    lacks: Signal
    back: Any
    freed: Signal
    freed_sm: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        self._amounts = Amounts(config)
        # The row of a slot that is written in this cycle, if one is.
        self._entered = Signal(name="entered")
        self._entered_row = Signal(config.sm_bits + config.slot_bits, name="entered_row")
        super().__init__(
            {
                # The picked SM (one-hot), in the pick's cycle; one was picked in the cycle before.
                "pick": In(config.sms),
                "picked": In(1),
                # The SM that idle pipes look at.
                "scan": In(config.sm_bits),
                # What a block of the active launch takes, and its stream.
                "needs": In(self._amounts.bits),
                "stream": In(config.stream_bits),
                # The boot, or a sweep, takes this row in this cycle.
                "boot": In(1),
                "booting": In(1),
                "row_sm": In(config.sm_bits),
                "row_slot": In(config.slot_bits),
                "sweeps": In(1),
                # A report is granted in this cycle.
                "granted": In(1),
                "granted_sm": In(config.sm_bits),
                "body": In(layouts.block_report(config).layout()),
                # At the books: the row's SM is found lost; the row is one whose block returns if
                # its SM is lost; the boot forgets lost SMs.
                "found": In(1),
                "returns_lost": In(1),
                "forgets_lost": In(1),
                # In the cycle after a pick: the SM's number.
                "picked_sm": Out(config.sm_bits),
                # Three cycles after a pick: the block's slot. A register.
                "slot": Out(config.slot_bits),
                # Verdicts that land.
                "placement": Out(Verdict(config)),
                "returned": Out(Verdict(config)),
                # The pipe of returns looks at the scan's SM in this cycle.
                "returns_look": Out(1),
                # Which resources lack on the SM that the pipe of placements judges.
                "lacks": Out(len(self._amounts.names)),
                # What the books say in the cycle of their writing.
                "back": Out(BookedReturn(config)),
                # A slot of this SM came back two cycles ago, by a report.
                "freed": Out(1),
                "freed_sm": Out(config.sm_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config, amounts = self._config, self._amounts
        depth, slots = 1 << config.sm_bits, 1 << config.sm_bits + config.slot_bits
        taken, given = (Rows(m, name, amounts.bits, depth) for name in ("taken", "given"))
        heads, tails = (Rows(m, name, config.slot_bits, depth) for name in ("heads", "tails"))
        free = Rows(m, "free_slots", config.slot_bits + 1, slots, block=True)
        retires = Retirement(m, config, amounts) if config.reclaim == "in_order" else None
        kept = retires.place_bits if retires else amounts.bits
        running = Rows(m, "running", 1 + config.stream_bits + kept, slots, block=True)
        done = Rows(m, "done", 1, slots, block=True)
        self._place(m, (taken, given, heads, free, running), retires)
        self._return(m, (taken, given, tails, free, running, done), retires)
        return m

    # --- placements --------------------------------------------------------------------------
    def _place(self, m: Module, rows: tuple[Rows, ...], retires: "Retirement | None") -> None:
        """Take a slot and what a block needs; judge the SM again."""
        config, amounts = self._config, self._amounts
        taken, given, heads, free, running = rows
        chosen = held(m, "chosen", self.pick, clear=self.booting)
        sm_bits = config.sm_bits
        m.d.comb += self.picked_sm.eq(number_of(chosen) if config.sms > 1 else 0)
        looked = Signal(sm_bits)
        idle_sm = Mux(self.boot, self.row_sm, self.scan)
        m.d.comb += looked.eq(self.picked_sm | (idle_sm & (~self.picked).replicate(sm_bits)))
        sm = Pipe(m, "place_sm", looked, _LOOK, _LAND)
        picked = Pipe(m, "place_picked", self.picked, _LOOK, _LAND, keeps=False)
        boot = Pipe(m, "place_boot", self.boot, _LOOK, _TAKE)
        needs = Pipe(m, "place_needs", self.needs, _LOOK, _OFFER)
        stream = Pipe(m, "place_stream", self.stream, _LOOK, _OFFER)
        # Of an SM that was picked in the cycle before, the book is written in this cycle.
        counts = Signal()
        m.d.comb += counts.eq(
            self.picked | (~self.boot & ~(picked[_TAKE] & (sm[_TAKE] == self.scan)))
        )
        judged = Pipe(m, "place_judged", counts, _LOOK, _OFFER, keeps=False)
        head = heads.now(looked)
        was_head = held(m, "head", head, clear=self.boot, init=(1 << config.slot_bits) - 1)
        was_taken = held(m, "was_taken", taken.now(looked), clear=self.boot)
        added = held(m, "added", self.needs, clear=~self.picked)
        total = Signal(amounts.bits)
        m.d.comb += total.eq(amounts.sum(was_taken, added))
        writes = picked[_TAKE] | boot[_TAKE]
        heads.write(writes, sm[_TAKE], (was_head + 1)[: config.slot_bits])
        taken.write(writes, sm[_TAKE], total)
        placed = held(m, "placed", total)
        spare = held(m, "place_spare", amounts.difference(given.now(sm[_OFFER]), placed))
        enough = Signal(len(amounts.names), attrs={"keep": 1})
        slot = free.later(Cat(head, self.picked_sm))
        toggle = held(m, "toggle", slot[config.slot_bits])
        m.d.sync += self.slot.eq(slot[: config.slot_bits])
        row = Cat(self.slot, sm[_OFFER])
        if retires:
            retires.enter(picked[_OFFER], row, toggle, needs[_OFFER])
        kept = retires.place if retires else needs[_OFFER]
        running.write(picked[_OFFER], row, Cat(toggle, stream[_OFFER], kept))
        m.d.comb += [self._entered.eq(picked[_OFFER]), self._entered_row.eq(row)]
        land = decoded(m, "place_land", sm[_OFFER], config.sms, judged[_OFFER])
        m.d.comb += [
            enough.eq(amounts.enough(spare, self.needs)),
            self.lacks.eq(~enough),
            self.placement.sm.eq(held(m, "place_lands", land, clear=self.booting)),
            self.placement.fits.eq(enough.all()),
            self.placement.own.eq(picked[_LAND]),
            self.placement.warps.eq(data.View(amounts.layout, spare).warps),
        ]

    # --- returns -----------------------------------------------------------------------------
    def _return(self, m: Module, rows: tuple[Rows, ...], retires: "Retirement | None") -> None:
        """Give back a slot and what a block took; judge the SM again. Stages from a report's 0."""
        config, amounts = self._config, self._amounts
        taken, given, tails, free, running, done = rows
        sm_bits, slot_bits, stream_bits = config.sm_bits, config.slot_bits, config.stream_bits
        row_taken = self.boot | self.sweeps
        sm_in = self.granted_sm | (self.row_sm & row_taken.replicate(sm_bits))
        slot_in = self.body.slot | (self.row_slot & row_taken.replicate(slot_bits))
        sm, slot = Pipe(m, "back_sm", sm_in, 1, 4), Pipe(m, "back_slot", slot_in, 1, 4)
        status = Pipe(m, "back_status", self.body.status, 1, 4)
        reported = Pipe(m, "reported", self.granted & ~self.boot, 1, 4, keeps=False)
        swept = Pipe(m, "swept", row_taken, 1, 4, keeps=False)
        boot = Pipe(m, "back_boot", self.boot, 1, 4, keeps=False)
        row = Cat(slot[2], sm[2])
        runs_row = running.later(row)
        toggle, of_stream = (
            held(m, "toggle_4", runs_row[0]),
            held(m, "stream_4", runs_row[1 : 1 + stream_bits]),
        )
        kept = runs_row[1 + stream_bits :]
        # What is read in the cycle of its writing means nothing.
        entering = held(m, "entering_3", self._entered & (self._entered_row == row))
        runs_not = held(m, "entering_4", entering)
        was_done = held(m, "done_4", done.later(row))
        gone = Rows(m, "lost_sms", 1, 1 << sm_bits)
        lost = held(m, "lost_4", gone.now(sm[3]))
        gone.write((boot[4] & self.forgets_lost) | self.found, sm[4], self.found)
        runs = Signal()
        returns = Signal()
        m.d.comb += [
            runs.eq((toggle ^ was_done) & ~runs_not),
            returns.eq(
                runs & ~boot[4] & ((reported[4] & ~lost) | (swept[4] & self.returns_lost & lost))
            ),
            self.back.sm.eq(sm[4]),
            self.back.stream.eq(of_stream),
            self.back.reported.eq(reported[4]),
            self.back.swept.eq(swept[4] & ~boot[4]),
            self.back.runs.eq(runs),
            self.back.returns.eq(returns),
            self.back.lost.eq(lost),
            self.back.status.eq(status[4]),
        ]
        done.write(boot[4] | returns, Cat(slot[4], sm[4]), toggle)
        # What is given back: at once, or when it is retired.
        if retires:
            at = held(m, "place_4", kept)
            retires.report(boot[4], returns, at)
            judged = retires.look()
            m.d.comb += self.returns_look.eq(~judged.valid & ~boot[3])
            book_sm = Mux(boot[3], sm[3], Mux(judged.valid, judged.sm, self.scan))
            comes = judged.needs, ~judged.valid
            freed = judged.retired
            from_slot = Mux(boot[3], slot[3], judged.slot)
            from_toggle = Mux(boot[3], runs_row[0], judged.toggle)
        else:
            m.d.comb += self.returns_look.eq(~(reported[3] | swept[3]))
            book_sm = Mux(self.returns_look, self.scan, sm[3])
            comes = kept, self.returns_look | boot[3]
            freed = returns
            from_slot, from_toggle = slot[3], runs_row[0]
        number = held(m, "book_sm", book_sm)
        needs = held(m, "back_needs", comes[0], clear=comes[1])
        was_given = held(m, "was_given", given.now(book_sm), clear=boot[3], init=amounts.all_number)
        full = (1 << slot_bits) - 1
        was_tail = held(
            m, "tail", tails.now(book_sm), clear=boot[3], init=(config.block_slots - 1) & full
        )
        from_slot, from_toggle = (
            held(m, "from_slot", from_slot),
            held(m, "from_toggle", from_toggle),
        )
        writes = boot[4] | freed
        total = Signal(amounts.bits)
        m.d.comb += total.eq(amounts.sum(was_given, needs))
        given.write(writes, number, total)
        tails.write(writes, number, (was_tail + 1)[:slot_bits])
        place = Cat(Mux(boot[4], from_slot, was_tail), number)
        free.write(writes, place, Cat(from_slot, ~from_toggle))
        self._judge_return(
            m, taken, total, number, freed, held(m, "looked", self.returns_look), swept[4]
        )

    def _judge_return(
        self,
        m: Module,
        taken: Rows,
        total: Value,
        number: Value,
        freed: Value,
        looked: Value,
        swept: Value,
    ) -> None:
        """Judge the SM of a return or a look: what it took is read a cycle after the writing."""
        config, amounts = self._config, self._amounts
        given, sm = held(m, "given_back", total), Pipe(m, "judged_sm", number, 4, 6)
        own = Pipe(m, "gives", freed, 4, 6, keeps=False)
        judged = held(m, "return_judged", freed | looked, clear=self.booting)
        spare = held(m, "return_spare", amounts.difference(given, taken.now(sm[5])))
        enough = Signal(len(amounts.names), attrs={"keep": 1})
        land = decoded(m, "return_land", sm[5], config.sms, judged)
        by_report = freed if config.reclaim == "in_order" else freed & ~swept
        m.d.comb += [
            enough.eq(amounts.enough(spare, self.needs)),
            self.returned.sm.eq(held(m, "return_lands", land, clear=self.booting)),
            self.returned.fits.eq(enough.all()),
            self.returned.own.eq(own[6]),
            self.returned.warps.eq(data.View(amounts.layout, spare).warps),
            self.freed.eq(Pipe(m, "freed", by_report, 4, 6, keeps=False)[6]),
            self.freed_sm.eq(sm[6]),
        ]
