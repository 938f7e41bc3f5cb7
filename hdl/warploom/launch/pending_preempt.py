"""A PREEMPT from its acceptance to its record: whom it watches, and what became of them."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config

#: Cycles after which `hold` has had its effect on the dispatcher's levels.
_SETTLES = 9
#: What is counted.
COUNTS = ("finished", "killed", "drained", "skipped")


class PendingPreempt(wiring.Component):
    """Meet residents, count what becomes of each, and say when the record is due.

    Rules 27 to 29 of ``docs/launch/kernel_queue.md``. A RESUME wins over an END and a visit.

    Parameters
    ----------
    config : Config
        ``stream_bits``.
    """

    asks: Signal
    accepted: Signal
    resumes: Signal
    resident: Signal
    ends: Signal
    finished: Signal
    again: Signal
    hold: Signal
    open: Signal
    busy: Signal
    begun: Signal
    killable: Signal
    visited: Signal
    picked: Signal
    made: Signal
    pending: Signal
    due: Signal

    def __init__(self, config: Config) -> None:
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # A PREEMPT is accepted, for these streams; a RESUME.
                "asks": In(streams),
                "accepted": In(1),
                "resumes": In(streams),
                # Residents; one-hot: an END in its last step, and what it says.
                "resident": In(streams),
                "ends": In(streams),
                "finished": In(1),
                "again": In(1),
                # Levels of the dispatcher, and to it.
                "hold": In(streams),
                "open": In(streams),
                "busy": In(streams),
                "begun": In(streams),
                "killable": In(streams),
                # One-hot: whose turn it is.
                "visited": In(streams),
                # The record's event is picked; its last word is made.
                "picked": In(1),
                "made": In(1),
                # Registers. The counts stay until the next PREEMPT.
                "pending": Out(1),
                "due": Out(1),
                "counts": Out(streams.bit_length()).array(len(COUNTS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        streams = len(self.asks)
        asked, watched, quiet, seen, ended = (
            Signal(streams, name=name)
            for name in ("asked", "watched", "quiet", "seen", "watched_end")
        )
        settles = Signal(range(_SETTLES + 1))
        first = Signal()
        told = Signal()
        settled = Signal()
        m.d.sync += first.eq(self.accepted)
        with m.If(self.accepted):
            m.d.sync += [self.pending.eq(1), settles.eq(_SETTLES), asked.eq(self.asks), told.eq(0)]
        with m.Else():
            with m.If(settles.any()):
                m.d.sync += settles.eq(settles - 1)
            with m.If(self.made):
                m.d.sync += self.pending.eq(0)
            with m.If(self.picked):
                m.d.sync += told.eq(1)
        m.d.comb += [
            settled.eq(~settles.any()),
            quiet.eq(watched & self.hold & self.open & ~self.busy & ~(self.begun & self.killable)),
            seen.eq(quiet & self.visited & settled.replicate(streams)),
            ended.eq(watched & self.ends & ~self.resumes),
        ]
        enters = asked & self.resident & ~self.ends & first.replicate(streams)
        m.d.sync += [
            watched.eq(((watched & ~seen & ~self.ends) | enters) & ~self.resumes),
            self.due.eq(
                self.pending & ~told & ~self.picked & settled & ~watched.any() & ~self.accepted
            ),
        ]
        counted = seen & ~self.resumes & ~self.ends
        steps = (
            ended.any() & self.finished,
            ended.any() & self.again,
            (counted & self.begun).any(),
            (counted & ~self.begun).any(),
        )
        for count, step in zip(self.counts, steps, strict=True):
            with m.If(self.accepted):
                m.d.sync += count.eq(0)
            with m.Elif(step):
                m.d.sync += count.eq(count + 1)
        return m
