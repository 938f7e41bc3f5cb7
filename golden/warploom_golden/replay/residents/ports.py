"""KernelQueue in the event model: it sleeps, and is stepped with the ports that say something."""

from typing import Any, Final

from warploom_golden.launch.kernel_queue import KernelQueue
from warploom_golden.launch.queue_parts.events import Event
from warploom_golden.launch.queue_parts.packets import QueuePackets
from warploom_golden.launch.queue_parts.rows import Launch

#: Inputs that are 0 as long as nobody says something.
_SILENT: Final = dict.fromkeys(
    (
        "sent",
        "checked__valid",
        "checked__payload",
        "command__valid",
        "command__payload",
        "abort__valid",
        "abort__payload",
        "clear_stream__valid",
        "clear_stream__payload",
        "launch_timeout",
        "no_sm",
        "request__ready",
        "needs_release",
        "decision__valid",
        "decision__payload",
        "made",
        "start__ready",
        "begun",
        "busy",
        "open",
        "yields",
        "ended__valid",
        "ended__payload",
        "ended_first",
        "ended_cycles",
        "fetch",
        "record_taken",
        "soft_reset_active",
        "restart",
    ),
    0,
)


class Ports(QueuePackets):
    """Packets of the queue's ports, and inputs that say nothing."""

    def inputs(self, clock: int) -> dict[str, int]:
        """Return inputs that say nothing."""
        return {**_SILENT, "clock": clock & 0xFFFF_FFFF}


class SleepingQueue(KernelQueue):
    """KernelQueue, which may sleep while nothing is under way in it."""

    def sleep(self, cycles: int) -> None:
        """Let cycles pass in which nothing changes but their number."""
        parts = self._parts
        parts.cycle += cycles
        parts.entries._since_sent += cycles
        parts.times.turn = (parts.times.turn + cycles) % len(parts.rows)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is here."""
        return self._is_idle()

    @property
    def restless(self) -> bool:
        """Whether something is under way, so that the next cycle may differ.

        A launch at ``start`` is not: it waits for the dispatcher alone.
        """
        parts, cycle = self._parts, self._parts.cycle
        flags, prepares = parts.flags, parts.preparation
        looks = flags.look or parts.looks.chosen is not None or parts.looks._round
        # Without a decision preparation waits for the index generator alone.
        prepared = prepares.launch is not None and not prepares._asked
        prepared = (prepared and not prepares.starts) or prepares._since_needed is not None
        may = flags.ready & ~flags.held & ~flags.tried
        chooses = parts.choice._among or (may and prepares.launch is None)
        writes = parts.writer.busy(cycle) or parts.writer.record(cycle)
        gives = parts.entries.given is not None or parts.entries._counts_next is not None
        serves = self._engine.serving is not None or parts.inbox.launch is not None
        asks = not parts.walk.ready or parts.search.under_way or parts.preempts.pending
        says = parts.pulses.answer or parts.pulses.release is not None or prepares._releases
        boots = cycle < parts.entries.boot + 8
        return bool(
            looks or prepared or chooses or writes or gives or serves or asks or says or boots
        )

    def takes_end(self, inputs: dict[str, int]) -> bool:
        """Whether ``ended.ready`` is 1."""
        return self._engine.pick(self._parts, inputs) is Event.END

    # What outputs say, without packets

    @property
    def may_send(self) -> bool:
        """Whether a launch may be sent, but for `room`."""
        entries = self._parts.entries
        return entries.pace(self._parts.cycle) and bool(self._kept.records_left)

    def has_room(self, priority: int) -> bool:
        """Whether a priority has a free entry."""
        return bool(self._parts.entries.room >> priority & 1)

    @property
    def takes_checked(self) -> bool:
        """Whether ``checked.ready`` is 1."""
        return self._parts.inbox.ready

    @property
    def inbox(self) -> Launch | None:
        """The launch in the inbox."""
        return self._parts.inbox.launch

    @property
    def takes_command(self) -> bool:
        """Whether ``command.ready`` is 1."""
        return self._parts.walk.ready

    @property
    def takes_abort(self) -> bool:
        """Whether ``abort.ready`` is 1."""
        return self._parts.search.ready(self._parts.cycle)

    @property
    def requested(self) -> Launch | None:
        """The head whose index configuration is requested."""
        prepares = self._parts.preparation
        return prepares.launch if prepares.requests else None

    @property
    def preparing(self) -> Launch | None:
        """The head in preparation."""
        return self._parts.preparation.launch

    @property
    def cancels(self) -> bool:
        """Whether ``cancel`` is 1."""
        return self._parts.preparation.cancels

    @property
    def released(self) -> int | None:
        """The history entry at ``release``."""
        return self._parts.pulses.release

    @property
    def starting(self) -> Launch | None:
        """The launch at ``start``."""
        prepares = self._parts.preparation
        return prepares.launch if prepares.starts else None

    @property
    def residents(self) -> int:
        """Streams with a resident, a bit each."""
        return self._parts.flags.resident

    @property
    def levels(self) -> tuple[int, int]:
        """``hold`` and ``stop``."""
        holds = self._parts.holds
        return holds.hold, holds.stop | self._parts.pulses.stop

    @property
    def pulses(self) -> Any:
        """Outputs that say something for one cycle."""
        return self._parts.pulses

    def aborted(self, cycle: int) -> int | None:
        """Return the code at ``abort_answer``."""
        return self._parts.search.answer(cycle)

    def word(self, cycle: int) -> int:
        """Return the word at ``record``."""
        return self._parts.writer.record(cycle)
