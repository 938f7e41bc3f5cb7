"""Final records of eight words, kept in order until the host has read them."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config, queue_packets
from warploom_spec.queue_packets import FINAL_RECORD_WORDS
from warploom_spec.resident_packets import record_word

#: Bits of a word's number.
_NUMBER = (FINAL_RECORD_WORDS - 1).bit_length()
#: Words that a launch's record does not have; with loops it has the first of them.
_PREEMPT_WORDS = (3, 4)


class RecordQueue(wiring.Component):
    """Keep final records in block memory, a word a row, and show the oldest one.

    Ports and the exact machine: ``docs/launch/record_queue.md``.

    Parameters
    ----------
    config : Config
        ``queue_depth``: there are places for ``config.records`` records.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A word of a record; its place is reserved, so it is never refused.
                "record": In(record_word(config).layout()),
                # The oldest record: word n from 3 + n cycles after its last word came into an
                # empty queue, or after the pop of the record before. 0 before. Registers.
                "oldest": Out(queue_packets.final_record_words(config).layout()),
                # Records here, from two cycles after their last word came. A register.
                "records": Out(range(config.records + 1)),
                # Forget the oldest record.
                "pop": In(1),
                # A pop has removed a record. A register.
                "record_taken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        record = ports.record
        # The memory has a power of two of records: its pointers wrap by themselves.
        bits = (self._config.records - 1).bit_length()
        newest, oldest = Signal(bits, name="newest"), Signal(bits, name="oldest_record")
        held = Signal.like(ports.records, name="held")
        comes, removed = Signal(name="comes"), Signal(name="removed")
        m.d.comb += [comes.eq(record.valid & record.last), removed.eq(ports.pop & held.any())]
        with m.If(comes):
            m.d.sync += newest.eq(newest + 1)
        with m.If(removed):
            m.d.sync += oldest.eq(oldest + 1)
        with m.If(comes ^ removed):
            m.d.sync += held.eq(held + Cat(C(1, 1), removed.replicate(len(held) - 1)))
        m.d.sync += [ports.records.eq(held), ports.record_taken.eq(removed)]

        memory = Rows(m, "memory", len(record.data), FINAL_RECORD_WORDS << bits, block=True)
        memory.write(record.valid, Cat(record.word, newest), record.data)
        # The word that is read next; 8 when all were.
        number, reads = Signal(_NUMBER + 1, name="number"), Signal(name="reads")
        m.d.comb += reads.eq(held.any() & ~number[-1])
        with m.If(removed):
            m.d.sync += number.eq(0)
        with m.Elif(reads):
            m.d.sync += number.eq(number + 1)
        came, comes_now = Signal(_NUMBER, name="came"), Signal(name="comes_now")
        m.d.sync += [came.eq(number[:_NUMBER]), comes_now.eq(reads & ~removed)]
        found = memory.later(Cat(number[:_NUMBER], oldest))
        words = ports.oldest.as_value()
        absent = _PREEMPT_WORDS[self._config.has_loops :]
        for n in range(FINAL_RECORD_WORDS):
            word = words[n * len(record.data) :][: len(record.data)]
            # No gate stands between the block memory and a word's register.
            loads = comes_now & (came == n)
            if n in absent:
                loads &= Value.cast(ports.oldest.kind).any()
            with m.If(removed):
                m.d.sync += word.eq(0)
            with m.Elif(loads):
                m.d.sync += word.eq(found)
        return m
