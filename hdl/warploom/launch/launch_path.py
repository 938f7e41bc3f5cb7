"""LaunchCheck, IndexGenerator and BlockDispatcher in a row: who owns a launch to its end."""

from typing import Any, Final

from amaranth.hdl import Cat, DomainRenamer, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from warploom.dispatch import BlockDispatcher
from warploom.index import IndexGenerator
from warploom.launch._final_records import queue_record, release_entry
from warploom.launch._launch_path_ports import launch_path_ports
from warploom.launch._launch_queue import LaunchQueue, waiting_launch
from warploom.launch._launch_streams import LaunchStreams
from warploom.launch.launch_check import LaunchCheck
from warploom.lib.fifo import SyncFIFO
from warploom_spec import STALL_CAUSES, Config, ErrorCode, Stop, layouts, timing
from warploom_spec.host_errors import HostError
from warploom_spec.layouts import PLACES, TICKET_BITS
from warploom_spec.queue import QueueCode

#: Clock domain of the registers that a soft reset leaves alone.
PERSISTENT: Final = "persistent"


class LaunchPath(wiring.Component):
    """Own each launch from its ticket to its final record.

    Checks it, has its indices looked up or made, hands it to the dispatcher, gives its reference
    on the indices back when it has ended, and says what became of it. Ports and the exact machine:
    ``docs/launch/launch_path.md``.

    Parameters
    ----------
    config : Config
        As for the parts.
    first_ticket : int, optional
        The first launch's ticket, for tests of the tickets' wrap.
    first_number : int, optional
        Number of each launch's first block, for tests of the numbers' wrap.
    soft_reset : bool, optional
        Whether there are the ports ``stop_answer``, ``soft_reset_active``, ``restart`` and
        ``idle``.
    resets_itself : bool, optional
        Whether `restart` resets registers here. Without it the user gives the domains: ``sync``,
        which is reset in the cycles of `restart` as well, and `PERSISTENT`, which is not.
    """

    def __init__(
        self,
        config: Config,
        *,
        first_ticket: int = 1,
        first_number: int = 0,
        soft_reset: bool = False,
        resets_itself: bool = True,
    ) -> None:
        self._config = config
        self._resets_itself = resets_itself
        self._soft_reset = soft_reset
        self._persistent_domain = PERSISTENT if soft_reset else "sync"
        self._first_ticket = first_ticket
        self._check = LaunchCheck(config)
        # Absent where nothing makes indices.
        self._generator: Any = None
        if config.makes_indices:
            self._generator = IndexGenerator(config)
        self._dispatcher = BlockDispatcher(
            config, persistent_domain=self._persistent_domain, first_number=first_number
        )
        ports = launch_path_ports(config, self._dispatcher.signature.members, soft_reset=soft_reset)
        super().__init__(ports)

    @property
    def _has_order_table(self) -> bool:
        return "order_table" in self._dispatcher.signature.members

    def elaborate(self, platform: object) -> Any:
        """Build the block: a Module.

        With a soft reset it is wrapped: all registers but those of `PERSISTENT` follow `restart`.
        """
        m = self._build()
        if not (self._soft_reset and self._resets_itself):
            return m
        restarted = ResetInserter({"sync": self.restart})(m)
        return DomainRenamer({PERSISTENT: "sync"})(restarted)

    def _build(self) -> Module:
        m = Module()
        m.submodules.check = self._check
        if self._generator is not None:
            m.submodules.generator = self._generator
        m.submodules.dispatcher = self._dispatcher
        m.submodules.queue = queue = LaunchQueue(self._config, soft_reset=self._soft_reset)
        m.submodules.streams = streams = LaunchStreams(
            self._config, persistent_domain=self._persistent_domain
        )
        handed = Signal(name="handed_over")
        ends_here = Signal()
        self._connect_dispatcher(m)
        if self._generator is not None:
            self._connect_generator(m, queue)
        # A soft reset runs: a cycle late, and never without its port.
        closed = Signal()
        refused = self._answer(m, queue, streams, closed)
        ahead = self._room(m, queue, refused)
        m.d.comb += [streams.lost.eq(self._dispatcher.lost), queue.no_sm.eq(streams.no_sm)]
        self._hand_over(m, queue, handed)
        m.d.comb += [
            ends_here.eq(queue.oldest.must_end & ~self._dispatcher.ended.valid),
            queue.leave.eq(ends_here | handed),
        ]
        resident = self._stop(m, queue, handed, closed)
        if self._soft_reset:
            m.d.sync += closed.eq(self.soft_reset_active)
            m.d.comb += [
                queue.take_all_back.eq(closed),
                self.idle.eq((ahead == 0) & ~resident.any()),
            ]
        self._record(m, queue, streams, ends_here)
        return m

    def _connect_dispatcher(self, m: Module) -> None:
        """Pass the ports of the SMs through."""
        dispatcher = self._dispatcher
        for n in range(self._config.sms):
            connect(m, dispatcher.offer[n], flipped(self.offer[n]))
            connect(m, dispatcher.report[n], flipped(self.report[n]))
        m.d.comb += [self.words[place].eq(dispatcher.words[place]) for place in range(PLACES)]
        m.d.comb += [
            getattr(self, f"stall_{c}").eq(getattr(dispatcher, f"stall_{c}")) for c in STALL_CAUSES
        ]
        m.d.comb += [
            dispatcher.enable.eq(self.enable),
            self.kill.eq(dispatcher.kill),
            self.lost.eq(dispatcher.lost),
            self.dispatch_error.eq(dispatcher.error),
            self.dispatch_error_count.eq(dispatcher.error_count),
        ]
        if self._has_order_table:
            connect(m, dispatcher.order_table, flipped(self.order_table))

    def _connect_generator(self, m: Module, queue: LaunchQueue) -> None:
        """Let the queue ask for indices; show what the generator does."""
        generator = self._generator
        connect(m, queue.request, generator.i)
        connect(m, generator.decision, queue.decision)
        connect(m, generator.read, flipped(self.read))
        connect(m, generator.data, flipped(self.data))
        m.d.comb += [
            generator.cancel.eq(queue.cancel),
            generator.done.ready.eq(1),
            self.decided.eq(generator.decision.payload),
            self.decided_valid.eq(generator.decision.valid),
            self.decided_ticket.eq(queue.decided_ticket),
            self.done.eq(generator.done.payload),
            self.done_valid.eq(generator.done.valid),
            self.written.eq(generator.written),
            self.written_valid.eq(generator.written_valid),
            self.index_error.eq(generator.error),
            self.index_error_count.eq(generator.error_count),
        ]

    def _answer(
        self, m: Module, queue: LaunchQueue, streams: LaunchStreams, closed: Signal
    ) -> Signal:
        """Give a ticket, or say why not; one launch a cycle. Return when one is refused."""
        checked, accepted = self._check.o, queue.accepted
        launch = checked.payload
        connect(m, flipped(self.launch), self._check.i)
        m.d.comb += self._check.tables.eq(self.tables)
        wrong = self._check.refused
        reasons = Signal()
        refused = Signal()
        accept = Signal()
        ticket = self._tickets(m, accept)
        self._announce(m, streams)
        m.d.comb += [
            checked.ready.eq(1),
            streams.queue_full.eq(queue.full),
            reasons.eq(wrong | streams.refused | closed),
            refused.eq(checked.valid & reasons),
            accept.eq(checked.valid & ~reasons),
            streams.accept.eq(accept),
            accepted.valid.eq(accept),
            accepted.ticket.eq(ticket),
        ]
        fields = waiting_launch(self._config)
        m.d.comb += [accepted.launch[name].eq(launch[name]) for name, _ in fields]
        # While the pulse is not valid its fields mean nothing. A launch that passes has error and
        # argument 0, and `streams.refusal` is 0 for it.
        m.d.sync += [
            self.answer.valid.eq(checked.valid),
            self.answer.ticket.eq(Mux(reasons, 0, ticket)),
            self.answer.code.eq(Mux(wrong, launch.error, streams.refusal)),
            self.answer.argument.eq(launch.argument),
        ]
        if self._soft_reset:
            with m.If(closed):
                m.d.sync += [self.answer.code.eq(HostError.RESET), self.answer.argument.eq(0)]
        return refused

    def _announce(self, m: Module, streams: LaunchStreams) -> None:
        """Name the launch that leaves LaunchCheck in the next cycle."""
        sent = self.launch.payload
        stream_: Value = sent.stream
        priority: Value = sent.priority
        for k in range(timing(self._config).launch_check - 1):
            later = Signal.like(stream_, name=f"stream_{k}")
            its = Signal.like(priority, name=f"priority_{k}")
            m.d.sync += [later.eq(stream_), its.eq(priority)]
            stream_, priority = later, its
        m.d.comb += [streams.next_stream.eq(stream_), streams.next_priority.eq(priority)]

    def _tickets(self, m: Module, accept: Signal) -> Signal:
        """Return the ticket of the next launch that is accepted."""
        ticket = Signal(TICKET_BITS, init=self._first_ticket)
        with m.If(accept):
            # 0 is no ticket: after the highest comes 1.
            m.d[self._persistent_domain] += ticket.eq(ticket + 1 + ticket.all())
        return ticket

    def _room(self, m: Module, queue: LaunchQueue, refused: Signal) -> Signal:
        """Say whether a launch finds an entry whatever the launches in LaunchCheck get.

        Returns the launches in LaunchCheck and in the waiting queue. A refused launch, one that
        left, and a record that was taken are counted a cycle late: they only make room.
        """
        limits = timing(self._config)
        sync = m.d[self._persistent_domain]
        was_refused = Signal()
        sync += was_refused.eq(refused)
        rooms = []
        counts = []
        for name, places, gone in (
            ("queue", limits.launch_queue, queue.leave),
            ("records", limits.end_records, self.ended.valid & self.ended.ready),
        ):
            most = places + limits.launch_check
            ahead = Signal(range(most + 1), name=f"ahead_of_{name}")
            left = Signal.like(ahead, name=f"left_of_{name}")
            was_gone = Signal(name=f"was_gone_from_{name}")
            m.d.comb += left.eq(ahead - was_refused - was_gone)
            sync += [was_gone.eq(gone), ahead.eq(left + self.launch.valid)]
            # `launch.valid` comes late, and only selects.
            rooms.append(Mux(self.launch.valid, left < places - 1, left < places))
            counts.append(ahead)
        sync += self.room.eq(rooms[0] & rooms[1])
        return counts[0]

    def _hand_over(self, m: Module, queue: LaunchQueue, handed: Signal) -> None:
        """Hand the oldest launch to the dispatcher once its indices are decided."""
        oldest, launch = queue.oldest, self._dispatcher.launch
        m.d.comb += [
            launch.valid.eq(oldest.can_go),
            launch.payload.ticket.eq(oldest.ticket),
        ]
        if self._generator is not None:
            m.d.comb += launch.payload.entries.eq(1 << oldest.entry)
        m.d.comb += handed.eq(launch.valid & launch.ready)
        m.d.comb += [
            launch.payload[name].eq(oldest.launch[name]) for name, _ in waiting_launch(self._config)
        ]

    def _stop(self, m: Module, queue: LaunchQueue, handed: Signal, closed: Signal) -> Signal:
        """Look at one stop: mark its launch in the queue, or name its place to the dispatcher.

        Returns which places of the dispatcher have a launch.
        """
        dispatcher, search = self._dispatcher, queue.search
        held = Signal()
        stop = Signal(layouts.launch_stop(self._config).layout())
        waits = Signal()
        unknown = Signal()
        resident = self._places(m, handed)
        m.d.comb += [
            # The launch moves in this cycle: look again in the next one.
            waits.eq((handed & search.is_oldest) | search.enters),
            self.stop.ready.eq(~held),
            search.next_ticket.eq(self.stop.payload.ticket),
            search.ticket.eq(stop.ticket),
            # Not for `waits`, which is late: a mark on a launch that leaves is never looked at.
            search.held.eq(held),
        ]
        named = Signal(PLACES)
        for place in range(PLACES):
            ticket = dispatcher.words[place].ticket
            m.d.comb += named[place].eq(
                held & ~search.found & resident[place] & (ticket == stop.ticket)
            )
            with m.If(named[place]):
                m.d.comb += dispatcher.stop[f"place{place}"].eq(
                    Mux(stop.drain, Stop.DRAIN, Stop.KILL)
                )
        # `enters` comes late, at the end of LaunchCheck's verdict: it is asked for last.
        nowhere = Signal()
        m.d.comb += [
            nowhere.eq(held & ~(search.found | named.any())),
            unknown.eq(nowhere & ~search.enters),
        ]
        m.d.sync += [
            self.error.valid.eq(unknown),
            self.error.code.eq(Mux(unknown, ErrorCode.STOP_UNKNOWN, ErrorCode.OK)),
        ]
        with m.If(nowhere & ~self.error_count.all()):
            m.d.sync += self.error_count.eq(self.error_count + ~search.enters)
        with m.If(self.stop.valid & ~held):
            m.d.sync += [held.eq(1), stop.eq(self.stop.payload)]
        with m.Elif(~waits):
            m.d.sync += held.eq(0)
        if self._soft_reset:
            self._stop_for_host(m, held & ~waits, unknown, closed)
        return resident

    def _stop_for_host(
        self, m: Module, lookup_valid: Value, unknown: Signal, closed: Signal
    ) -> None:
        """Answer each stop; kill both places while a soft reset runs."""
        m.d.sync += [
            self.stop_answer.valid.eq(lookup_valid),
            self.stop_answer.code.eq(Mux(unknown, QueueCode.TICKET_UNKNOWN, 0)),
        ]
        with m.If(closed):
            m.d.comb += [
                self._dispatcher.stop[f"place{place}"].eq(Stop.KILL) for place in range(PLACES)
            ]

    def _places(self, m: Module, handed: Signal) -> Signal:
        """Return which places of the dispatcher have a launch, up to its record inclusive."""
        ended = self._dispatcher.ended
        resident = Signal(PLACES)
        free = Signal(PLACES)
        taken = Signal(PLACES)
        frees = Cat(ended.valid & (ended.payload.place == place) for place in range(PLACES))
        m.d.comb += [
            free.eq(~resident | frees),
            taken.eq(Cat(free[0], ~free[0]) & handed.replicate(PLACES)),
        ]
        m.d.sync += resident.eq(~free | taken)
        return resident

    def _record(
        self, m: Module, queue: LaunchQueue, streams: LaunchStreams, ends_here: Signal
    ) -> None:
        """Queue the final record, release its indices, settle its stream."""
        ended, record = self._dispatcher.ended, queue_record(m, self._config, queue.oldest)
        ends = Signal(layouts.end_record(self._config).layout(), name="final_record")
        shape = layouts.end_record(self._config)
        records = SyncFIFO(width=shape.bits, depth=timing(self._config).end_records)
        m.submodules.records = (
            DomainRenamer(self._persistent_domain)(records) if self._soft_reset else records
        )
        with m.If(ended.valid):
            names = [field.name for field in shape.present]
            m.d.comb += [getattr(ends, name).eq(ended.payload[name]) for name in names]
        with m.Else():
            m.d.comb += ends.eq(record)
        m.d.comb += [
            ended.ready.eq(1),
            records.w_data.eq(ends),
            records.w_en.eq(ended.valid | ends_here),
            self.ended.payload.eq(records.r_data),
            self.ended.valid.eq(records.r_rdy),
            records.r_en.eq(self.ended.ready),
            self.clear_stream.ready.eq(1),
        ]
        # A record and what is taken lower counts a cycle late: `ended` comes late.
        taken = Signal(name="record_taken")
        record_valid = Signal()
        record_stream = Signal.like(
            queue.oldest.launch.stream, name="record_stream", reset_less=True
        )
        m.d[self._persistent_domain] += taken.eq(self.ended.valid & self.ended.ready)
        m.d.sync += [
            record_valid.eq(records.w_en),
            record_stream.eq(Mux(ended.valid, ended.payload.stream, queue.oldest.launch.stream)),
        ]
        m.d.comb += [
            streams.taken.eq(taken),
            streams.record.eq(record_valid),
            streams.record_stream.eq(record_stream),
        ]
        self._stream_states(m, streams, queue)
        if self._generator is not None:
            release_entry(m, self._generator.release, ended, queue.oldest, ends_here)

    def _stream_states(self, m: Module, streams: LaunchStreams, queue: LaunchQueue) -> None:
        """Break and clear streams, from registers."""
        ended = self._dispatcher.ended
        breaks = Signal(name="stream_breaks")
        mends = Signal(name="stream_mends")
        broken = Signal.like(ended.payload.stream, name="broken_stream", reset_less=True)
        mended = Signal.like(ended.payload.stream, name="mended_stream", reset_less=True)
        m.d.sync += [
            breaks.eq(ended.valid & (ended.payload.code == ErrorCode.SM_LOST)),
            broken.eq(ended.payload.stream),
            mends.eq(self.clear_stream.valid),
            mended.eq(self.clear_stream.payload),
        ]
        for state in (streams.state, queue.state):
            m.d.comb += [
                state.breaks.eq(breaks),
                state.broken.eq(broken),
                state.mends.eq(mends),
                state.mended.eq(mended),
            ]
