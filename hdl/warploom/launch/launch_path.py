"""LaunchCheck, KernelQueue, IndexGenerator, BlockDispatcher and RecordQueue: launches by stream."""

from typing import Any, Final

from amaranth.hdl import DomainRenamer, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from warploom.dispatch import BlockDispatcher
from warploom.index import IndexGenerator
from warploom.launch._launch_path_ports import DISPATCHER_PORTS, index_error_ports, index_ports
from warploom.launch.kernel_queue import KernelQueue
from warploom.launch.launch_check import LaunchCheck
from warploom.launch.record_queue import RecordQueue
from warploom_spec import STALL_CAUSES, Config, layouts, queue_packets, timing
from warploom_spec.host_errors import HostError
from warploom_spec.layouts import PLACES
from warploom_spec.queue_packets import MODE_WORD

#: Clock domain of the dispatcher's registers that a soft reset leaves alone.
_PERSISTENT: Final = "persistent"
#: Bits of the clock's lower half.
_HALF: Final = 32
#: KernelQueue's ports that are LaunchPath's, too.
_QUEUE_INPUTS: Final = (
    "command",
    "clear_stream",
    "launch_timeout",
    "soft_reset_active",
    "restart",
)
_QUEUE_OUTPUTS: Final = (
    "room",
    "answer",
    "command_answer",
    "abort_answer",
    "put_back",
    "timeline",
    "record",
    "idle",
)


