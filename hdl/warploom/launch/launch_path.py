"""LaunchCheck, KernelQueue, IndexGenerator, BlockDispatcher and RecordQueue, in one block."""

from typing import Any, Final

from amaranth.hdl import Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from warploom.dispatch.block_dispatcher import BlockDispatcher
from warploom.index import IndexGenerator
from warploom.launch._launch_path_ports import (
    DISPATCHER_OUTPUTS,
    QUEUE_INPUTS,
    QUEUE_OUTPUTS,
    QUEUE_STREAMS,
    index_error_ports,
    index_ports,
)
from warploom.launch.kernel_queue import KernelQueue
from warploom.launch.launch_check import LaunchCheck
from warploom.launch.launch_pairs import pair_layout
from warploom.launch.record_queue import RecordQueue
from warploom_spec import Config, layouts, queue_packets, timing
from warploom_spec.host_errors import HostError
from warploom_spec.queue_packets import MODE_WORD

#: Bits of the clock's lower half.
_HALF: Final = 32


class LaunchPath(wiring.Component):
    """Own each launch from its transfer to its final record, with a resident one in each stream.

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
        self._config, self._first_clock = config, first_clock
        self._check = LaunchCheck(config)
        self._queue: Any = KernelQueue(config, first_ticket=first_ticket, first_count=first_count)
        # Absent where nothing makes indices.
        self._generator: Any = IndexGenerator(config) if config.makes_indices else None
        self._dispatcher: Any = BlockDispatcher(config, first_number=first_number)
        self._records: Any = RecordQueue(config)
        queue, records = self._queue.signature.members, self._records.signature.members
        dispatcher = self._dispatcher.signature.members
        launch = queue_packets.queued_launch(config).layout()
        self._queue_outputs = (*QUEUE_OUTPUTS, *(("loop_end",) if config.has_loops else ()))
        queue_ports = (*QUEUE_STREAMS, *QUEUE_INPUTS, *self._queue_outputs)
        swaps = ("order_swap",) if config.has_order_table else ()
        super().__init__(
            {
                # Launches with mode and waits. `ready` is the pace: it says nothing of `room`.
                "launch": In(stream.Signature(launch)),
                # Bit h - 1: mapping table h exists.
                "tables": In(config.max_tables),
                # KernelQueue's: room, commands, aborts, answers; observers'; the soft reset.
                **{name: queue[name] for name in queue_ports},
                # RecordQueue's: the oldest final record, and how many there are.
                **{name: records[name] for name in ("oldest", "records", "pop")},
                # Free-running cycle counter. A register.
                "clock": Out(2 * _HALF),
                # BlockDispatcher's, for the SMs; the launch words of the offered block.
                **{n: dispatcher[n] for n in ("enable", *DISPATCHER_OUTPUTS, "report", *swaps)},
                "words": queue["words"],
                **(index_ports(config) if config.makes_indices else {}),
                # The dispatcher's errors.
                "dispatch_error": Out(layouts.error_record(config).layout()),
                "dispatch_error_count": Out(timing(config).error_counter_bits),
                **(index_error_ports(config) if config.makes_indices else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block: LaunchCheck, IndexGenerator and the dispatcher follow ``restart``.

        Queue and dispatcher reset their registers themselves. RecordQueue and the clock go on.
        """
        del platform
        m = Module()
        ports: Any = self
        m.submodules.check = ResetInserter({"sync": ports.restart})(self._check)
        m.submodules.queue = self._queue
        m.submodules.dispatcher = self._dispatcher
        m.submodules.records = self._records
        low = self._clock(m)
        self._launch(m)
        self._connect_queue(m, low)
        self._connect_dispatcher(m, low)
        if self._generator is not None:
            m.submodules.generator = ResetInserter({"sync": ports.restart})(self._generator)
            self._connect_generator(m)
        m.d.comb += [
            self._records.record.eq(self._queue.record),
            self._queue.record_taken.eq(self._records.record_taken),
            self._records.pop.eq(ports.pop),
            *(getattr(ports, n).eq(getattr(self._records, n)) for n in ("oldest", "records")),
        ]
        return m

    def _clock(self, m: Module) -> Signal:
        """Count the cycles; return the lower half."""
        ports: Any = self
        # The upper half does not wait for the lower half's carry.
        low = self._first_clock & ((1 << _HALF) - 1)
        lower = Signal(_HALF, name="clock_low", init=low)
        upper = Signal(_HALF, name="clock_high", init=self._first_clock >> _HALF)
        wraps = Signal(name="clock_wraps", init=low + 1 >> _HALF)
        m.d.sync += [lower.eq(lower + 1), wraps.eq(lower[1:].all() & ~lower[0])]
        with m.If(wraps):
            m.d.sync += upper.eq(upper + 1)
        m.d.comb += [ports.clock[:_HALF].eq(lower), ports.clock[_HALF:].eq(upper)]
        return lower

    def _launch(self, m: Module) -> None:
        """Send a launch through LaunchCheck, with its waits and its mode beside it."""
        ports: Any = self
        launch, transfer = ports.launch.payload, ports.launch
        check, queue = self._check, self._queue
        waits = [
            f"wait{k}_{name}"
            for k in range(self._config.launch_waits)
            for name in pair_layout(self._config).members
        ]
        given = [name for name in check.i.payload.shape().members if name in launch.shape().members]
        moves = Signal(name="check_moves")
        m.d.comb += [
            moves.eq(~check.o.valid | check.o.ready),
            transfer.ready.eq(check.i.ready & queue.pace),
            check.i.valid.eq(transfer.valid & queue.pace),
            *(check.i.payload[name].eq(launch[name]) for name in given),
            check.tables.eq(ports.tables),
            queue.sent.valid.eq(transfer.valid & transfer.ready),
            queue.sent.priority.eq(launch.priority),
        ]
        loops = ("loop", "quiet") if self._config.has_loops else ()
        beside: dict[str, Value] = {name: launch[name] for name in ("mode", *waits, *loops)}
        unknown_mode = Signal(name="unknown_mode", reset_less=True)
        for k in range(timing(self._config).launch_check):
            before, beside = beside, {}
            for name, value in before.items():
                later = Signal(len(value), name=f"{name}_{k}", reset_less=True)
                with m.If(moves):
                    m.d.sync += later.eq(value)
                beside[name] = later
        # Known one cycle ahead: modes 5 to 7 do not exist.
        mode = before["mode"]
        with m.If(moves):
            m.d.sync += unknown_mode.eq(mode[2] & mode[:2].any())
        checked: Any = check.o.payload
        to_queue = queue.checked.payload
        elsewhere = ("error", "argument", *beside)
        kept = [name for name in to_queue.shape().members if name not in elsewhere]
        no_mode = unknown_mode & ~check.refused
        m.d.comb += [
            check.o.ready.eq(queue.checked.ready),
            queue.checked.valid.eq(check.o.valid),
            *(to_queue[name].eq(checked[name]) for name in kept),
            *(to_queue[name].eq(value) for name, value in beside.items()),
            # Each once: Icarus sees a packet that is set by halves too late.
            to_queue.error.eq(Mux(no_mode, int(HostError.FIELD_RANGE), checked.error)),
            to_queue.argument.eq(Mux(no_mode, MODE_WORD, checked.argument)),
        ]

    def _connect_queue(self, m: Module, low: Signal) -> None:
        """Pass KernelQueue's ports through."""
        queue = self._queue
        for name in QUEUE_STREAMS:
            connect(m, flipped(getattr(self, name)), getattr(queue, name))
        m.d.comb += [
            *(getattr(queue, name).eq(getattr(self, name)) for name in QUEUE_INPUTS),
            *(
                getattr(self, name).eq(getattr(queue, name))
                for name in (*self._queue_outputs, "words")
            ),
            queue.clock.eq(low),
            queue.no_sm.eq(self._dispatcher.no_sm),
        ]

    def _connect_dispatcher(self, m: Module, low: Signal) -> None:
        """Connect the dispatcher with the queue, and pass the ports of the SMs through."""
        ports: Any = self
        dispatcher, queue = self._dispatcher, self._queue
        connect(m, queue.start, dispatcher.start)
        connect(m, dispatcher.ended, queue.ended)
        levels = ("begun", "busy", "open", "yields", "ended_first", "ended_cycles")
        m.d.comb += [
            *(getattr(queue, name).eq(getattr(dispatcher, name)) for name in levels),
            *(getattr(dispatcher, name).eq(getattr(queue, name)) for name in ("hold", "stop")),
            queue.fetch.eq(dispatcher.fetch),
            dispatcher.clock.eq(low),
            dispatcher.restart.eq(ports.restart),
            dispatcher.enable.eq(ports.enable),
            *(getattr(ports, name).eq(getattr(dispatcher, name)) for name in DISPATCHER_OUTPUTS),
            ports.dispatch_error.eq(dispatcher.error),
            ports.dispatch_error_count.eq(dispatcher.error_count),
        ]
        for outer, inner in zip(ports.report, dispatcher.report, strict=True):
            connect(m, flipped(outer), inner)
        if self._config.has_order_table:
            connect(m, flipped(ports.order_swap), dispatcher.order_swap)

    def _connect_generator(self, m: Module) -> None:
        """Let the queue ask for indices; show what the generator does."""
        ports: Any = self
        generator, queue = self._generator, self._queue
        connect(m, queue.request, generator.i)
        connect(m, generator.decision, queue.decision)
        connect(m, queue.release, generator.release)
        connect(m, generator.read, flipped(ports.read))
        connect(m, generator.data, flipped(ports.data))
        done = generator.done
        m.d.comb += [
            generator.cancel.eq(queue.cancel),
            queue.needs_release.eq(generator.needs_release),
            done.ready.eq(1),
            queue.made.eq(done.valid & ~done.payload.hit),
            ports.decided.eq(generator.decision.payload),
            ports.decided_valid.eq(generator.decision.valid),
            ports.done.eq(done.payload),
            ports.done_valid.eq(done.valid),
            ports.written.eq(generator.written),
            ports.written_valid.eq(generator.written_valid),
            ports.index_error.eq(generator.error),
            ports.index_error_count.eq(generator.error_count),
        ]
