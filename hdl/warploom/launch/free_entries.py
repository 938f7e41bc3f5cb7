"""Free entries of each priority, and the places for records."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.launch.queue_engine import queue_rows
from warploom.lib.rows import Rows
from warploom_spec import Config
from warploom_spec.resident_packets import resident_entry_bits

#: Cycles after a `sent` until `room` and `records_left` know of it.
_PACE = 2


class FreeEntries(wiring.Component):
    """Keep free entries in a ring for each priority, and count them and records' places.

    Rules 1 to 4 of ``docs/launch/kernel_queue.md``. What is sent and what is given back in one
    cycle both count.

    Parameters
    ----------
    config : Config
        ``priority_bits``, ``queue_depth``.
    """

    boot: Signal
    row: Signal
    sent: Signal
    sent_priority: Signal
    looks: Signal
    takes: Signal
    priority: Signal
    entry: Signal
    gives: Signal
    given: Signal
    gave: Signal
    pace: Signal
    room: Signal
    all_free: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        bits, priorities = resident_entry_bits(config), 1 << config.priority_bits
        super().__init__(
            {
                # The boot gives back the entry of its row.
                "boot": In(1),
                "row": In((queue_rows(config) - 1).bit_length()),
                # A launch goes to LaunchCheck.
                "sent": In(1),
                "sent_priority": In(config.priority_bits),
                # Look up the free entry of this priority; take it, a cycle later.
                "looks": In(1),
                "takes": In(1),
                "priority": In(config.priority_bits),
                "entry": Out(bits),
                # An entry is given back; it was in the cycle before.
                "gives": In(1),
                "given": In(bits),
                "gave": Out(1),
                # Registers, but for `pace`.
                "pace": Out(1),
                "room": Out(priorities),
                "all_free": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        depth_bits = (config.queue_depth - 1).bit_length()
        pointer_bits = max(1, depth_bits)
        priorities = 1 << config.priority_bits
        ring = Rows(m, "ring", pointer_bits, len(self.room) << depth_bits)
        takes = Rows(m, "taken", pointer_bits, priorities)
        puts = Rows(m, "put", pointer_bits, priorities)
        # A pointer of a ring of one entry is 0.
        step = 1 if depth_bits else 0
        boot_entry = self.row[: len(self.entry)]
        boot_priority = (self.row >> depth_bits)[: config.priority_bits]

        taken = takes.now(self.priority)
        found = ring.now(Cat(taken[:depth_bits], self.priority))
        with m.If(self.looks):
            m.d.sync += self.entry.eq(Cat(found[:depth_bits], self.priority))
        takes.write(
            self.takes | self.boot,
            Mux(self.boot, boot_priority, self.priority),
            Mux(self.boot, 0, taken + step)[:pointer_bits],
        )
        given = Signal.like(self.given, name="gave_entry")
        given_in_boot = Signal()
        in_boot = self.boot & (self.row < len(self.room) << depth_bits)
        m.d.sync += [
            self.gave.eq(self.gives | in_boot),
            given_in_boot.eq(self.boot),
            given.eq(Mux(self.boot, boot_entry, self.given)),
        ]
        given_priority = (given >> depth_bits)[: config.priority_bits]
        put = puts.now(given_priority)
        puts.write(self.gave, given_priority, Mux(given_in_boot, 0, put + step)[:pointer_bits])
        place = Mux(given_in_boot, given[:depth_bits], put[:depth_bits])[:depth_bits]
        number = Cat(given[:depth_bits], C(0, pointer_bits - depth_bits))
        ring.write(self.gave, Cat(place, given_priority), number)
        self._counts(m, given_priority)
        return m

    def _counts(self, m: Module, given_priority: object) -> None:
        """Count free entries, and keep the pace."""
        depth = self._config.queue_depth
        full = []
        for p in range(len(self.room)):
            free = Signal(range(depth + 1), name=f"free_{p}")
            more = self.gave & (given_priority == p)
            less = self.sent & (self.sent_priority == p)
            with m.If(more ^ less):
                m.d.sync += free.eq(free + Cat(C(1, 1), less.replicate(len(free) - 1)))
            m.d.sync += self.room[p].eq(free.any())
            full.append(free == depth)
        m.d.comb += self.all_free.eq(Cat(full).all())
        sent = Signal(_PACE)
        m.d.sync += sent.eq(Cat(self.sent, sent))
        settles = Signal(range(5), init=4)
        with m.If(~self.boot & settles.any()):
            m.d.sync += settles.eq(settles - 1)
        m.d.comb += self.pace.eq(~sent.any() & ~settles.any())


class RecordPlaces(wiring.Component):
    """Count the places for records, over a restart, too: rules 3 and 32.

    Parameters
    ----------
    config : Config
        ``records``.
    """

    sent: Signal
    preempts: Signal
    refused: Signal
    taken: Signal
    left: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # What takes a place, and what gives one back.
                "sent": In(1),
                "preempts": In(1),
                "refused": In(1),
                "taken": In(1),
                # With loops, and not with `refused`: a quiet launch has finished.
                **({"spared": In(1)} if config.has_loops else {}),
                # Two are free: a launch and a PREEMPT may take theirs in one cycle. A register.
                "left": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        records = self._config.records
        places = Signal(range(records + 1), init=records)
        change = Signal(3)
        ports: Any = self
        without: Value = self.refused
        if self._config.has_loops:
            without = without | ports.spared
        m.d.comb += change.eq(without + self.taken - self.sent - self.preempts)
        m.d.sync += [
            places.eq(places + Cat(change, change[2].replicate(max(0, len(places) - 3)))),
            self.left.eq(places[1:].any()),
        ]
        return m
