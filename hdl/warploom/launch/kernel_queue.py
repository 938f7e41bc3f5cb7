"""KernelQueue: streams of launches that wait for each other, and make way for urgent ones."""

from typing import Any, Final

from amaranth.hdl import DomainRenamer, Module, ResetInserter
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.launch import _queue_hand_over as hand_over
from warploom.launch import _queue_lists as lists
from warploom.launch._queue_commands import PERSISTENT
from warploom.launch._queue_parts import QueueParts
from warploom.launch._queue_shapes import QueueShape
from warploom_spec import Config, layouts, queue_packets
from warploom_spec.layouts import BLOCK_NUMBER_BITS, PLACES

#: Adds what goes from part to part.
_CONNECTIONS: Final = (
    lists.accept,
    lists.enter,
    lists.lists,
    lists.load,
    lists.started,
    lists.settle,
    hand_over.hand_over,
    hand_over.place,
    hand_over.end,
    hand_over.command,
    hand_over.abort_one,
    hand_over.finish,
)


def _index_ports(config: Config) -> dict[str, Any]:
    """Return the ports that are absent where nothing makes indices."""
    return {
        # Index configuration of a launch that was handed on. `valid` may fall.
        "request": Out(stream.Signature(layouts.index_config(config).layout())),
        # Takes the configuration in flight back.
        "cancel": Out(1),
        # The index generator's decision, always taken.
        "decision": In(stream.Signature(layouts.index_decision(config).layout())),
        # Gives one reference on a history entry back; taken at once.
        "release": Out(stream.Signature(config.entry_bits)),
    }


class KernelQueue(wiring.Component):
    """Keep accepted launches by stream, choose the next one, stop those that must make way.

    Ports and the exact machine: ``docs/launch/kernel_queue.md``.

    Parameters
    ----------
    config : Config
        Priorities, depth, streams, widths.
    first_ticket : int, optional
        The first launch's ticket, for tests of the tickets' wrap.
    first_count : int, optional
        The streams' first accepted count and timeline, for tests of the counts' wrap.
    """

    def __init__(self, config: Config, *, first_ticket: int = 1, first_count: int = 0) -> None:
        self._shape = QueueShape(config, first_count)
        self._first_ticket = first_ticket
        packets = queue_packets
        code = packets.queue_code(config).layout()
        super().__init__(
            {
                # A launch is sent to LaunchCheck in this cycle.
                "sent": In(packets.queue_sent(config).layout()),
                # A launch leaves LaunchCheck in this cycle.
                "checked": In(packets.queue_launch(config).layout()),
                # Bit p: a launch of priority p that is sent in this cycle finds room.
                "room": Out(self._shape.priorities),
                # Ticket, or why a launch was refused.
                "answer": Out(packets.queue_answer(config).layout()),
                # PREEMPT, RESUME or ABORT_STREAMS.
                "command": In(packets.queue_command(config).layout()),
                "command_answer": Out(code),
                # ABORT of a launch by its ticket.
                "abort": In(stream.Signature(packets.launch_abort(config).layout())),
                "abort_answer": Out(code),
                # A broken stream takes launches again.
                "clear_stream": In(packets.queue_stream(config).layout()),
                # Cycles of one residence; 0: no limit.
                "launch_timeout": In(32),
                # Low half of the free-running cycle counter.
                "clock": In(32),
                # Every SM is lost.
                "no_sm": In(1),
                **(_index_ports(config) if config.makes_indices else {}),
                # To BlockDispatcher. `valid` may fall.
                "launch": Out(stream.Signature(layouts.dispatch_launch(config).layout())),
                # The launch at `launch` has mode `yield`.
                "launch_yields": Out(1),
                # The number of its first block.
                "launch_number": Out(BLOCK_NUMBER_BITS),
                # Stops for the launches in the dispatcher's places.
                "stop": Out(layouts.dispatch_stop(config).layout()),
                # Each place's launch has started; it may place no blocks, because it yields.
                "started": In(PLACES),
                "yields": In(PLACES),
                # The dispatcher's records, always taken.
                "ended": In(stream.Signature(layouts.dispatch_end(config).layout())),
                # The number of the record's next block.
                "ended_number": In(BLOCK_NUMBER_BITS),
                # Final records; the host has popped one.
                "record": Out(packets.final_record(config).layout()),
                "record_taken": In(1),
                # A launch leaves line or place unfinished.
                "put_back": Out(packets.put_back(config).layout()),
                # A stream's timeline has changed.
                "timeline": Out(packets.timeline_step(config).layout()),
                # A soft reset runs; its last cycle.
                "soft_reset_active": In(1),
                "restart": In(1),
                # Nothing is here.
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Any:
        """Build the block: all registers but those of `PERSISTENT` follow ``restart``."""
        del platform
        m = Module()
        parts = QueueParts(self, self._shape, self._first_ticket)
        parts.build(m)
        for connect in _CONNECTIONS:
            m.submodules[connect.__name__] = inside = Module()
            connect(inside, parts)
        restarted = ResetInserter({"sync": self.restart})(m)
        return DomainRenamer({PERSISTENT: "sync"})(restarted)
