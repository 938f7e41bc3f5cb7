"""What each SM has taken and was given back, its free slots, and who runs in each slot."""

from typing import Any, Final, NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch._retirement import Retirement
from warploom.dispatch.amounts import Amounts
from warploom.dispatch.room import Verdict
from warploom.lib.bits import decoded
from warploom.lib.pipes import Pipe, decoded_later, held
from warploom.lib.rows import Rows
from warploom_spec import Config, layouts
from warploom_spec.resident_limits import in_groups


class _Stages(NamedTuple):
    """Stages of the pipes, from a pick's cycle (0), and from a report's at its port, held at once.

    Placements: ``take``: their book is written; ``offer``; ``weigh``: what is free stands beside
    what is needed; ``land``. Returns: ``find``: the book is read; ``judge``: what is free stands
    beside what is needed; ``tell``: the verdict lands. A return's book is written in stage 4.
    """

    take: int
    offer: int
    weigh: int
    land: int
    find: int
    judge: int
    tell: int


_FLAT: Final = _Stages(take=2, offer=3, weigh=4, land=4, find=3, judge=6, tell=6)
#: Books in block memory: a read takes a cycle more, and so does each of the long steps.
_GROUPED: Final = _Stages(take=3, offer=5, weigh=7, land=8, find=2, judge=8, tell=9)
_LOOK: Final = 1
_BOOK: Final = 4


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
    21, 22, 26, 35 and the part ``in_order`` of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        The SMs, their resources, and ``reclaim``.
    """

    picked: Signal
    picked_sm: Signal
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
        self._grouped = in_groups(config)
        self._stages = _GROUPED if self._grouped else _FLAT
        # `given` of this SM is written in this cycle.
        self._gives = Signal(name="gives")
        self._gives_sm = Signal(config.sm_bits, name="gives_sm")
        # The row of a slot that is written in this cycle, if one is.
        self._entered = Signal(name="entered")
        self._entered_row = Signal(config.sm_bits + config.slot_bits, name="entered_row")
        super().__init__(
            {
                # An SM was picked in the cycle before; its number, else 0.
                "picked": In(1),
                "picked_sm": In(config.sm_bits),
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
                # In the offer's cycle: the block's slot. A register.
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
                # A slot of this SM came back by a report: its verdict lands.
                "freed": Out(1),
                "freed_sm": Out(config.sm_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config, amounts = self._config, self._amounts
        depth, slots = 1 << config.sm_bits, 1 << config.sm_bits + config.slot_bits
        taken, given, heads, tails = (
            Rows(m, name, bits, depth, block=self._grouped)
            for name, bits in (
                ("taken", amounts.bits),
                ("given", amounts.bits),
                ("heads", config.slot_bits),
                ("tails", config.slot_bits),
            )
        )
        free = Rows(m, "free_slots", config.slot_bits + 1, slots, block=True)
        retires = Retirement(m, config, amounts) if config.reclaim == "in_order" else None
        kept = retires.place_bits if retires else amounts.bits
        running = Rows(m, "running", 1 + config.stream_bits + kept, slots, block=True)
        done = Rows(m, "done", 1, slots, block=True)
        self._place(m, (taken, given, heads, free, running), retires)
        self._return(m, (taken, given, tails, free, running, done), retires)
        return m

    def _read(
        self, m: Module, name: str, rows: Rows, row: Value, clear: Value, init: int
    ) -> Signal:
        """Return a row one cycle later, two in groups; ``init`` where ``clear`` was 1 last."""
        word = rows.later(row) if self._grouped else rows.now(row)
        return held(m, name, word, clear=clear, init=init)

    def _second_book(self, m: Module, name: str, rows: Rows, row: Value) -> Value:
        """Return a row at once, two cycles later in groups."""
        return held(m, name, rows.later(row)) if self._grouped else rows.now(row)

    def _met(self, row: Value) -> Value:
        """Return whether a read of `given` in this cycle means nothing: its row is written."""
        return self._gives & (self._gives_sm == row) if self._grouped else C(0, 1)

    def _landing(self, m: Module, name: str, number: Value, judged: Value) -> Value:
        """Return the judged SM in the next cycle, one-hot."""
        sms, clear = self._config.sms, self.booting
        if self._grouped:
            return decoded_later(m, name, number, sms, judged, clear=clear)
        return held(m, f"{name}s", decoded(m, name, number, sms, judged), clear=clear)

    # --- placements --------------------------------------------------------------------------
    def _place(self, m: Module, rows: tuple[Rows, ...], retires: "Retirement | None") -> None:
        """Take a slot and what a block needs; judge the SM again."""
        config, amounts, at = self._config, self._amounts, self._stages
        taken, given, heads, free, running = rows
        sm_bits = config.sm_bits
        looked = Signal(sm_bits)
        idle_sm = Mux(self.boot, self.row_sm, self.scan)
        m.d.comb += looked.eq(self.picked_sm | (idle_sm & (~self.picked).replicate(sm_bits)))
        sm = Pipe(m, "place_sm", looked, _LOOK, at.land)
        picked = Pipe(m, "place_picked", self.picked, _LOOK, at.land, keeps=False)
        boot = Pipe(m, "place_boot", self.boot, _LOOK, at.take)
        needs = Pipe(m, "place_needs", self.needs, _LOOK, at.offer)
        stream = Pipe(m, "place_stream", self.stream, _LOOK, at.offer)
        # Of an SM that was picked so late, the book is not written yet.
        unseen = [picked[k] & (sm[k] == self.scan) for k in range(2, at.take + 1)]
        counts = Signal()
        m.d.comb += counts.eq(self.picked | (~self.boot & ~Cat(*unseen).any()))
        judged = Pipe(m, "place_judged", counts, _LOOK, at.weigh, keeps=False)
        boots = boot[at.take - 1]
        last = (1 << config.slot_bits) - 1
        was_head = self._read(m, "head", heads, looked, boots, last)
        was_taken = self._read(m, "was_taken", taken, looked, boots, 0)
        added = held(m, "added", needs[at.take - 1], clear=~picked[at.take - 1])
        total = Signal(amounts.bits)
        m.d.comb += total.eq(amounts.sum(was_taken, added))
        writes = picked[at.take] | boot[at.take]
        heads.write(writes, sm[at.take], (was_head + 1)[: config.slot_bits])
        taken.write(writes, sm[at.take], total)
        head_of = (was_head, sm[at.take]) if self._grouped else (heads.now(looked), self.picked_sm)
        slot = free.later(Cat(*head_of))
        toggle = held(m, "toggle", slot[config.slot_bits])
        m.d.sync += self.slot.eq(slot[: config.slot_bits])
        row = Cat(self.slot, sm[at.offer])
        if retires:
            retires.enter(picked[at.offer], row, toggle, needs[at.offer])
        kept = retires.place if retires else needs[at.offer]
        running.write(picked[at.offer], row, Cat(toggle, stream[at.offer], kept))
        m.d.comb += [self._entered.eq(picked[at.offer]), self._entered_row.eq(row)]
        self._judge_placement(m, given, sm, total, judged)
        m.d.comb += self.placement.own.eq(picked[at.land])

    def _judge_placement(
        self, m: Module, given: Rows, sm: Pipe, total: Value, judged: Pipe
    ) -> None:
        """Judge the SM of a placement or a look: what it was given is read after the writing."""
        amounts, at = self._amounts, self._stages
        read = at.take + 1
        placed = Pipe(m, "placed", total, at.take, at.weigh - 1)[at.weigh - 1]
        there = self._second_book(m, "was_given_then", given, sm[read])
        spare = held(m, "place_spare", amounts.difference(there, placed))
        enough = Signal(len(amounts.names), attrs={"keep": 1})
        m.d.comb += [
            enough.eq(amounts.enough(spare, self.needs)),
            self.placement.sm.eq(
                self._landing(m, "place_land", sm[at.land - 1], judged[at.land - 1])
            ),
            self.placement.warps.eq(data.View(amounts.layout, spare).warps),
        ]
        if not self._grouped:
            m.d.comb += [self.placement.fits.eq(enough.all()), self.lacks.eq(~enough)]
            return
        met = Pipe(m, "place_met", self._met(sm[read]), read, at.weigh)[at.weigh]
        counts = judged[at.weigh] & ~met
        m.d.comb += [
            self.placement.fits.eq(held(m, "place_fits", enough.all() & ~met)),
            self.lacks.eq(held(m, "place_lacks", ~enough & counts.replicate(len(enough)))),
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
        at = self._stages
        gone = Rows(m, "lost_sms", 1, 1 << sm_bits, block=self._grouped)
        lost: Value = self._read(m, "lost_4", gone, sm[at.find], C(0, 1), 0)
        if self._grouped:
            # What is found in the cycle of the read.
            lost |= Pipe(m, "found_met", self.found & (sm[_BOOK] == sm[at.find]), 2, 4)[4]
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
            retires.report(boot[4], returns, held(m, "place_4", kept))
            judged = retires.look()
            m.d.comb += self.returns_look.eq(~judged.valid & ~boot[3])
            book_sm = Mux(boot[3], sm[3], Mux(judged.valid, judged.sm, self.scan))
            comes = judged.needs, ~judged.valid
            freed = judged.retired
            from_slot = Mux(boot[3], slot[3], judged.slot)
            from_toggle = Mux(boot[3], runs_row[0], judged.toggle)
        else:
            m.d.comb += self.returns_look.eq(~(reported[at.find] | swept[at.find]))
            book_sm = Mux(self.returns_look, self.scan, sm[at.find])
            looks = Pipe(m, "looks", self.returns_look, at.find, 3)[3]
            comes = kept, looks | boot[3]
            freed = returns
            from_slot, from_toggle = slot[3], runs_row[0]
        number = Pipe(m, "book_sm", book_sm, at.find, _BOOK)[_BOOK]
        needs = held(m, "back_needs", comes[0], clear=comes[1])
        was_given = self._read(m, "was_given", given, book_sm, boot[3], amounts.all_number)
        last_slot = (config.block_slots - 1) & ((1 << slot_bits) - 1)
        was_tail = self._read(m, "tail", tails, book_sm, boot[3], last_slot)
        from_slot, from_toggle = (
            held(m, "from_slot", from_slot),
            held(m, "from_toggle", from_toggle),
        )
        writes = boot[4] | freed
        total = Signal(amounts.bits)
        m.d.comb += total.eq(amounts.sum(was_given, needs))
        given.write(writes, number, total)
        m.d.comb += [self._gives.eq(writes), self._gives_sm.eq(number)]
        seen = self.returns_look & ~self._met(book_sm)
        tails.write(writes, number, (was_tail + 1)[:slot_bits])
        place = Cat(Mux(boot[4], from_slot, was_tail), number)
        free.write(writes, place, Cat(from_slot, ~from_toggle))
        looked = Pipe(m, "looked", seen, at.find, _BOOK)[_BOOK]
        self._judge_return(m, taken, total, number, freed, looked, swept[4])

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
        config, amounts, at = self._config, self._amounts, self._stages
        sm = Pipe(m, "judged_sm", number, _BOOK, at.tell)
        own = Pipe(m, "gives_back", freed, _BOOK, at.tell, keeps=False)
        first = held(m, "return_judged", freed | looked, clear=self.booting)
        judged = Pipe(m, "return_judged", first, _BOOK + 1, at.tell - 1, keeps=False)
        given = Pipe(m, "given_back", total, _BOOK, at.judge - 1)[at.judge - 1]
        took = self._second_book(m, "was_taken_then", taken, sm[_BOOK + 1])
        spare = held(m, "return_spare", amounts.difference(given, took))
        enough = Signal(len(amounts.names), attrs={"keep": 1})
        m.d.comb += enough.eq(amounts.enough(spare, self.needs))
        fits = held(m, "return_fits", enough.all()) if self._grouped else enough.all()
        by_report = freed if config.reclaim == "in_order" else freed & ~swept
        freed_then = Pipe(m, "freed", by_report, _BOOK, at.tell, keeps=False)
        m.d.comb += [
            self.returned.sm.eq(
                self._landing(m, "return_land", sm[at.tell - 1], judged[at.tell - 1])
            ),
            self.returned.fits.eq(fits),
            self.returned.own.eq(own[at.tell]),
            self.returned.warps.eq(data.View(amounts.layout, spare).warps),
            self.freed.eq(freed_then[at.tell]),
            self.freed_sm.eq(sm[at.tell]),
        ]
