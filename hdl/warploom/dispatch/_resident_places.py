"""The two places of resident launches: which one is walked next, which ones are stopped."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch._fit_table import amounts
from warploom.dispatch._launch_end import LaunchEnd
from warploom.dispatch._yielding import Yielding, drains_and_kills
from warploom.dispatch.grid_walker import block_place
from warploom.dispatch.sm.counts import WalkState, both
from warploom.dispatch.sm.port import SmEvents
from warploom.lib.timers import timer
from warploom_spec import Config, layouts, timing
from warploom_spec.layouts import BLOCK_NUMBER_BITS

#: What an offer takes from its launch: field of the offer, field of the launch.
_OFFERED = (
    ("index_address", "index_address"),
    ("index_warps", "warps"),
    ("width_x", "width_x"),
    ("width_y", "width_y"),
    ("width_z", "width_z"),
)


class WalkerPort(wiring.Signature):
    """What the places tell the walker, and what the walker shows them.

    Members: ``grid``, the stream of the grid to walk next; ``flush``, the walked launch is stopped
    and the walker forgets it at the end of the cycle; ``block`` and ``valid``, the walker's block;
    ``decided``, that block was decided in the last cycle. With ``preempts`` `GridWalker`'s ports of
    a walk that resumes, too.
    """

    def __init__(self, config: Config, preempts: bool = False) -> None:
        resume = {
            "drop": Out(1),
            "number": Out(BLOCK_NUMBER_BITS),
            "counted": Out(1),
            "next_block": In(block_place(config)),
        }
        super().__init__(
            {
                "grid": Out(stream.Signature(layouts.grid_walk(config).layout())),
                "flush": Out(1),
                "block": In(layouts.walked_block(config).layout()),
                "valid": In(1),
                "decided": In(1),
                **(resume if preempts else {}),
            }
        )


class HeadPort(wiring.Signature):
    """The head, as the decision and the stall counters see it.

    Members: ``active``, a head stands and is not stopped; ``wanted``, it may be decided;
    ``barred``, it may not, because it is stopped or fits nowhere; ``offered``, the fields that
    offers take from its launch.
    """

    def __init__(self, offered: data.StructLayout) -> None:
        super().__init__(
            {"active": Out(1), "wanted": Out(1), "barred": Out(1), "offered": Out(offered)}
        )


class FitPort(wiring.Signature):
    """The launches of both places, as the fit table sees them.

    Members: ``begun``, the place's launch is new in this cycle; ``newest``, the place occupied
    last; ``needs``, by place, what one block takes; ``none``, by place, from the next cycle on no
    block of the launch fits.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "begun": Out(2),
                "newest": Out(1),
                "needs": Out(amounts(config)).array(2),
                "none": In(2),
            }
        )


