"""The history cache of block shapes: which indices exist, and which are still read."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.index._filter_history import History, Queue
from warploom_spec import Config, ErrorCode, layouts, timing


class ConfigFilter(wiring.Component):
    """Look an index configuration up in a history of block shapes.

    The lookup takes three cycles, with registers between them: the configuration is compared with
    every entry, judged, and accepted. So an acceptance comes 3 cycles after the transfer at the
    earliest, and at most one configuration is accepted in 4 cycles. A hit needs nothing further.
    A miss replaces the victim, drops the entries that its region overwrites, and goes to the
    iterator.

    Parameters
    ----------
    config : Config
        ``history_entries``, ``reference_bits`` and the widths of a configuration.
    """

    i: stream.Interface
    cancel: Signal
    needs_release: Signal
    decision: stream.Interface
    o: stream.Interface
    accepted: data.View
    finished: Signal
    done: stream.Interface
    release: stream.Interface
    error: data.View
    error_count: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        decision = stream.Signature(layouts.index_decision(config).layout())
        configuration = stream.Signature(layouts.index_config(config).layout())
        super().__init__(
            {
                # Configurations. `ready` is the state of a register: the lookup stage is empty.
                "i": In(configuration),
                # Empties the lookup stage; a configuration that transfers in the same cycle is
                # dropped. An acceptance in the same cycle comes first.
                "cancel": In(1),
                # Only a release helps the configuration in the lookup stage. From registers; 3
                # cycles after its transfer at the earliest.
                "needs_release": Out(1),
                # Hit or miss and entry, one cycle after the acceptance.
                "decision": Out(decision),
                # A missed configuration, in the cycle of its acceptance.
                "o": Out(configuration),
                # Pulse in the cycle of a miss's acceptance (combinational).
                "accepted": Out(layouts.index_region(config).layout()),
                # The oldest unfinished miss is wholly written.
                "finished": In(1),
                # In order of acceptance: the indices stand in the memory. Valid in the cycle of
                # `finished` (combinational), of a hit two cycles after its acceptance, at the
                # earliest.
                "done": Out(decision),
                # Gives one reference back; `ready` is always 1. With an acceptance of the same
                # entry in one cycle the count stays.
                "release": In(stream.Signature(unsigned(config.entry_bits))),
                # `RELEASE_UNREFERENCED` one cycle after a release of an entry without references,
                # also when the entry is accepted in that cycle.
                "error": Out(layouts.error_record(config).layout()),
                # Error records so far; stays at its highest value.
                "error_count": Out(timing(config).error_counter_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        m.submodules.history = history = History(config)
        m.submodules.answers = answers = _Answers(config)
        full = Signal()
        ripe = Signal()
        judged = Signal()
        accept = Signal()
        hits = Signal()
        missed = Signal()
        hit_before = Signal()
        missed_before = Signal()

        free = Signal()
        m.d.comb += [
            self.o.valid.eq(free & history.may_miss),
            missed.eq(self.o.valid & self.o.ready),
            hits.eq(free & history.may_hit),
            accept.eq(missed | hits),
            self.i.ready.eq(~full),
            self.needs_release.eq(judged & history.needs_release),
            history.given.eq(self.i.payload),
            history.compare.eq(~ripe),
            self.o.payload.eq(history.kept),
            history.misses.eq(missed),
            history.hits.eq(hits),
            history.new_miss.eq(missed_before),
            history.new_entry.eq(self.decision.payload.entry),
            history.finished.eq(self.finished),
            history.release.eq(self.release.payload),
            history.release_valid.eq(self.release.valid),
            answers.new.eq(hit_before | missed_before),
            answers.decision.eq(self.decision.payload),
            answers.finished.eq(self.finished),
            answers.unfinished.eq(history.unfinished),
            self.done.valid.eq(answers.done_valid),
            self.done.payload.eq(answers.done),
            answers.done_ready.eq(self.done.ready),
            self.release.ready.eq(1),
        ]
        m.d.sync += [
            # `free`: in the next cycle a judged configuration stands in the lookup stage, and
            # there is a place for its decision and for its answer.
            free.eq(
                ripe
                & ~accept
                & ~self.cancel
                & (~self.decision.valid | self.decision.ready)
                & ~answers.fills
            ),
            full.eq(~self.cancel & Mux(full, ~accept, self.i.valid)),
            ripe.eq(~self.cancel & full & ~accept),
            # The history judges a ripe configuration. One that it lets wait for a release is not
            # accepted in the same cycle: `judged` needs no `accept`, which is late.
            judged.eq(~self.cancel & ripe),
            hit_before.eq(hits),
            missed_before.eq(missed),
            self.decision.valid.eq(accept | (self.decision.valid & ~self.decision.ready)),
        ]
        with m.If(~self.decision.valid):
            m.d.sync += [
                self.decision.payload.hit.eq(history.may_hit),
                self.decision.payload.entry.eq(history.entry),
            ]
        self._pulses(m, missed, history.unreferenced)
        return m

    def _pulses(self, m: Module, missed: Signal, unreferenced: Signal) -> None:
        """Give out the region that is about to be overwritten, and error records."""
        m.d.comb += [
            self.accepted.valid.eq(missed),
            self.accepted.address.eq(self.o.payload.address),
            self.accepted.warps.eq(self.o.payload.warps),
            self.error.code.eq(ErrorCode.RELEASE_UNREFERENCED),
        ]
        highest = Signal()
        argument = Signal.like(self.error.argument, reset_less=True)
        m.d.comb += self.error.argument.eq(argument)
        m.d.sync += [self.error.valid.eq(unreferenced), argument.eq(self.release.payload)]
        with m.If(unreferenced):
            m.d.sync += [
                self.error_count.eq(self.error_count + ~highest),
                highest.eq(self.error_count[1:].all()),
            ]


class _Answers(wiring.Component):
    """The queue of outstanding answers, oldest first, at most `timing.done_depth`.

    The answer of a hit can be given from the second cycle after its acceptance on. Misses finish in
    their order, so a count of the finished ones that were not taken tells whether the oldest answer
    can be given.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        decision = layouts.index_decision(config).layout()
        super().__init__(
            {
                # A configuration was accepted in the cycle before, and its answer.
                "new": In(1),
                "decision": In(decision),
                # The queue is full from the next cycle on.
                "fills": Out(1),
                # The oldest unfinished miss is wholly written; `unfinished`: there is one.
                "finished": In(1),
                "unfinished": In(1),
                # The oldest answer, until it is taken.
                "done_valid": Out(1),
                "done": Out(decision),
                "done_ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        depth = timing(self._config).done_depth
        m.submodules.queue = queue = Queue(self.decision.shape().size, depth)
        first = data.View(self.decision.shape(), queue.first)
        finished = Signal(depth)
        # What the registers say of the oldest answer: it is good; it is a miss.
        good = Signal()
        missed = Signal()
        pop = Signal()
        m.d.comb += [
            good.eq(queue.held[0] & (first.hit | finished[0])),
            missed.eq(Mux(queue.held[0], ~first.hit, self.new & ~self.decision.hit)),
            queue.push.eq(self.new),
            queue.pushed.eq(self.decision),
            queue.pop.eq(pop),
            # A pop makes a place, unless the new answer takes it.
            self.fills.eq(
                Mux(
                    queue.held[depth - 1],
                    ~pop | self.new,
                    queue.held[depth - 2] & self.new & ~pop,
                )
            ),
            self.done.eq(Mux(queue.held[0], first, self.decision)),
            self.done_valid.eq(good | (missed & self.finished)),
            pop.eq(self.done_ready & (good | (missed & self.finished))),
        ]
        more = self.finished & self.unfinished
        less = self.done_ready & missed & (finished[0] | self.finished)
        with m.If(more & ~less):
            m.d.sync += finished.eq(Cat(C(1, 1), finished))
        with m.Elif(less & ~more):
            m.d.sync += finished.eq(finished[1:])
        return m
