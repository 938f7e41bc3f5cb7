"""The two places of resident launches: which one is walked next, which ones are stopped."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch._fit_table import amounts
from warploom.dispatch._launch_end import LaunchEnd
from warploom.dispatch.sm.counts import both
from warploom.dispatch.sm.port import SmEvents
from warploom.lib.timers import timer
from warploom_spec import Config, layouts, timing

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
    ``decided``, that block was decided in the last cycle.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "grid": Out(stream.Signature(layouts.grid_walk(config).layout())),
                "flush": Out(1),
                "block": In(layouts.walked_block(config).layout()),
                "valid": In(1),
                "decided": In(1),
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
    """

    launch: stream.Interface
    stop: "data.View[data.StructLayout]"
    ended: stream.Interface
    words: "list[data.View[data.StructLayout]]"
    kill: Signal
    boot: Signal
    walker: Any
    role: Signal
    shift: Signal
    active: Signal
    wanted: Signal
    barred: Signal
    none: Signal
    offered: "data.View[data.StructLayout]"
    needs: "list[data.View[data.StructLayout]]"
    begun: Signal
    newest: Signal
    events: Any
    all_lost: Signal
    late: Signal
    resident: Signal
    ordered: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        offer = layouts.block_offer(config).layout()
        # Without an index memory offers have none of these fields.
        self._copied = [(name, source) for name, source in _OFFERED if name in offer.members]
        self._offered = data.StructLayout({name: offer[name].width for name, _ in self._copied})
        super().__init__(
            {
                # The dispatcher's ports.
                "launch": In(stream.Signature(layouts.dispatch_launch(config).layout())),
                "stop": In(layouts.dispatch_stop(config).layout()),
                "ended": Out(stream.Signature(layouts.dispatch_end(config).layout())),
                "words": Out(layouts.launch_words(config).layout()).array(2),
                "kill": Out(2),
                # No launch is taken.
                "boot": In(1),
                # The grid to walk next, and the walker's block.
                "walker": Out(WalkerPort(config)),
                # The head's place.
                "role": Out(1),
                # It becomes the other place at the end of the cycle.
                "shift": Out(1),
                # A head stands and is not stopped; it may be decided; it may not, because it is
                # stopped or fits nowhere.
                "active": Out(1),
                "wanted": Out(1),
                "barred": Out(1),
                # From the next cycle on: no block of the place's launch fits.
                "none": In(2),
                # What offers take from the head's launch.
                "offered": Out(self._offered),
                # What one block needs.
                "needs": Out(amounts(config)).array(2),
                # The place's launch is new in this cycle.
                "begun": Out(2),
                # The place occupied last.
                "newest": Out(1),
                # What happens on any SM. `hits`, `faulty` and `killed` come a cycle later than of
                # one.
                "events": In(SmEvents()),
                # No SM is left.
                "all_lost": In(1),
                # SMs with unreported blocks of the launch are lost at the end of the cycle.
                "late": Out(2),
                # A launch has started and has not ended.
                "resident": Out(1),
                # No head stands, and stream order alone holds a launch back.
                "ordered": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        m.submodules.end = end = LaunchEnd(self._config)
        occupied = Signal(2)
        accepted = Signal(2)
        free = ~occupied.all() & ~self.boot
        m.d.comb += [
            self.launch.ready.eq(free),
            accepted.eq(Cat(~occupied[0], occupied[0]) & both(self.launch.valid & free)),
        ]
        with m.If(accepted.any()):
            m.d.sync += self.newest.eq(accepted[1])
        m.d.sync += [
            occupied.eq((occupied & ~end.freed) | accepted),
            self.begun.eq(accepted),
        ]

        # In the cycle after a decision the walker still shows the decided block; the head is the
        # block after it.
        walker, flags = self.walker, end.flags
        stands = Signal()
        m.d.comb += stands.eq(walker.valid & ~(walker.block.last & walker.decided))
        own = Cat(~self.role, self.role) & both(stands)
        started = Signal(2)
        exhausted = Signal(2)
        stopped = Signal(2)
        decided = Cat(~self.role, self.role) & both(walker.decided)
        # A place is free for at least one cycle; its flags are cleared then.
        m.d.sync += [
            started.eq(occupied & (started | decided)),
            exhausted.eq(occupied & (exhausted | (decided & both(walker.block.last)))),
        ]
        m.d.comb += self.resident.eq((occupied & started).any())
        # From the cycle after its launch's stop on the head is not decided. The walker forgets the
        # head one cycle later, if it still stands.
        halt = Signal()
        halt_before = Signal()
        m.d.sync += [halt.eq((own & stopped).any()), halt_before.eq(halt)]
        m.d.comb += [
            walker.flush.eq(halt & halt_before & stands),
            self.active.eq(stands & ~halt),
            self.wanted.eq(stands & ~self.barred),
        ]
        self._keep(m, accepted, own & both(walker.flush), end)
        self._choose(m, stands, accepted, occupied, stopped, end.words)
        no_sm_left = occupied & ~exhausted & both(self.all_lost)
        self._stop(m, accepted, occupied, end.freed, no_sm_left, stopped)
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
            end.newest.eq(self.newest),
            end.entered.eq(self.begun),
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
        launch, head = self.launch.payload, self.walker.block
        for place in range(2):
            words, kept = self.words[place], end.words[place]
            with m.If(accepted[place]):
                m.d.sync += [words[name].eq(launch[name]) for name in words.shape().members]
                m.d.sync += [
                    self.needs[place][name].eq(launch[name])
                    for name in self.needs[place].shape().members
                ]
                if self._config.makes_indices:
                    m.d.sync += kept.entries.eq(launch.entries)
                m.d.sync += kept.stream.eq(launch.stream)
            m.d.comb += kept.ticket.eq(words.ticket)
            with m.If(flushed[place]):
                m.d.sync += [kept.next[axis].eq(head[f"b{axis}"]) for axis in "xyz"]

    def _choose(
        self,
        m: Module,
        stands: Signal,
        accepted: Value,
        occupied: Signal,
        stopped: Signal,
        words: Any,
    ) -> None:
        """Give the walker the next grid: leftover policy and stream order."""
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
        older = occupied & Cat(self.newest, ~self.newest)
        waits = occupied & ~given & ~stopped
        # The newest launch is the candidate when no older one waits.
        first = waits & ~Cat(older[1] & waits[1], older[0] & waits[0])
        candidate = first & staged
        held = after_previous & Cat(older[1], older[0]) & both(same_stream)
        may = Signal(2)
        chosen = Signal(2)
        walk_fire = Signal()
        walk = self.walker.grid
        m.d.sync += may.eq(candidate & ~held)
        m.d.comb += [
            chosen.eq(may & ~stopped),
            walk.valid.eq(chosen.any() & ~stands),
            walk_fire.eq(walk.valid & walk.ready),
            self.shift.eq(walk_fire & (chosen[1] ^ self.role)),
            self.ordered.eq((candidate & held).any() & ~stands),
        ]
        walked = Mux(walk_fire, chosen, Cat(~self.role, self.role))
        halts = (Cat(~self.role, self.role) & stopped).any() & stands
        m.d.sync += self.barred.eq(halts | (walked & self.none).any())
        m.d.sync += given.eq(occupied & (given | (chosen & both(walk_fire))))
        with m.If(walk_fire):
            m.d.sync += self.role.eq(chosen[1])
        self._queue(m, accepted, ~Mux(self.newest, waits[0], waits[1]), walk_fire)

    def _queue(self, m: Module, accepted: Value, ready: Value, walk_fire: Value) -> None:
        """Keep the fields that walk and offers take: of the newest launch, the next, the head's.

        The registers stand in a row, because a register's input is then no choice between places: a
        multiplexer would take a gate a bit. `following` follows `newest` while no other launch
        waits.
        """
        launch, walk = self.launch.payload, self.walker.grid.payload
        fields = walk.shape().members
        # Of a layout's signal the stubs do not know that it is a view.
        newest: Any = Signal(data.StructLayout({"walk": walk.shape(), "offered": self._offered}))
        following: Any = Signal.like(newest, name="following")
        with m.If(accepted.any()):
            m.d.sync += [newest.walk[name].eq(launch[name]) for name in fields]
            m.d.sync += [newest.offered[name].eq(launch[source]) for name, source in self._copied]
        with m.If(ready):
            m.d.sync += following.eq(newest)
        m.d.comb += walk.eq(following.walk)
        for name, _ in self._copied:
            with m.If(walk_fire):
                m.d.sync += self.offered[name].eq(following.offered[name])

    def _stop(
        self,
        m: Module,
        accepted: Value,
        occupied: Value,
        freed: Value,
        no_sm_left: Value,
        stopped: Signal,
    ) -> None:
        """Set each place's stop: kill wins over drain and stays. Else a kill is a drain."""
        named = Signal(2)
        to_kill = Signal(2)
        asked = [both(occupied[p]) & self.stop[f"place{p}"] for p in range(2)]
        m.d.sync += [
            named.eq(Cat(one.any() for one in asked)),
            to_kill.eq(Cat(one[1] for one in asked)),
        ]
        faults = self.events.faulty | self.events.sm_loss
        m.d.sync += stopped.eq(occupied & (stopped | named | no_sm_left | faults))
        if not self._config.sm_kill:
            # `kill` and `late` stay 0.
            return
        m.d.sync += self.kill.eq(occupied & ~freed & (self.kill | to_kill | faults))
        limit = self._config.kill_timeout + timing(self._config).loss - 1
        for place in range(2):
            over = timer(m, f"kill_timer_{place}", limit, ~self.kill[place])
            m.d.comb += self.late[place].eq(over)