class ResidentPlaces(wiring.Component):
    """Hold at most two launches from their acceptance to their final record.

    Vectors of 2 bits are indexed by place. A launch keeps its place, and the outputs that depend on
    it, from its acceptance until the place is occupied again. Rules: ``block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        The configuration.
    preempts : bool, optional
        Whether a launch may be skipped, and yield to the other place's.
    """

    launch: stream.Interface
    stop: "data.View[data.StructLayout]"
    ended: stream.Interface
    words: "list[data.View[data.StructLayout]]"
    kill: Signal
    boot: Signal
    walker: Any
    walk: Any
    head: Any
    fit: Any
    events: Any
    all_lost: Signal
    late: Signal
    resident: Signal
    ordered: Signal
    priority: Signal
    yielding: Signal
    number: Signal
    ended_number: Signal
    started: Signal
    yields: Signal

    def __init__(self, config: Config, *, preempts: bool = False) -> None:
        self._config = config
        self._preempts = preempts
        offer = layouts.block_offer(config).layout()
        # Without an index memory offers have none of these fields.
        self.copied = [(name, source) for name, source in _OFFERED if name in offer.members]
        self._offered = data.StructLayout({name: offer[name].width for name, _ in self.copied})
        # The rank of the launch at `launch`, and its first block's number; the dispatcher's outputs
        # of these names.
        ranks = {
            "priority": In(config.priority_bits),
            "yielding": In(1),
            "number": In(BLOCK_NUMBER_BITS),
            "ended_number": Out(BLOCK_NUMBER_BITS),
            "started": Out(2),
            "yields": Out(2),
        }
        super().__init__(
            {
                # The dispatcher's ports.
                "launch": In(stream.Signature(layouts.dispatch_launch(config).layout())),
                "stop": In(layouts.dispatch_stop(config).layout()),
                "ended": Out(stream.Signature(layouts.dispatch_end(config).layout())),
                "words": Out(layouts.launch_words(config).layout()).array(2),
                "kill": Out(2),
                # No launch is taken in the next cycle.
                "boot": In(1),
                # The grid to walk next, and the walker's block.
                "walker": Out(WalkerPort(config, preempts)),
                # Which place is walked, and its next block that is not decided.
                "walk": Out(WalkState()),
                "head": Out(HeadPort(self._offered)),
                # What fits on an SM.
                "fit": Out(FitPort(config)),
                # What happens on any SM. `hits`, `faulty` and `killed` come a cycle later than of
                # one.
                "events": In(SmEvents()),
                # No SM is left.
                "all_lost": In(1),
                # SMs with unreported blocks of the launch are lost at the end of the cycle.
                "late": Out(2),
                # A launch has started and has not ended.
                "resident": Out(1),
                # No place is walked, and stream order alone holds a launch back.
                "ordered": Out(1),
                **(ranks if preempts else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        m.submodules.end = end = LaunchEnd(self._config, numbered=self._preempts)
        occupied = Signal(2)
        accepted = Signal(2)
        free = Signal()
        # Alone a launch gets the lower place.
        m.d.comb += [
            self.launch.ready.eq(free),
            accepted.eq(Cat(~occupied[0], occupied[0]) & both(self.launch.valid & free)),
        ]
        with m.If(accepted.any()):
            m.d.sync += self.fit.newest.eq(accepted[1])
        occupied_next = (occupied & ~end.freed) | accepted
        m.d.sync += [
            occupied.eq(occupied_next),
            free.eq(~occupied_next.all() & ~self.boot),
            self.fit.begun.eq(accepted),
        ]

        # In the cycle after a decision the walker still shows the decided block; the head is the
        # block after it.
        walker, walk, head, flags = self.walker, self.walk, self.head, end.flags
        walked = Signal()
        rule = Yielding(self._config, self._offered) if self._preempts else None
        if rule is None:
            m.d.comb += walked.eq(walker.valid & ~(walker.block.last & walker.decided))
        else:
            m.d.comb += [
                rule.ends.eq(walker.block.last & walker.decided),
                walked.eq(walker.valid & ~rule.ends & ~rule.interrupted),
            ]
        place = Cat(~walk.place, walk.place)
        own = place & both(walked)
        started = Signal(2)
        exhausted = Signal(2)
        stopped = Signal(2)
        decided = Cat(~walk.role, walk.role) & both(walker.decided)
        # A place is free for at least one cycle; its flags are cleared then.
        m.d.sync += [
            started.eq(occupied & (started | decided)),
            exhausted.eq(occupied & (exhausted | (decided & both(walker.block.last)))),
        ]
        m.d.comb += self.resident.eq((occupied & started).any())
        # From the cycle after its launch's stop on the head is not decided. The walker forgets the
        # place one cycle later, if it still is walked.
        halt = Signal()
        halt_before = Signal()
        waits = Signal()
        if rule is not None:
            rule.inform(m, occupied, stopped, exhausted, own, decided)
            m.d.sync += self.yields.eq(rule.outranked & ~stopped & ~exhausted)
            m.d.comb += [self.started.eq(started), self.ended_number.eq(end.ended_number)]
        walk_fire = self._choose(m, walked, accepted, occupied, stopped, end.words, rule)
        barred = (place & (stopped | self.fit.none)).any()
        m.d.sync += [
            halt.eq((own & stopped).any()),
            halt_before.eq(halt),
            head.barred.eq(barred),
            waits.eq(barred | walk_fire),
        ]
        m.d.comb += [
            walker.flush.eq(halt & halt_before & walked),
        ]
        active, wanted = walked & ~walk.starts & ~halt, walked & ~waits
        flushed = own & both(walker.flush)
        if rule is not None:
            # A block that was decided in the last cycle is the head's launch's.
            skipped = (place & rule.skips).any() & ~walker.decided
            active, wanted = active & ~skipped, wanted & ~skipped
            flushed = flushed | (place & both(rule.interrupted))
            rule.leave(m, walker, flushed, end.words)
        m.d.comb += [head.active.eq(active), head.wanted.eq(wanted)]
        self._keep(m, accepted, flushed, end)
        no_sm_left = occupied & ~exhausted & both(self.all_lost)
        self._stop(m, accepted, occupied, end.freed, no_sm_left, stopped, started, rule)
        for flag, cause in (
            (flags.fault, self.events.faulty),
            (flags.killed, self.events.killed),
            (flags.sm_loss, self.events.sm_loss),
            (flags.no_sm_left, no_sm_left),
        ):
            m.d.sync += flag.eq(occupied & (flag | cause))
        over = Signal(2)
        m.d.sync += over.eq(occupied & ~end.freed & ~decided & (exhausted | (stopped & ~own)))
        m.d.comb += [
            end.gone.eq(over & ~self.events.held),
            end.newest.eq(self.fit.newest),
            end.entered.eq(self.fit.begun),
            end.begun.eq(decided & ~started),
            flags.started.eq(started),
            flags.exhausted.eq(exhausted),
            flags.stop_kill.eq(self.kill),
            end.reported.eq(self.events.hits),
        ]
        wiring.connect(m, end.ended, wiring.flipped(self.ended))
        return m

    def _keep(self, m: Module, accepted: Value, flushed: Value, end: LaunchEnd) -> None:
        """Register a new launch's words, and the head of a launch that is stopped."""
        launch = self.launch.payload
        head = {axis: self.walker.block[f"b{axis}"] for axis in "xyz"}
        if self._preempts:
            head = {axis: self.walker.next_block[axis] for axis in "xyz"}
        for place in range(2):
            words, needs, record = self.words[place], self.fit.needs[place], end.words[place]
            # Of a layout's signal the stubs do not know that it is a view.
            held: Any = Signal(words.shape(), name=f"words_{place}", reset_less=True)
            amount: Any = Signal(needs.shape(), name=f"needs_{place}", reset_less=True)
            stream_ = Signal(len(record.stream), name=f"stream_{place}", reset_less=True)
            block: Any = Signal(record.next.shape(), name=f"next_{place}", reset_less=True)
            m.d.comb += [
                words.eq(held),
                needs.eq(amount),
                record.ticket.eq(held.ticket),
                record.stream.eq(stream_),
                record.next.eq(block),
            ]
            with m.If(accepted[place]):
                m.d.sync += [held[name].eq(launch[name]) for name in words.shape().members]
                m.d.sync += [amount[name].eq(launch[name]) for name in needs.shape().members]
                m.d.sync += stream_.eq(launch.stream)
            if self._config.makes_indices:
                entries = Signal(len(record.entries), name=f"entries_{place}", reset_less=True)
                m.d.comb += record.entries.eq(entries)
                with m.If(accepted[place]):
                    m.d.sync += entries.eq(launch.entries)
            with m.If(flushed[place]):
                m.d.sync += [block[axis].eq(head[axis]) for axis in "xyz"]

    def _choose(
        self,
        m: Module,
        walked: Signal,
        accepted: Value,
        occupied: Signal,
        stopped: Signal,
        words: Any,
        rule: Yielding | None,
    ) -> Signal:
        """Give the walker the next grid: leftover policy and stream order.

        Returns whether it gets one in this cycle.
        """
        staged = Signal(2)
        given = Signal(2)
        after_previous = Signal(2)
        same_stream: Value = words[0].stream == words[1].stream
        for place in range(2):
            with m.If(accepted[place]):
                m.d.sync += after_previous[place].eq(self.launch.payload.after_previous)
        # A launch stands in its place for `stage` - 1 cycles before it is given.
        old: Value = occupied
        for k in range(timing(self._config).stage - 2):
            later = Signal(2, name=f"staged_{k}")
            m.d.sync += later.eq(old & occupied)
            old = later
        m.d.comb += staged.eq(old)
        newest = self.fit.newest
        older = occupied & Cat(newest, ~newest)
        kept: Value = given
        prior: Value = older
        if rule is not None:
            kept = given & ~rule.again(self.walk.place)
            outranked = rule.outranked
            prior = (older & ~outranked) | Cat(outranked[1], outranked[0])
        waits = occupied & ~kept & ~stopped
        # The newest launch is the candidate when no older one waits.
        first = waits & ~Cat(prior[1] & waits[1], prior[0] & waits[0])
        candidate = first & staged
        held = after_previous & Cat(older[1], older[0]) & both(same_stream)
        may = Signal(2)
        chosen = Signal(2)
        walk_fire = Signal()
        walk = self.walk
        m.d.sync += may.eq(candidate & ~held)
        free = may & ~stopped
        if rule is not None:
            rule.rank(m, self, accepted, held)
            free = free & ~rule.outranked
        m.d.comb += [
            chosen.eq(free),
            # The walker takes a grid whenever no place is walked.
            walk_fire.eq(chosen.any() & ~walked),
            self.walker.grid.valid.eq(walk_fire),
            self.ordered.eq((candidate & held).any() & ~walked),
        ]
        m.d.sync += [
            given.eq(occupied & (kept | (chosen & both(walk_fire)))),
            walk.starts.eq(walk_fire),
            walk.role_changes.eq(walk_fire & (chosen[1] ^ walk.place)),
            walk.role.eq(walk.place),
        ]
        with m.If(walk_fire):
            m.d.sync += walk.place.eq(chosen[1])
        if rule is None:
            self._queue(m, accepted, ~Mux(newest, waits[0], waits[1]))
        else:
            rule.queue(m, self, accepted, candidate)
        return walk_fire

    def _queue(self, m: Module, accepted: Value, ready: Value) -> None:
        """Keep the fields that walk and offers take: of the newest launch, the next, the head's.

        The registers stand in a row, because a register's input is then no choice between places: a
        multiplexer would take a gate a bit. `following` follows `newest` while no other launch
        waits.
        """
        launch, walk = self.launch.payload, self.walker.grid.payload
        fields = walk.shape().members
        # Of a layout's signal the stubs do not know that it is a view.
        newest: Any = Signal(
            data.StructLayout({"walk": walk.shape(), "offered": self._offered}), reset_less=True
        )
        following: Any = Signal.like(newest, name="following")
        offered: Any = Signal(self._offered, reset_less=True)
        with m.If(accepted.any()):
            m.d.sync += [newest.walk[name].eq(launch[name]) for name in fields]
            m.d.sync += [newest.offered[name].eq(launch[source]) for name, source in self.copied]
        with m.If(ready):
            m.d.sync += following.eq(newest)
        m.d.comb += [walk.eq(following.walk), self.head.offered.eq(offered)]
        # `following` does not change in a walk's first cycle.
        with m.If(self.walk.starts):
            m.d.sync += offered.eq(following.offered)

    def _stop(
        self,
        m: Module,
        accepted: Value,
        occupied: Value,
        freed: Value,
        no_sm_left: Value,
        stopped: Signal,
        started: Value,
        rule: Yielding | None,
    ) -> None:
        """Set each place's stop: kill wins over drain and stays. Else a kill is a drain."""
        named = Signal(2)
        to_kill = Signal(2)
        asked = [both(occupied[p]) & self.stop[f"place{p}"] for p in range(2)]
        if rule is None:
            m.d.sync += [
                named.eq(Cat(one.any() for one in asked)),
                to_kill.eq(Cat(one[1] for one in asked)),
            ]
        else:
            stops, kills = drains_and_kills(asked)
            m.d.sync += [named.eq(stops), to_kill.eq(kills)]
        faults = self.events.faulty | self.events.sm_loss
        stops_now = stopped | named | no_sm_left | faults
        if rule is not None:
            stops_now = stops_now | rule.skip(m, asked, started)
        m.d.sync += stopped.eq(occupied & stops_now)
        if not self._config.sm_kill:
            # `kill` and `late` stay 0.
            return
        m.d.sync += self.kill.eq(occupied & ~freed & (self.kill | to_kill | faults))
        limit = self._config.kill_timeout + timing(self._config).loss - 1
        for place in range(2):
            over = timer(m, f"kill_timer_{place}", limit, ~self.kill[place])
            m.d.comb += self.late[place].eq(over)
