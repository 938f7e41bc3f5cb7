"""Final records of eight words, kept in order until the host has read them."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, queue_packets


class RecordQueue(wiring.Component):
    """Keep final records in block memory, and show the oldest one.

    Ports and the exact machine: ``docs/launch/record_queue.md``.

    Parameters
    ----------
    config : Config
        ``queue_depth``: there are 4 of it plus 4 records.
    """

    record: "data.View[data.StructLayout]"
    oldest: "data.View[data.FlexibleLayout]"
    records: Signal
    pop: Signal
    record_taken: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # KernelQueue's record; its place is reserved, so it is never refused.
                "record": In(queue_packets.final_record(config).layout()),
                # The oldest record, from three cycles after it came into an empty queue; 0 if there
                # is none. A register.
                "oldest": Out(queue_packets.final_record_words(config).layout()),
                # Records here, from two cycles after they came. A register.
                "records": Out(range(config.records + 1)),
                # Forget the record that is shown: that of `oldest`, or the next one after a pop in
                # the cycle before.
                "pop": In(1),
                # A pop has removed a record. A register.
                "record_taken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        names = [field.name for field in queue_packets.final_record_words(self._config).fields]
        # The memory has a power of two of words: its pointers wrap by themselves.
        bits = (self._config.records - 1).bit_length()
        word = data.StructLayout({name: len(self.record[name]) for name in names})
        memory: Any = Memory(shape=word, depth=1 << bits, init=[])
        m.submodules.memory = memory
        write = memory.write_port()
        read = memory.read_port()
        shown = Signal()
        removed = Signal()
        load = Signal()
        m.d.comb += [
            *(write.data[name].eq(self.record[name]) for name in names),
            write.en.eq(self.record.valid),
            removed.eq(self.pop & shown),
            # The comparison also tells synthesis that no word is read while it is written: else
            # it adds gates for a read of old data.
            load.eq((read.addr != write.addr) & (~shown | self.pop)),
            read.en.eq(load),
        ]
        with m.If(self.record.valid):
            m.d.sync += write.addr.eq(write.addr + 1)
        with m.If(load):
            m.d.sync += read.addr.eq(read.addr + 1)
        held = Signal.like(self.records)
        with m.If(self.record.valid ^ removed):
            m.d.sync += held.eq(held + Cat(C(1, 1), removed.replicate(len(held) - 1)))
        m.d.sync += [
            shown.eq(load | (shown & ~removed)),
            self.record_taken.eq(removed),
            self.records.eq(held),
        ]
        # The word of a block memory comes late in its cycle: nothing stands before its register,
        # which a register's reset clears.
        with m.If(shown):
            m.d.sync += [self.oldest[name].eq(read.data[name]) for name in names]
        with m.Else():
            m.d.sync += self.oldest.eq(0)
        return m
