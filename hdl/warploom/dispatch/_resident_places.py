"""The two places of resident launches: who is walked next, who is stopped."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch._fit_table import amounts
from warploom.dispatch._launch_end import LaunchEnd
from warploom.dispatch.sm.counts import both
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


class ResidentPlaces(wiring.Component):
    """Hold at most two launches from their acceptance to their end record.

    Vectors of 2 bits are indexed by place. A launch keeps its place, and the outputs that depend on
    it, from its acceptance until the place is occupied again.

    Parameters
    ----------
    config : Config
        The configuration.
    fault : str, optional
        ``"stream_order"``: launches of one stream overlap, others wait. ``"stale_address"``: the
        offers of the second place keep the index address of the first one's.

    Attributes
    ----------
    launch, stop, ended, words :
        The dispatcher's ports.
    walk : Out(stream of grid_walk)
        The grid to walk next.
    flush : Out(1)
        The head's launch is stopped: the walker forgets it at the end of the cycle.
    head, head_valid : In
        The walker's block.
    head_place, head_first, active : Out(1)
        Whose block the head is; whether it is place 0's, from a register of its own for the
        decision alone, whose wires are short; whether the head may be decided.
    offered : Out
        What offers take from the head's launch.
    needs : Out(array of 2)
        What one block needs.
    accepted : Out(2)
        The place becomes occupied at the end of the cycle.
    newest : Out(1)
        The place occupied last.
    decided : In(1)
        The head is decided in this cycle.
    leads, follows : Out(1)
        A launch can be walked next: no head stands; the head is its launch's last block, and may
        be decided.
    moves : In(1)
        It is walked next: it ``leads``, or it ``follows`` and the head is decided.
    completed, faulty, killed, struck, present : In(2)
        What happens on any SM in this cycle; whether blocks are out.
    struck_head : In(1)
        The block decided in the last cycle is struck: that cycle's decision is too late for it.
    all_lost : In(1)
        No SM is left.
    stop_kill, late : Out(2)
        Launches being killed; those whose standing offers make an SM lost in this cycle.
    hides : Out(1)
        A launch is being killed.
    resident : Out(1)
        A launch has started and has not ended.
    ordered : Out(1)
        No head stands, and stream order alone holds a launch back.
    unknown : Out(1)
        A stop at the port in the last cycle named nobody here.
    """

    launch: stream.Interface
    stop: stream.Interface
    ended: stream.Interface
    words: "list[data.View[data.StructLayout]]"
    walk: stream.Interface
    flush: Signal
    head: data.View
    head_valid: Signal
    head_place: Signal
    head_first: Signal
    active: Signal
    offered: "data.View[data.StructLayout]"
    needs: "list[data.View[data.StructLayout]]"
    accepted: Signal
    newest: Signal
    decided: Signal
    leads: Signal
    follows: Signal
    moves: Signal
    completed: Signal
    faulty: Signal
    killed: Signal
    struck: Signal
    present: Signal
    struck_head: Signal
    all_lost: Signal
    stop_kill: Signal
    late: Signal
    hides: Signal
    resident: Signal
    ordered: Signal
    unknown: Signal

    def __init__(self, config: Config, *, fault: str | None = None) -> None:
        self._config = config
        self._fault = fault
        offer = layouts.block_offer(config).layout()
        self._offered = data.StructLayout({name: offer[name].width for name, _ in _OFFERED})
        super().__init__(
            {
                "launch": In(stream.Signature(layouts.dispatch_launch(config).layout())),
                "stop": In(stream.Signature(layouts.launch_stop(config).layout())),
                "ended": Out(stream.Signature(layouts.dispatch_end(config).layout())),
                "words": Out(layouts.launch_words(config).layout()).array(2),
                "walk": Out(stream.Signature(layouts.grid_walk(config).layout())),
                "flush": Out(1),
                "head": In(layouts.walked_block(config).layout()),
                "head_valid": In(1),
                "head_place": Out(1),
                # The stubs lack `init`.
                "head_first": Out(1, init=1),  # type: ignore[call-arg]
                "active": Out(1),
                "offered": Out(self._offered),
                "needs": Out(amounts(config)).array(2),
                "accepted": Out(2),
                "newest": Out(1),
                "decided": In(1),
                "leads": Out(1),
                "follows": Out(1),
                "moves": In(1),
                "completed": In(2),
                "faulty": In(2),
                "killed": In(2),
                "struck": In(2),
                "present": In(2),
                "struck_head": In(1),
                "all_lost": In(1),
                "stop_kill": Out(2),
                "late": Out(2),
                "hides": Out(1),
                "resident": Out(1),
                "ordered": Out(1),
                "unknown": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        m.submodules.end = end = LaunchEnd(self._config)
        occupied, newest, accepted = Signal(2), self.newest, self.accepted
        free = ~occupied.all()
        m.d.comb += [
            self.launch.ready.eq(free),
            accepted.eq(Cat(~occupied[0], occupied[0]) & both(self.launch.valid & free)),
        ]
        with m.If(accepted.any()):
            m.d.sync += newest.eq(accepted[1])
        m.d.sync += occupied.eq((occupied & ~end.freed) | accepted)

        # Of the head's place alone; of which launch there is an older one, that still has blocks.
        own = Cat(~self.head_place, self.head_place) & both(self.head_valid)
        decided = own & both(self.decided)
        stopped, stopping = Signal(2), Signal(2)
        # What strikes the block of a decision is known in the cycle after.
        struck_late, decided_before = Signal(2), Signal(2)
        m.d.sync += decided_before.eq(decided)
        m.d.comb += struck_late.eq(decided_before & both(self.struck_head))
        struck = self.struck | struck_late
        exhausted, started = Signal(2), Signal(2)
        older = occupied & Cat(newest, ~newest)
        last = own & both(self.head.last)
        m.d.comb += [
            self.flush.eq((own & stopped).any()),
            self.active.eq(self.head_valid & ~self.flush),
            self.resident.eq((occupied & started).any()),
            self.hides.eq((occupied & self.stop_kill).any()),
        ]
        m.d.sync += [
            started.eq(~accepted & (started | decided)),
            exhausted.eq(~accepted & (exhausted | (decided & last))),
        ]
        self._keep(m, accepted, own & both(self.flush), end)
        self._choose(
            m,
            accepted,
            occupied & ~stopped,
            stopping,
            older & ~(exhausted | stopped | last),
            older,
            end.streams,
        )
        strays = occupied & ~exhausted & both(self.all_lost)
        self._stop(m, accepted, occupied, strays, stopping)
        m.d.sync += stopped.eq(~accepted & (stopped | stopping | self.faulty | struck))
        for flag, cause in (
            (end.fault, self.faulty),
            (end.killed, self.killed),
            (end.struck, struck),
            (end.stranded, strays),
        ):
            m.d.sync += flag.eq(~accepted & (flag | cause))
        m.d.comb += [
            end.gone.eq(occupied & ~self.present & (exhausted | (stopped & ~own))),
            end.newest.eq(newest),
            end.accepted.eq(accepted),
            end.begun.eq(decided & ~started),
            end.started.eq(started),
            end.exhausted.eq(exhausted),
            end.stop_kill.eq(self.stop_kill),
            end.last_sent.eq(self.completed | self.killed),
        ]
        wiring.connect(m, end.ended, wiring.flipped(self.ended))
        return m

    def _keep(self, m: Module, accepted: Value, flushed: Value, end: LaunchEnd) -> None:
        """Keep what comes with a launch, and a stopped one's head."""
        launch, head = self.launch.payload, self.head
        for place in range(2):
            words = self.words[place]
            with m.If(accepted[place]):
                m.d.sync += [words[name].eq(launch[name]) for name in words.shape().members]
                m.d.sync += [
                    self.needs[place][name].eq(launch[name])
                    for name in self.needs[place].shape().members
                ]
                m.d.sync += [
                    end.entries[place].eq(launch.entries),
                    end.streams[place].eq(launch.stream),
                ]
            m.d.comb += end.tickets[place].eq(words.ticket)
            with m.If(flushed[place]):
                m.d.sync += [end.following[place][axis].eq(head[f"b{axis}"]) for axis in "xyz"]

    def _choose(
        self,
        m: Module,
        accepted: Value,
        willing: Value,
        stopping: Value,
        ahead: Value,
        older: Value,
        streams: list[Signal],
    ) -> None:
        """Give the walker the next grid: leftover policy and stream order."""
        stage = timing(self._config).stage
        walking, after_previous = Signal(2), Signal(2)
        could, ordered = Signal(2), Signal(2)
        same_stream = streams[0] == streams[1]
        if self._fault == "stream_order":
            same_stream = ~same_stream
        for place in range(2):
            other = 1 - place
            waits = Signal(range(stage), name=f"staged_{place}")
            with m.If(accepted[place]):
                m.d.sync += [
                    waits.eq(stage - 1),
                    after_previous[place].eq(self.launch.payload.after_previous),
                ]
            with m.Elif(waits != 0):
                m.d.sync += waits.eq(waits - 1)
            m.d.comb += could[place].eq(
                willing[place] & ~walking[place] & (waits == 0) & ~ahead[other]
            )
            m.d.comb += ordered[place].eq(after_previous[place] & older[other] & same_stream)
        given = Signal(2)
        chosen = could & ~ordered
        m.d.comb += [
            self.walk.valid.eq(chosen.any()),
            self.leads.eq((chosen & both(~self.head_valid)).any()),
            self.follows.eq((chosen & both(self.head.last & self.active)).any()),
            # What the walker's ready says, by a shorter way.
            given.eq(chosen & both(self.moves)),
            self.ordered.eq(~self.head_valid & (could & ordered).any()),
        ]
        m.d.sync += walking.eq(~accepted & (walking | given))
        with m.If(self.moves):
            m.d.sync += [self.head_place.eq(chosen[1]), self.head_first.eq(~chosen[1])]
        # The newest launch is the one to walk next when the other place's does not wait any more.
        # That is given where no head stands: of what is older there is no head.
        done = walking | (chosen & both(~self.head_valid)) | stopping | ~willing
        self._queue(m, accepted, Mux(self.newest, done[0], done[1]), given)

    def _queue(self, m: Module, accepted: Value, moves: Value, given: Value) -> None:
        """Keep what the walk and the offers take from a launch: newest, next, that of the head.

        Registers in a row, for their inputs are no choices: a multiplexer of two places would take
        a gate a bit.
        """
        launch, walk = self.launch.payload, self.walk.payload
        fields = walk.shape().members
        # Of a layout's signal the stubs do not know that it is a view.
        newest: Any = Signal(data.StructLayout({"walk": walk.shape(), "offered": self._offered}))
        following: Any = Signal.like(newest, name="following")
        with m.If(accepted.any()):
            m.d.sync += [newest.walk[name].eq(launch[name]) for name in fields]
            m.d.sync += [newest.offered[name].eq(launch[source]) for name, source in _OFFERED]
        with m.If(moves):
            m.d.sync += following.eq(newest)
        m.d.comb += walk.eq(following.walk)
        for name, _ in _OFFERED:
            loads: Value = self.moves
            if self._fault == "stale_address" and name == "index_address":
                loads = given[0]
            with m.If(loads):
                m.d.sync += self.offered[name].eq(following.offered[name])

    def _stop(
        self,
        m: Module,
        accepted: Value,
        occupied: Value,
        strays: Value,
        stopping: Signal,
    ) -> None:
        """Set each place's stop: kill wins over drain and stays.

        ``stopping`` has what may stop a launch that is not walked yet, too.
        """
        stop = self.stop
        named, asked, drain = Signal(2), Signal(), Signal()
        to_kill = named & both(~drain) | self.faulty
        limit = self._config.kill_timeout
        m.d.comb += [
            stop.ready.eq(1),
            stopping.eq(named | strays),
            self.unknown.eq(asked & ~named.any()),
        ]
        # Where it names a launch that leaves its place, the place is at most occupied anew in the
        # next cycle: that wins.
        m.d.sync += [
            asked.eq(stop.valid),
            drain.eq(stop.payload.drain),
            named.eq(
                Cat(
                    stop.valid & occupied[p] & (self.words[p].ticket == stop.payload.ticket)
                    for p in range(2)
                )
            ),
        ]
        m.d.sync += self.stop_kill.eq(~accepted & (self.stop_kill | to_kill))
        # After that time no SM that is not lost has an untaken offer of the launch.
        for place in range(2):
            over = timer(m, f"patience_{place}", limit, ~self.stop_kill[place])
            m.d.comb += self.late[place].eq(over)
