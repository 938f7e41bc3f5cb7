"""Final records, a word a cycle; tickets, times of acceptance and numbers by entry."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.launch.pending_preempt import COUNTS
from warploom.launch.queue_events import record_head_layout
from warploom.lib.bits import number_of
from warploom.lib.rows import Rows
from warploom_spec import Config, layouts, queue_packets
from warploom_spec.queue import RecordKind
from warploom_spec.resident_packets import record_word, resident_entry_bits

#: Words of a record in the order in which they are written: of a launch without loops and with
#: them, of a PREEMPT.
LAUNCH_WORDS = (1, 2, 0, 5, 6, 7)
NUMBERED_WORDS = (1, 2, 0, 5, 6, 3, 7)
PREEMPT_WORDS = (1, 2, 0, 5, 6, 3, 4, 7)
#: Those of a launch that stand in memory: ticket, number, time of acceptance.
_FACTS = (0, 3, 5)
#: An END's last step comes four cycles after the cycle before its pick.
_END = 4


class RecordWriter(wiring.Component):
    """Write the words of a record from two cycles after its event on.

    Rules 8, 18 and 29 of ``docs/launch/kernel_queue.md``. A record's event comes while no other
    record is written, or in the last cycle of one.

    Parameters
    ----------
    config : Config
        Widths.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        entry, stream = resident_entry_bits(config), config.stream_bits
        counts = (1 << stream).bit_length()
        self._launch_words = NUMBERED_WORDS if config.has_loops else LAUNCH_WORDS
        # The number of the launch that was accepted in the cycle before.
        numbers = {"count": In(queue_packets.WAIT_BITS)} if config.has_loops else {}
        super().__init__(
            {
                # The boot clears an entry; the free-running counter.
                "boot": In(1),
                "boot_entry": In(entry),
                "clock": In(32),
                # A launch comes into the inbox: its time; it is accepted: its ticket.
                "comes": In(1),
                "accepts": In(1),
                "entry": In(entry),
                "ticket": In(layouts.TICKET_BITS),
                "stream": In(stream),
                **numbers,
                # A record begins; an entry is in use no more.
                "records": In(1),
                "retires": In(1),
                "head": In(record_head_layout(config)),
                # The times of the run that is over: a cycle before an END's last step, and in it.
                "takes_first": In(1),
                "ended_first": In(32),
                "takes_cycles": In(1),
                "ended_cycles": In(32),
                # A PREEMPT is accepted; what became of its launches.
                "preempts": In(1),
                "counts": In(counts).array(len(COUNTS)),
                # The search: an entry, and two cycles later what was found in the cycle before.
                "number": In(entry),
                "wanted": In(layouts.TICKET_BITS),
                "matches": Out(1),
                "found_stream": Out(stream),
                # A record is written; one will be in four cycles; a PREEMPT's last word is made.
                "busy": Out(1),
                "busy_at_end": Out(1),
                "made_preempt": Out(1),
                "record": Out(record_word(config).layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        # One-hot: the word that is chosen; it stands at `record` a cycle later.
        at = Signal(len(PREEMPT_WORDS), name="at")
        head = Signal(record_head_layout(self._config), name="record_head")
        long = head.preempt
        last = Mux(long, at[len(PREEMPT_WORDS) - 1], at[len(self._launch_words) - 1])
        with m.If(ports.records):
            m.d.sync += [at.eq(1), head.eq(ports.head)]
        with m.Else():
            m.d.sync += at.eq(Mux(last, 0, at << 1))
        early = (at << _END)[: len(at)]
        m.d.comb += [
            ports.busy.eq(at.any()),
            ports.busy_at_end.eq(Mux(long, early.any(), early[: len(self._launch_words)].any())),
            ports.made_preempt.eq(long & last),
        ]
        fact = self._facts(m, at, head)
        self._word(m, at, head, last, fact)
        return m

    def _facts(self, m: Module, at: Signal, head: Any) -> Any:
        """Keep ticket and time of each entry; return the one read two cycles before."""
        ports: Any = self
        entries = 1 << len(ports.entry)
        width = len(ports.clock) + len(ports.stream)
        writes: Value = ports.comes | ports.accepts
        value: Value = Mux(ports.comes, ports.clock, Cat(ports.ticket, ports.stream))
        kinds, reads_head = [ports.comes], at[:2].any()
        reads = [reads_head & at[1]]
        if self._config.has_loops:
            # No launch comes in the cycle behind an acceptance.
            numbers = Signal(name="writes_number")
            m.d.sync += numbers.eq(ports.accepts)
            writes, value = writes | numbers, Mux(numbers, ports.count, value)
            kinds.append(numbers)
            reads.append(at[3])
            reads_head = reads_head | at[3]
        facts = Rows(m, "facts", width, entries << len(kinds), block=True)
        facts.write(writes, Cat(kinds, ports.entry), value)
        fact = Signal(width, name="fact", reset_less=True)
        m.d.sync += fact.eq(facts.later(Cat(reads, Mux(reads_head, head.entry, ports.number))))
        used = Rows(m, "used", 1, entries)
        used.write(
            ports.boot | ports.accepts | ports.retires,
            Mux(ports.boot, ports.boot_entry, Mux(ports.accepts, ports.entry, ports.head.entry)),
            ports.accepts,
        )
        # The entry was in use when its ticket was read, and a cycle later: no other launch has it.
        in_use = Signal(2, name="in_use")
        m.d.sync += in_use.eq(Cat(used.now(ports.number), in_use[0]))
        m.d.comb += [
            ports.matches.eq((fact[:32] == ports.wanted) & in_use.all()),
            ports.found_stream.eq(fact[32:]),
        ]
        return fact

    def _word(self, m: Module, at: Signal, head: Any, last: Any, fact: Any) -> None:
        """Choose the word that comes next."""
        ports: Any = self
        layout = queue_packets.final_record_words(self._config).layout()
        words = Signal(layout, name="words")
        first, cycles, time = (
            Signal(32, name=name, reset_less=True) for name in ("first", "cycles", "preempt_time")
        )
        with m.If(ports.takes_first):
            m.d.sync += first.eq(ports.ended_first)
        with m.If(ports.takes_cycles):
            m.d.sync += cycles.eq(ports.ended_cycles)
        with m.If(ports.preempts):
            m.d.sync += time.eq(ports.clock)
        finished, killed, drained, skipped = ports.counts
        m.d.comb += [
            *(getattr(words, n).eq(getattr(head, n)) for n in ("code", "fate", "kills")),
            words.kind.eq(Mux(head.preempt, RecordKind.PREEMPT, RecordKind.LAUNCH)),
            *(getattr(words, n).eq(getattr(head, n)) for n in ("reset_as_drain", "stream")),
            words.offered.eq(head.offered),
        ]
        launch = {n: at[k] & ~head.preempt for k, n in enumerate(self._launch_words)}
        preempt = {n: at[k] & head.preempt for k, n in enumerate(PREEMPT_WORDS)}
        facts = reduce(or_, (chosen for n, chosen in launch.items() if n in _FACTS))
        # At most one of them is chosen.
        sources = (
            (facts, fact[:32]),
            (launch[1] | preempt[1], words.as_value()[32:64]),
            (launch[2] & head.offered, cycles),
            (preempt[2], finished),
            (preempt[3], Cat(killed, C(0, 16 - len(killed)), drained)),
            (preempt[4], skipped),
            (preempt[5], time),
            ((launch[6] | preempt[6]) & head.offered, first),
            (launch[7] | preempt[7], ports.clock),
        )
        record = ports.record
        m.d.sync += [record.valid.eq(at.any()), record.last.eq(last)]
        with m.If(at.any()):
            m.d.sync += [
                record.word.eq(
                    number_of(Cat(*launch.values(), *preempt.values()), (*launch, *preempt))
                ),
                record.data.eq(
                    reduce(or_, (value & chosen.replicate(len(value)) for chosen, value in sources))
                ),
            ]
