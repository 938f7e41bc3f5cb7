"""ConfigFilter's entries: shapes, regions, references, and the order of their use."""

from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts, timing


def any_of(bits: list[Value]) -> Value:
    """Return the OR of some bits."""
    return reduce(or_, bits)


class History(wiring.Component):
    """The entries: keys and regions, counts of references, which are generating, order of use.

    A configuration is compared in one cycle, judged in the next one, and may be accepted in the
    third. An acceptance writes key and valid bits at the end of its cycle, because the next
    configuration may be compared in the following one. Count and order of use are only judged, two
    cycles later at the earliest, so registers delay their change by a cycle. A release or an end of
    generation is judged in the next cycle: the flags `idle` and `no_hit` take it into account in
    the cycle in which it comes.

    Parameters
    ----------
    config : Config
        ``history_entries``, ``reference_bits`` and the widths of a configuration.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        key = layouts.index_config(config).layout()
        super().__init__(
            {
                # A configuration. It is registered in every cycle: an enable would wait for the
                # late `ready`.
                "given": In(key),
                # Compare what was given in the cycle before; 0 keeps the results.
                "compare": In(1),
                # The key that was compared last.
                "kept": Out(key),
                # Judged in the cycle before: `kept` may be accepted as a hit, or as a miss; the
                # entry that it hits or replaces.
                "may_hit": Out(1),
                "may_miss": Out(1),
                "entry": Out(config.entry_bits),
                # Judged in the cycle before: only a release lets `kept` be accepted.
                "needs_release": Out(1),
                # `kept` is accepted as a miss, or as a hit, in this cycle.
                "misses": In(1),
                "hits": In(1),
                # A miss was accepted in the cycle before; the entry that was accepted in that
                # cycle.
                "new_miss": In(1),
                "new_entry": In(config.entry_bits),
                # Ends the oldest generation.
                "finished": In(1),
                # Some entry is generating.
                "unfinished": Out(1),
                # Gives a reference of this entry back.
                "release": In(config.entry_bits),
                "release_valid": In(1),
                # The released entry has no references.
                "unreferenced": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        n = self._config.history_entries
        match = Signal(n)
        overlap = Signal(n, reset_less=True)
        victim = Signal(n)
        idle = Signal(n, init=-1)
        no_hit = Signal(n)
        # The entry has references; its count is at its highest.
        read = Signal(n)
        most_read = Signal(n)
        # Results of the judgement, at most one bit each: the entry that may be hit, and the entry
        # that a miss replaces.
        to_hit = Signal(n, reset_less=True)
        to_take = Signal(n, reset_less=True)
        # One-hot: the entry that is accepted in this cycle, and the one of the cycle before.
        uses = Signal(n)
        used = Signal(n)
        m.submodules.order = order = _Order(n)
        may_hit = Signal(reset_less=True)
        may_miss = Signal(reset_less=True)
        needs_release = Signal(reset_less=True)
        m.d.sync += [
            needs_release.eq(
                (match & most_read).any() | (~match.any() & ((overlap & read).any() | read.all()))
            ),
            to_hit.eq(match & ~no_hit),
            may_hit.eq((match & ~no_hit).any()),
            to_take.eq(victim),
            # An invalid entry is idle: only idle entries are dropped.
            may_miss.eq(~match.any() & ~(overlap & ~idle).any() & idle.any()),
            used.eq(uses),
        ]
        m.d.comb += [
            uses.eq(Mux(self.hits, to_hit, 0) | Mux(self.misses, to_take, 0)),
            self.may_hit.eq(may_hit),
            self.may_miss.eq(may_miss),
            self.needs_release.eq(needs_release),
            order.candidates.eq(idle),
            order.used.eq(used),
        ]
        chosen = to_hit | Mux(may_miss, to_take, 0)
        for bit in range(self._config.entry_bits):
            holders = [chosen[e] for e in range(n) if e >> bit & 1]
            if holders:
                m.d.comb += self.entry[bit].eq(any_of(holders))
        valid = self._compare(m, match, overlap, to_take)
        self._choose(m, victim, valid, order.oldest)
        self._count(m, (uses, used), _Flags(idle, no_hit, read, most_read))
        return m

    def _choose(self, m: Module, victim: Signal, valid: Signal, oldest: Value) -> None:
        """Take the lowest invalid entry, else the least recently accepted idle one."""
        all_valid = Signal()
        lowest = Signal(len(valid), init=1)
        m.d.sync += all_valid.eq(valid.all())
        for e in range(len(valid)):
            m.d.sync += lowest[e].eq(~valid[e] & valid[:e].all() if e else ~valid[e])
        m.d.comb += victim.eq(Mux(all_valid, oldest, lowest))

    def _compare(self, m: Module, match: Signal, overlap: Signal, to_take: Signal) -> Signal:
        """Compare the key with every entry; on a miss, store it and drop the entries it overwrites.

        Returns a bit for each entry: it is valid.
        """
        n = self._config.history_entries
        valid = Signal(n)
        # A key is compared in two halves, each with a register: one gate less in a row.
        low = Signal(n, reset_less=True)
        high = Signal(n, reset_less=True)
        new, kept = (
            Signal(self.given.shape(), name=f"{name}_key", reset_less=True)
            for name in ("new", "kept")
        )
        new_end, kept_end = (
            Signal(self._config.index_address_bits + 1, name=f"{name}_end", reset_less=True)
            for name in ("new", "kept")
        )
        m.d.sync += [new.eq(self.given), new_end.eq(self.given.address + self.given.warps)]
        # The end of an empty region is 0: no address is below it, so it overlaps nothing.
        with m.If(self.given.warps == 0):
            m.d.sync += new_end.eq(0)
        m.d.comb += [self.kept.eq(kept), match.eq(low & high)]
        with m.If(self.compare):
            m.d.sync += [kept.eq(new), kept_end.eq(new_end)]
        bits = new.as_value()
        half = len(bits) // 2
        for e in range(n):
            key = Signal(self.given.shape(), name=f"key_{e}", reset_less=True)
            end = Signal.like(new_end, name=f"end_{e}", reset_less=True)
            key_bits, enters = key.as_value(), self.misses & to_take[e]
            with m.If(self.compare):
                m.d.sync += [
                    low[e].eq(bits[:half] == key_bits[:half]),
                    high[e].eq(valid[e] & (bits[half:] == key_bits[half:])),
                    overlap[e].eq(valid[e] & (new.address < end) & (key.address < new_end)),
                ]
            with m.If(enters):
                m.d.sync += [key.eq(kept), end.eq(kept_end)]
            dropped = self.misses & overlap[e]
            m.d.sync += valid[e].eq(enters | (valid[e] & ~dropped))
        return valid

    def _count(self, m: Module, accepted: tuple[Signal, Signal], flags: "_Flags") -> None:
        """Count references, and note which entries are generating.

        An acceptance is counted a cycle late. ``accepted``: the entry that is accepted in this
        cycle, and the one that was accepted in the cycle before, both one-hot.
        """
        uses, used = accepted
        n = self._config.history_entries
        m.submodules.unfinished = unfinished = _Unfinished(self._config)
        m.d.comb += [
            unfinished.new.eq(self.new_miss),
            unfinished.new_entry.eq(self.new_entry),
            unfinished.finished.eq(self.finished),
            self.unfinished.eq(unfinished.any),
        ]
        # `bare`: the entry has no references, the acceptance of this cycle included. An entry
        # number that does not exist is bare.
        bare = Signal(1 << self._config.entry_bits, init=-1)
        m.d.comb += self.unreferenced.eq(self.release_valid & bare.bit_select(self.release, 1))
        for e in range(n):
            count = Signal(self._config.reference_bits, name=f"count_{e}")
            generating = Signal(name=f"generating_{e}")
            ends = Signal(name=f"ends_{e}")
            given_back = Signal(name=f"given_back_{e}")
            still = Signal(name=f"still_{e}")
            unread = Signal(name=f"unread_{e}")
            none = ~flags.read[e]  # The count is 0.
            m.d.comb += [
                given_back.eq(self.release_valid & (self.release == e)),
                unread.eq(Mux(none, ~used[e] | given_back, (count == 1) & ~used[e] & given_back)),
                ends.eq(self.finished & Mux(unfinished.held, unfinished.oldest == e, used[e])),
                still.eq((generating | (used[e] & self.new_miss)) & ~ends),
            ]
            with m.If(Mux(used[e], ~given_back, given_back & ~none)):
                down = given_back.replicate(len(count) - 1)
                m.d.sync += count.eq(count + Cat(C(1, 1), down))
            # The count is at its highest value, or one below it with an acceptance that is not
            # counted yet.
            most = count[1:].all() & (count[0] | used[e])
            m.d.sync += [
                flags.read[e].eq(~unread),
                flags.most_read[e].eq(most & ~given_back),
                bare[e].eq(unread & ~uses[e]),
                generating.eq(still),
                flags.idle[e].eq(~still & unread),
                flags.no_hit[e].eq((most & ~given_back) | still),
            ]


@dataclass(frozen=True)
class _Flags:
    """A register of one bit for each entry, by what it says of the entry.

    Attributes
    ----------
    idle : Signal
        It has no references and is not generating.
    no_hit : Signal
        It is generating, or its count is at its highest.
    read : Signal
        It has references.
    most_read : Signal
        Its count is at its highest.
    """

    idle: Signal
    no_hit: Signal
    read: Signal
    most_read: Signal


class _Unfinished(wiring.Component):
    """The entries that are generating, in the order in which they will finish."""

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # Adds the entry that was accepted in the cycle before.
                "new": In(1),
                "new_entry": In(config.entry_bits),
                # Removes the oldest entry, if there is one.
                "finished": In(1),
                # There is an entry, or `new` adds one.
                "any": Out(1),
                # There is an entry, and the oldest one. Registers, without `new`.
                "held": Out(1),
                "oldest": Out(config.entry_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        queue = Queue(self._config.entry_bits, timing(self._config).done_depth)
        m.submodules.queue = queue
        m.d.comb += [
            queue.push.eq(self.new),
            queue.pushed.eq(self.new_entry),
            queue.pop.eq(self.finished),
            self.held.eq(queue.held[0]),
            self.oldest.eq(queue.first),
            self.any.eq(queue.held[0] | self.new),
        ]
        return m


class Queue(wiring.Component):
    """A short queue in registers.

    An item that is pushed into an empty queue and popped in the same cycle is never stored.

    Parameters
    ----------
    bits : int
        Width of an item.
    depth : int
        Places. A push with all of them held, and no pop, is lost.
    """

    def __init__(self, bits: int, depth: int) -> None:
        self._depth = depth
        super().__init__(
            {
                # Puts an item behind the others, seen in `held` and `first` one cycle later.
                "push": In(1),
                "pushed": In(bits),
                # Removes the first item; of an empty queue, the item that is pushed.
                "pop": In(1),
                # Places taken, lowest first.
                "held": Out(depth),
                # The oldest item.
                "first": Out(bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        held = Signal(self._depth)
        items = [
            Signal.like(self.pushed, name=f"item_{k}", reset_less=True) for k in range(self._depth)
        ]
        m.d.comb += [self.held.eq(held), self.first.eq(items[0])]
        for k, item in enumerate(items):
            below = held[k - 1] if k else 1
            above = held[k + 1] if k + 1 < self._depth else 0
            with m.If(self.pop):
                m.d.sync += held[k].eq(above | (self.push & held[k]))
            with m.Elif(self.push & below):
                m.d.sync += held[k].eq(1)
            with m.If(self.pop | ~held[k]):
                m.d.sync += item.eq(
                    Mux(above, items[k + 1], self.pushed) if k + 1 < self._depth else self.pushed
                )
        return m


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
