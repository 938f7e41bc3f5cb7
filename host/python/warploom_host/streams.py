"""Orders between streams: the calls of ``host/c/warploom_streams.c``, in Python."""

from collections import deque
from dataclasses import dataclass
from typing import Final

from warploom_host.driver import HostDriver
from warploom_host.outcomes import HostTimeout, Record
from warploom_spec.errors import WarploomError
from warploom_spec.launch import LaunchDescriptor
from warploom_spec.queue import RecordKind

COUNTS: Final = 1 << 16
EPOCHS: Final = 1 << 16
#: An event that is so many launches behind is reached.
FAR_BEHIND: Final = 1 << 15


@dataclass(frozen=True)
class Event:
    """The launches of a stream up to one.

    Attributes
    ----------
    stream, count : int
        The stream, and how many of its launches; 0: none of them.
    epoch : int
        The epoch in which they were counted.
    """

    stream: int
    count: int
    epoch: int


class Streams:
    """Launches that wait for launches of other streams: the program's wish, so its own state.

    Launches and records must go through it. What hardware does not do: priorities are not
    inherited. An urgent launch that waits for a low one lets the low one run, but launches of a
    priority between the two may delay it without bound.

    Parameters
    ----------
    driver : HostDriver
        The core.

    Attributes
    ----------
    kept : deque of Record
        Records that were taken while `stream_wait` waited; `take_record` gives them first.
    """

    def __init__(self, driver: HostDriver):
        self._driver = driver
        self.kept: deque[Record] = deque()
        self._forget()

    def _forget(self) -> None:
        """Know no launch and no pair; read the epoch, which rises when a soft reset is over."""
        config = self._driver._config
        state = self._driver.register("STATE")
        self._epoch = ((state >> 16) + (state & 1)) % EPOCHS
        self._counts = [0] * (1 << config.stream_bits)
        self._pairs: list[list[Event]] = [[] for _ in self._counts]
        # Launches without a record that was taken: stream and number by ticket.
        self._open: dict[int, tuple[int, int]] = {}

    def launch(self, section: int, launch: LaunchDescriptor) -> int:
        """Launch a kernel that waits for its stream's pairs; return its ticket.

        A launch that is refused keeps them for the next one.
        """
        stream = launch.stream
        self._demand_stream(stream)
        self._pairs[stream] = [one for one in self._pairs[stream] if not self._is_reached(one)]
        waits = [(one.stream, one.count) for one in self._pairs[stream]]
        outcome = self._driver.launch_after(section, launch, waits)
        # The answer has the low 16 bits.
        self._counts[stream] += (outcome.number - self._counts[stream]) % COUNTS
        self._pairs[stream] = []
        self._open[outcome.ticket] = stream, self._counts[stream]
        return outcome.ticket

    def event_record(self, stream: int) -> Event:
        """Return the launches that a stream has so far. Nothing is accessed."""
        self._demand_stream(stream)
        return Event(stream, self._counts[stream], self._epoch)

    def stream_wait(self, stream: int, event: Event) -> None:
        """Let the next launch of a stream wait for an event.

        Where it waits for as many as it can already, this call itself waits for the oldest.
        """
        self._demand_stream(stream)
        self._demand_stream(event.stream)
        if self._is_reached(event):
            return
        pairs = self._pairs[stream]
        for k, pair in enumerate(pairs):
            if pair.stream == event.stream:
                # The later launch's end implies the earlier one's.
                pairs[k] = max(pair, event, key=lambda one: one.count)
                return
        most = self._driver._config.launch_waits
        if not most:
            self._wait_for(event)
            return
        if len(pairs) == most:
            self._wait_for(pairs[0])
            del pairs[0]
        pairs.append(event)

    def take_record(self) -> Record | None:
        """Take the oldest final record, those that were kept first; None if none waits."""
        return self.kept.popleft() if self.kept else self._noted(self._driver.take_record())

    def wait_record(self) -> Record:
        """Take the oldest final record as soon as there is one."""
        if self.kept:
            return self.kept.popleft()
        record = self._driver.wait_record()
        self._noted(record)
        return record

    def soft_reset(self) -> None:
        """Reset the core softly; every wait ends with it.

        Raises
        ------
        HostTimeout
            If it is not over in so many turns: it goes on, and every wait has ended all the same.
        """
        try:
            self._driver.soft_reset()
        except HostTimeout:
            self._forget()
            raise
        self._forget()

    def _demand_stream(self, stream: int) -> None:
        if not 0 <= stream < len(self._counts):
            raise WarploomError(f"stream is {stream}; legal: 0 to {len(self._counts) - 1}")

    def _is_reached(self, event: Event) -> bool:
        """Return whether an event is over for certain, so that no launch needs to wait for it."""
        behind = self._counts[event.stream] - event.count
        return not event.count or event.epoch != self._epoch or behind >= FAR_BEHIND

    def _noted(self, record: Record | None) -> Record | None:
        """Note that a launch's record was taken."""
        if record is not None and record.kind == RecordKind.LAUNCH:
            self._open.pop(record.ticket, None)
        return record

    def _wait_for(self, event: Event) -> None:
        """Take records until an event is reached; keep them."""
        while any(s == event.stream and n <= event.count for s, n in self._open.values()):
            record = self._driver.wait_record()
            self._noted(record)
            self.kept.append(record)
