"""The history cache of block shapes: what need not be generated again, and who still reads it."""

from functools import reduce
from operator import or_
from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom import faults
from warploom_spec import Config, ErrorCode, layouts, timing


def any_of(bits: list[Value]) -> Value:
    """Return the OR of some bits."""
    return reduce(or_, bits)


class ConfigFilter(wiring.Component):
    """Look an index configuration up in a history of block shapes.

    A configuration stands one cycle in the lookup stage, in which it is compared with every entry;
    the answers are registered, so that the earliest acceptance (2 cycles after the transfer, one
    every 2 cycles) starts from registers. A hit costs nothing further; a miss takes the victim's
    place, drops what its region overwrites and goes to the iterator.

    Parameters
    ----------
    config : Config
        ``history_entries``, ``reference_bits`` and the widths of a configuration.
    fault : str, optional
        One of `FAULTS`, for tests of the tests.

    Attributes
    ----------
    i : Stream[index_config], in
        Configurations. ``ready`` is combinational: 0 with ``cancel``, else the lookup stage is
        empty or being emptied.
    cancel : In(1)
        Empties the lookup stage. An acceptance in the same cycle comes first.
    decision : Stream[index_decision], out
        Hit or miss and entry, one cycle after the acceptance.
    o : Stream[index_config], out
        A missed configuration, in the cycle of its acceptance.
    accepted : index_region, out
        Pulse in the cycle of a miss's acceptance (combinational).
    finished : In(1)
        The oldest unfinished miss is wholly written.
    done : Stream[index_decision], out
        In order of acceptance: the indices stand in the memory. Valid in the cycle of ``finished``
        (combinational), of a hit two cycles after its acceptance, at the earliest.
    release : Stream[entry], in
        Gives one reference back; ``ready`` is always 1. With an acceptance of the same entry in one
        cycle the count stays.
    error : error_record, out
        ``RELEASE_UNREFERENCED`` one cycle after a release of an entry without references, also when
        the entry is accepted in that cycle.
    error_count : Out(16)
        Error records so far; stays at its highest value.

    Raises
    ------
    WarploomError
        If ``fault`` is not one of `FAULTS`.
    """

    #: ``stale_history``: a miss drops nothing. ``no_reference``: references protect nothing.
    #: ``early_hit``: a hit does not wait for its indices' generation.
    FAULTS: Final = ("stale_history", "no_reference", "early_hit")

    i: stream.Interface
    cancel: Signal
    decision: stream.Interface
    o: stream.Interface
    accepted: data.View
    finished: Signal
    done: stream.Interface
    release: stream.Interface
    error: data.View
    error_count: Signal

    def __init__(self, config: Config, *, fault: str | None = None) -> None:
        self._config = config
        self._fault = faults.checked("ConfigFilter", fault, self.FAULTS)
        decision = stream.Signature(layouts.index_decision(config).layout())
        configuration = stream.Signature(layouts.index_config(config).layout())
        super().__init__(
            {
                "i": In(configuration),
                "cancel": In(1),
                "decision": Out(decision),
                "o": Out(configuration),
                "accepted": Out(layouts.index_region(config).layout()),
                "finished": In(1),
                "done": Out(decision),
                "release": In(stream.Signature(unsigned(config.entry_bits))),
                "error": Out(layouts.error_record(config).layout()),
                "error_count": Out(timing(config).error_counter_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        m.submodules.history = history = _History(config, self._fault)
        m.submodules.answers = answers = _Answers(config)
        full, ripe = Signal(), Signal()
        self._lookup(m, history, full, ripe)

        free = Signal()
        accept = Signal()
        missed = Signal()
        m.d.comb += [
            free.eq(ripe & ~self.decision.valid & ~answers.full),
            self.o.valid.eq(free & history.may_miss),
            missed.eq(self.o.valid & self.o.ready),
            accept.eq(missed | (free & history.may_hit)),
            self.i.ready.eq(~self.cancel & (~full | accept)),
            history.missed.eq(missed),
            history.accept.eq(accept),
            history.release.eq(self.release.payload),
            history.release_valid.eq(self.release.valid),
            history.finished.eq(answers.finished),
            answers.push.eq(accept),
            answers.pushed.hit.eq(history.hit),
            answers.pushed.entry.eq(history.entry),
            answers.ended.eq(self.finished),
            self.done.valid.eq(answers.done_valid),
            self.done.payload.eq(answers.done),
            answers.pop.eq(self.done.valid & self.done.ready),
            self.release.ready.eq(1),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [full.eq(1), ripe.eq(0)]
        with m.Elif(accept | self.cancel):
            m.d.sync += [full.eq(0), ripe.eq(0)]
        with m.Else():
            m.d.sync += ripe.eq(full)
        with m.If(accept):
            m.d.sync += self.decision.valid.eq(1)
        with m.Elif(self.decision.ready):
            m.d.sync += self.decision.valid.eq(0)
        with m.If(~self.decision.valid):
            m.d.sync += self.decision.payload.eq(answers.pushed)
        self._pulses(m, missed, history.unreferenced)
        return m

    def _lookup(self, m: Module, history: "_History", full: Signal, ripe: Signal) -> None:
        """Hold one configuration; its region's end is computed on the way in."""
        key = Signal(layouts.index_config(self._config).layout(), reset_less=True)
        end = Signal(self._config.index_address_bits + 1, reset_less=True)
        given = self.i.payload
        # Free to load while empty: only the stage's being emptied has to be seen in time.
        with m.If(self.i.ready):
            m.d.sync += [
                key.eq(given),
                # An empty region overlaps nothing: no end is above an address, and 0 least of all.
                end.eq(Mux(given.warps == 0, 0, given.address + given.warps)),
            ]
        m.d.comb += [history.key.eq(key), history.end.eq(end), self.o.payload.eq(key)]

    def _pulses(self, m: Module, missed: Signal, unreferenced: Signal) -> None:
        """Give out the region that is about to be overwritten, and error records."""
        # Not under `m.If`: Icarus never evaluates such a process while nothing in it changes.
        m.d.comb += [
            self.accepted.valid.eq(missed),
            self.accepted.address.eq(Mux(missed, self.o.payload.address, 0)),
            self.accepted.warps.eq(Mux(missed, self.o.payload.warps, 0)),
        ]
        m.d.sync += self.error.eq(0)
        with m.If(unreferenced):
            m.d.sync += [
                self.error.valid.eq(1),
                self.error.code.eq(ErrorCode.RELEASE_UNREFERENCED),
                self.error.argument.eq(self.release.payload),
            ]
            with m.If(~self.error_count.all()):
                m.d.sync += self.error_count.eq(self.error_count + 1)


class _History(wiring.Component):
    """The entries: keys and regions, references, who is being generated, order of use.

    ``key`` and ``end`` stand from one cycle before ``may_hit``, ``may_miss``, ``hit`` and ``entry``
    mean anything, and until the acceptance. What an acceptance changes is judged two cycles later
    at the earliest, which lets the flags below be registered from the state of the cycle before;
    what a release or an end of generation changes is judged in the next cycle, and looked ahead.
    """

    def __init__(self, config: Config, fault: str | None) -> None:
        self._config = config
        self._fault = fault
        super().__init__(
            {
                "key": In(layouts.index_config(config).layout()),
                "end": In(config.index_address_bits + 1),
                "hit": Out(1),
                "entry": Out(config.entry_bits),
                "may_hit": Out(1),
                "may_miss": Out(1),
                "accept": In(1),
                "missed": In(1),
                "release": In(config.entry_bits),
                "release_valid": In(1),
                "unreferenced": Out(1),
                "finished": In(config.history_entries),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        n = self._config.history_entries
        # A key is compared in two parts: 32 bits are three gates deep, all of it would be four.
        low, high = Signal(n, reset_less=True), Signal(n, reset_less=True)
        match, overlap = Signal(n), Signal(n, reset_less=True)
        valid = Signal(n)
        idle, no_hit = Signal(n, init=-1), Signal(n)
        chosen, victim = Signal(n), Signal(n)
        m.submodules.order = order = _Order(n)
        m.d.comb += [
            match.eq(low & high & valid),
            self.hit.eq(match.any()),
            self.may_hit.eq(self.hit & ~(match & no_hit).any()),
            self.may_miss.eq(~self.hit & ~(overlap & ~idle).any() & (~valid | idle).any()),
            order.candidates.eq(idle),
            chosen.eq(Mux(self.hit, match, victim)),
        ]
        for bit in range(self._config.entry_bits):
            holders = [chosen[e] for e in range(n) if e >> bit & 1]
            if holders:
                m.d.comb += self.entry[bit].eq(any_of(holders))
        m.d.sync += order.used.eq(chosen & self.accept.replicate(n))
        self._choose(m, victim, valid, order.oldest)
        self._compare(m, low, high, overlap, valid, victim)
        self._count(m, chosen, idle, no_hit)
        return m

    def _choose(self, m: Module, victim: Signal, valid: Signal, oldest: Value) -> None:
        """Take the lowest invalid entry, else the least recently accepted idle one."""
        for e in range(self._config.history_entries):
            first_invalid = ~valid[e] & valid[:e].all() if e else ~valid[e]
            m.d.comb += victim[e].eq(Mux(valid.all(), oldest[e], first_invalid))

    def _compare(
        self,
        m: Module,
        low: Signal,
        high: Signal,
        overlap: Signal,
        valid: Signal,
        victim: Signal,
    ) -> None:
        """Compare the key with every entry; enter it and drop what it overwrites when it misses."""
        for e in range(self._config.history_entries):
            key = Signal.like(self.key, name=f"key_{e}", reset_less=True)
            end = Signal.like(self.end, name=f"end_{e}", reset_less=True)
            bits, new_bits = key.as_value(), self.key.as_value()
            m.d.sync += [
                low[e].eq(bits[:32] == new_bits[:32]),
                high[e].eq(bits[32:] == new_bits[32:]),
                overlap[e].eq(valid[e] & (key.address < self.end) & (self.key.address < end)),
            ]
            with m.If(self.missed & victim[e]):
                m.d.sync += [key.eq(self.key), end.eq(self.end), valid[e].eq(1)]
            if self._fault != "stale_history":
                with m.Elif(self.missed & overlap[e]):
                    m.d.sync += valid[e].eq(0)

    def _count(self, m: Module, chosen: Signal, idle: Signal, no_hit: Signal) -> None:
        """Count each entry's references; note who is being generated."""
        n = self._config.history_entries
        referenced = Signal(n)
        given_back = Signal(n)
        for e in range(n):
            count = Signal(self._config.reference_bits, name=f"count_{e}")
            generating = Signal(name=f"generating_{e}")
            more, less = Signal(name=f"more_{e}"), Signal(name=f"less_{e}")
            m.d.comb += [
                referenced[e].eq(count.any()),
                given_back[e].eq(self.release_valid & (self.release == e) & referenced[e]),
                more.eq(self.accept & chosen[e]),
                less.eq(given_back[e]),
            ]
            with m.If(more ^ less):
                m.d.sync += count.eq(count + Cat(C(1, 1), less.replicate(len(count) - 1)))
            self._note(m, e, count, generating, less, idle, no_hit)
            with m.If(self.missed & chosen[e]):
                m.d.sync += generating.eq(1)
            with m.Elif(self.finished[e]):
                m.d.sync += generating.eq(0)
        m.d.comb += self.unreferenced.eq(self.release_valid & ~given_back.any())

    def _note(
        self,
        m: Module,
        e: int,
        count: Signal,
        generating: Signal,
        less: Signal,
        idle: Signal,
        no_hit: Signal,
    ) -> None:
        """Register whether the entry may be overwritten, and whether a hit has to wait."""
        still = Signal(name=f"still_generating_{e}")
        unread = ~count.any() | ((count == 1) & less)
        m.d.comb += still.eq(generating & ~self.finished[e])
        m.d.sync += [
            idle[e].eq(~still if self._fault == "no_reference" else ~still & unread),
            no_hit[e].eq((count.all() & ~less) | (0 if self._fault == "early_hit" else still)),
        ]


class _Order(wiring.Component):
    """Order of use as one bit for each pair of entries: which of the two is older.

    ``used`` (one bit at most) makes an entry the youngest at the end of the cycle; ``oldest`` is
    the oldest of ``candidates``, combinational.
    """

    def __init__(self, entries: int) -> None:
        self._entries = entries
        super().__init__({"used": In(entries), "candidates": In(entries), "oldest": Out(entries)})

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        n = self._entries
        older: dict[tuple[int, int], Value] = {}
        for low in range(n):
            for high in range(low + 1, n):
                bit = Signal(name=f"older_{low}_{high}")
                m.d.sync += bit.eq((bit | self.used[high]) & ~self.used[low])
                older[low, high], older[high, low] = bit, ~bit
        for e in range(n):
            beaten = [self.candidates[o] & older[o, e] for o in range(n) if o != e]
            wins = ~any_of(beaten) if beaten else 1
            m.d.comb += self.oldest[e].eq(self.candidates[e] & wins)
        return m


class _Answers(wiring.Component):
    """Answers outstanding, oldest first, `timing.done_depth` of them.

    A hit's answer is good from the second cycle of its standing here, a miss's from ``ended``,
    which counts for the oldest miss that has not ended. ``finished`` is that miss's entry, one bit
    an entry.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        decision = layouts.index_decision(config).layout()
        super().__init__(
            {
                "push": In(1),
                "pushed": In(decision),
                "full": Out(1),
                "ended": In(1),
                "finished": Out(config.history_entries),
                "pop": In(1),
                "done_valid": Out(1),
                "done": Out(decision),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        depth = timing(self._config).done_depth
        layout = layouts.index_decision(self._config).layout()
        held = Signal(depth + 1)
        good = Signal(depth + 1)
        items = [Signal(layout, name=f"item_{k}", reset_less=True) for k in range(depth)]
        ends = Signal(depth + 1)
        ending: Value = C(0, self._config.entry_bits)
        m.d.comb += [
            self.full.eq(held[depth - 1]),
            self.done.eq(items[0]),
            self.done_valid.eq(held[0] & (good[0] | (self.ended & ~items[0].hit))),
        ]
        for k in range(depth):
            open_ = [held[o] & ~items[o].hit & ~good[o] for o in range(k + 1)]
            m.d.comb += ends[k].eq(open_[k] & ~any_of(open_[:k]) if k else open_[k])
            ending = ending | Mux(ends[k], items[k].entry, 0)
        for e in range(self._config.history_entries):
            m.d.comb += self.finished[e].eq(self.ended & ends.any() & (ending == e))
        better = good | ends & self.ended.replicate(depth + 1)
        for k in range(depth):
            above = Value.cast(items[k + 1]) if k + 1 < depth else Value.cast(self.pushed)
            hit = items[k].hit
            next_hit = items[k + 1].hit if k + 1 < depth else 0
            with m.If(self.pop):
                m.d.sync += [
                    held[k].eq(held[k + 1] | (self.push & held[k])),
                    good[k].eq(held[k + 1] & (better[k + 1] | next_hit)),
                    items[k].eq(Mux(held[k + 1], above, self.pushed)),
                ]
            with m.Else():
                below = held[k - 1] if k else 1
                m.d.sync += [
                    held[k].eq(held[k] | (self.push & below)),
                    good[k].eq(held[k] & (better[k] | hit)),
                ]
                with m.If(~held[k]):
                    m.d.sync += items[k].eq(self.pushed)
        return m
