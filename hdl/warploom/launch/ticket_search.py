"""ABORT: the entry that has a ticket is searched, three cycles each."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, queue_packets
from warploom_spec.queue import QueueCode
from warploom_spec.resident_packets import resident_entry_bits


class TicketSearch(wiring.Component):
    """Search the entries by number, and keep the hit until its event is served.

    Rule 18 of ``docs/launch/kernel_queue.md``. An entry that is given back before takes the hit
    away.

    Parameters
    ----------
    config : Config
        ``queue_depth``, ``priority_bits``.
    """

    writer_busy: Signal
    reads: Signal
    number: Signal
    matches: Signal
    found_stream: Signal
    gave: Signal
    given: Signal
    picked: Signal
    last: Signal
    hit: Signal
    entry: Signal
    stream: Signal
    idle: Signal

    def __init__(self, config: Config) -> None:
        self._entries, self._has_loops = (
            config.queue_depth << config.priority_bits,
            config.has_loops,
        )
        entry = resident_entry_bits(config)
        super().__init__(
            {
                # The ticket that is searched; taken when the ABORT is answered.
                "abort": In(stream.Signature(queue_packets.launch_abort(config).layout())),
                # A register.
                "answer": Out(queue_packets.queue_code(config).layout()),
                # A record is written: the tickets' memory is taken.
                "writer_busy": In(1),
                # Which entry's ticket is read. Two cycles later: it matches, but for a launch that
                # ended in the cycle before; its stream.
                "reads": Out(1),
                "number": Out(entry),
                "matches": In(1),
                "found_stream": In(config.stream_bits),
                # An entry was given back in the cycle before.
                "gave": In(1),
                "given": In(entry),
                # The ABORT is picked; it has its last step.
                "picked": In(1),
                "last": In(1),
                # A hit that waits, its entry and stream: registers.
                "hit": Out(1),
                "entry": Out(entry),
                "stream": Out(config.stream_bits),
                "idle": Out(1),
                # With loops: the hit's entry was given back in the cycle before. Behind a quiet
                # launch that finishes the writer is free: the ABORT must not be picked.
                **({"lost": Out(1)} if config.has_loops else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        abort, answer = ports.abort, ports.answer
        reads, waits, compares, unknown, served = (
            Signal(name=name) for name in ("asks", "waits", "compares", "unknown", "served")
        )
        under_way = Signal()
        gone, match = Signal(name="gone"), Signal(name="match")
        lost = ports.lost if self._has_loops else Signal(name="lost")
        last_one = Signal()
        m.d.comb += [
            under_way.eq(reads | waits | compares | self.hit | unknown | served | answer.valid),
            self.idle.eq(~under_way),
            self.reads.eq(reads & ~self.writer_busy),
            last_one.eq(self.number == self._entries - 1),
            gone.eq(self.gave & (self.given == self.number)),
            lost.eq(self.hit & self.gave & (self.given == self.entry)),
            match.eq(self.matches & ~gone),
            abort.ready.eq(self.last | unknown),
        ]
        m.d.sync += [
            reads.eq(
                (~under_way & abort.valid)
                | (reads & self.writer_busy)
                | (compares & ~match & ~last_one)
            ),
            waits.eq(self.reads),
            compares.eq(waits),
            unknown.eq((compares & ~match & last_one) | lost),
            answer.valid.eq(abort.ready),
            answer.code.eq(0),
            served.eq((served | self.picked) & ~self.last),
        ]
        with m.If(unknown):
            m.d.sync += answer.code.eq(QueueCode.TICKET_UNKNOWN)
        with m.If(~under_way):
            m.d.sync += self.number.eq(0)
        with m.Elif(compares):
            m.d.sync += self.number.eq(self.number + 1)
        with m.If(compares):
            m.d.sync += [self.entry.eq(self.number), self.stream.eq(self.found_stream)]
        with m.If(compares & match):
            m.d.sync += self.hit.eq(1)
        with m.Elif(self.picked | lost):
            m.d.sync += self.hit.eq(0)
        return m