class LaunchPath(wiring.Component):
    """Own each launch from its ticket to its final record, in a queue for each stream.

    Ports and the exact machine: ``docs/launch/launch_path.md``.

    Parameters
    ----------
    config : Config
        As for the parts.
    first_ticket : int, optional
        The first launch's ticket, for tests of the tickets' wrap.
    first_clock : int, optional
        The clock's first value, for tests of its wrap.
    first_count : int, optional
        The streams' first accepted count and timeline, for tests of the counts' wrap.
    first_number : int, optional
        The number of each launch's first block, for tests of the numbers' wrap.
    """

    def __init__(
        self,
        config: Config,
        *,
        first_ticket: int = 1,
        first_clock: int = 0,
        first_count: int = 0,
        first_number: int = 0,
    ) -> None:
        self._config = config
        self._first_clock, self._first_number = first_clock, first_number
        self._check = LaunchCheck(config)
        self._queue = KernelQueue(config, first_ticket=first_ticket, first_count=first_count)
        # Absent where nothing makes indices.
        self._generator: Any = IndexGenerator(config) if config.makes_indices else None
        self._dispatcher = BlockDispatcher(config, persistent_domain=_PERSISTENT, preempts=True)
        self._records = RecordQueue(config)
        queue, records = self._queue.signature.members, self._records.signature.members
        dispatcher: Any = self._dispatcher.signature.members
        launch = queue_packets.queued_launch(config).layout()
        error = layouts.error_record(config).layout()
        super().__init__(
            {
                # Launches with mode and waits; `ready` is always 1.
                "launch": In(stream.Signature(launch)),
                # Bit h - 1: mapping table h exists.
                "tables": In(config.max_tables),
                # KernelQueue's: commands, aborts, answers; observers' pulses; the soft reset.
                **{name: queue[name] for name in (*_QUEUE_INPUTS, *_QUEUE_OUTPUTS, "abort")},
                # RecordQueue's: the oldest final record, and how many there are.
                **{name: records[name] for name in ("oldest", "records", "pop")},
                # Free-running cycle counter. A register.
                "clock": Out(2 * _HALF),
                **{name: dispatcher[name] for name in DISPATCHER_PORTS if name in dispatcher},
                **(index_ports(config) if config.makes_indices else {}),
                # The lowest error of a cycle at the dispatcher; how many.
                "dispatch_error": Out(error),
                "dispatch_error_count": Out(timing(config).error_counter_bits),
                **(index_error_ports(config) if config.makes_indices else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block: LaunchCheck, IndexGenerator and BlockDispatcher follow ``restart``.

        KernelQueue resets its registers itself. RecordQueue and the clock go on.
        """
        del platform
        m = Module()
        m.submodules.check = self._restarted(self._check)
        m.submodules.queue = self._queue
        if self._generator is not None:
            m.submodules.generator = self._restarted(self._generator)
        dispatcher = self._restarted(self._dispatcher)
        m.submodules.dispatcher = DomainRenamer({_PERSISTENT: "sync"})(dispatcher)
        m.submodules.records = self._records
        self._launch(m)
        self._connect_queue(m)
        self._connect_dispatcher(m)
        if self._generator is not None:
            self._connect_generator(m)
        m.d.comb += [
            self._records.record.eq(self._queue.record),
            self._queue.record_taken.eq(self._records.record_taken),
            self._records.pop.eq(self.pop),
            self.oldest.eq(self._records.oldest),
            self.records.eq(self._records.records),
        ]
        return m

    def _restarted(self, part: wiring.Component) -> Any:
        return ResetInserter({"sync": self.restart})(part)

    def _launch(self, m: Module) -> None:
        """Send a launch through LaunchCheck, with its waits and its mode beside it."""
        launch: Any = self.launch.payload
        check, queue = self._check, self._queue
        waits = [
            f"wait{k}_{name}"
            for k in range(self._config.launch_waits)
            for name in ("valid", "stream", "count")
        ]
        m.d.comb += [
            check.i.valid.eq(self.launch.valid),
            self.launch.ready.eq(check.i.ready),
            *(check.i.payload[name].eq(launch[name]) for name in check.i.payload.shape().members),
            check.tables.eq(self.tables),
            queue.sent.valid.eq(self.launch.valid & self.launch.ready),
            *(queue.sent[name].eq(launch[name]) for name in ("stream", "priority", *waits)),
        ]
        beside: dict[str, Value] = {name: launch[name] for name in ("mode", *waits)}
        unknown_mode = Signal()
        for k in range(timing(self._config).launch_check):
            before, beside = beside, {}
            for name, value in before.items():
                later = Signal(len(value), name=f"{name}_{k}", reset_less=True)
                m.d.sync += later.eq(value)
                beside[name] = later
        # Known one cycle ahead: modes 5 to 7 do not exist.
        mode = before["mode"]
        m.d.sync += unknown_mode.eq(mode[2] & mode[:2].any())
        checked: Any = check.o.payload
        kept = [name for name in checked.shape().members if name not in ("error", "argument")]
        no_mode = unknown_mode & ~check.refused
        m.d.comb += [
            check.o.ready.eq(1),
            queue.checked.valid.eq(check.o.valid),
            *(queue.checked[name].eq(checked[name]) for name in kept),
            *(queue.checked[name].eq(value) for name, value in beside.items()),
            # Each once: Icarus sees a packet that is set by halves too late.
            queue.checked.error.eq(Mux(no_mode, int(HostError.FIELD_RANGE), checked.error)),
            queue.checked.argument.eq(Mux(no_mode, MODE_WORD, checked.argument)),
        ]

    def _connect_queue(self, m: Module) -> None:
        """Pass KernelQueue's ports through; count the cycles; look whether an SM is left."""
        queue = self._queue
        connect(m, flipped(self.abort), queue.abort)
        m.d.comb += [
            *(getattr(queue, name).eq(getattr(self, name)) for name in _QUEUE_INPUTS),
            *(getattr(self, name).eq(getattr(queue, name)) for name in _QUEUE_OUTPUTS),
        ]
        # The upper half does not wait for the lower half's carry.
        low = self._first_clock & ((1 << _HALF) - 1)
        lower = Signal(_HALF, init=low)
        upper = Signal(_HALF, init=self._first_clock >> _HALF)
        wraps = Signal(init=low + 1 >> _HALF)
        m.d.sync += [lower.eq(lower + 1), wraps.eq(lower[1:].all() & ~lower[0])]
        with m.If(wraps):
            m.d.sync += upper.eq(upper + 1)
        no_sm = Signal()
        m.d.sync += no_sm.eq(self._dispatcher.lost.all() & ~self.restart)
        m.d.comb += [
            self.clock[:_HALF].eq(lower),
            self.clock[_HALF:].eq(upper),
            queue.clock.eq(lower),
            queue.no_sm.eq(no_sm),
        ]

    def _connect_dispatcher(self, m: Module) -> None:
        """Connect the dispatcher with the queue, and pass the ports of the SMs through."""
        dispatcher, queue = self._dispatcher, self._queue
        connect(m, queue.launch, dispatcher.launch)
        connect(m, dispatcher.ended, queue.ended)
        m.d.comb += [
            dispatcher.launch_priority.eq(queue.launch.payload.priority),
            dispatcher.launch_yields.eq(queue.launch_yields),
            dispatcher.launch_number.eq(self._renumbered(queue.launch_number)),
            dispatcher.stop.eq(queue.stop),
            queue.started.eq(dispatcher.started),
            queue.yields.eq(dispatcher.yields),
            queue.ended_number.eq(self._renumbered(dispatcher.ended_number)),
        ]
        for n in range(self._config.sms):
            connect(m, dispatcher.offer[n], flipped(self.offer[n]))
            connect(m, flipped(self.report[n]), dispatcher.report[n])
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
        if "order_table" in self._dispatcher.signature.members:
            connect(m, dispatcher.order_table, flipped(self.order_table))

    def _renumbered(self, number: Value) -> Value:
        """Return the dispatcher's number for a block's number in the queue, or the other way."""
        return number ^ self._first_number if self._first_number else number

    def _connect_generator(self, m: Module) -> None:
        """Let the queue ask for indices; show what the generator does."""
        generator, queue = self._generator, self._queue
        connect(m, queue.request, generator.i)
        connect(m, generator.decision, queue.decision)
        connect(m, queue.release, generator.release)
        connect(m, generator.read, flipped(self.read))
        connect(m, generator.data, flipped(self.data))
        m.d.comb += [
            generator.cancel.eq(queue.cancel),
            generator.done.ready.eq(1),
            self.decided.eq(generator.decision.payload),
            self.decided_valid.eq(generator.decision.valid),
            self.done.eq(generator.done.payload),
            self.done_valid.eq(generator.done.valid),
            self.written.eq(generator.written),
            self.written_valid.eq(generator.written_valid),
            self.index_error.eq(generator.error),
            self.index_error_count.eq(generator.error_count),
        ]
