"""Orders between streams: the calls of ``host/c/warploom_streams.c``, in Python."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from warploom_host.driver import HostDriver
from warploom_host.kept_section import KeptSection
from warploom_host.launch_words import Relative, Wait
from warploom_host.outcomes import HostTimeout, Outcome, QuietLaunch, Record
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
    quiet : int
        Number of the latest quiet one of them; 0: none.
    """

    stream: int
    count: int
    epoch: int
    quiet: int = 0


class Streams:
    """Launches that wait for launches of other streams: the program's wish, so its own state.

    Launches and records must go through it. What hardware does not do: priorities are not
    inherited. An urgent launch that waits for a low one lets the low one run, but launches of a
    priority between the two may delay it without bound.

    Parameters
    ----------
    driver : HostDriver
        The core.
    keep_words : bool
        Whether launches write only words that differ from those of the section's last launch.

    Attributes
    ----------
    kept : deque of Record
        Records that were taken while `stream_wait` waited; `take_record` gives them first.
    """

    def __init__(self, driver: HostDriver, *, keep_words: bool = False):
        self._driver = driver
        self._keeps = keep_words
        self.kept: deque[Record] = deque()
        self._forget()

    def _forget(self) -> None:
        """Know no launch and no pair; read the epoch, which rises when a soft reset is over."""
        config = self._driver._config
        state = self._driver.register("STATE")
        self._epoch = ((state >> 16) + (state & 1)) % EPOCHS
        self._counts = [0] * (1 << config.stream_bits)
        self._pairs: list[list[Event]] = [[] for _ in self._counts]
        # Number of each stream's latest quiet launch, and up to which one all have ended, as a
        # record says.
        self._quiet = [0] * len(self._counts)
        self._ended = [0] * len(self._counts)
        # Launches without a record that was taken, no quiet ones: stream and number by ticket.
        self._open: dict[int, tuple[int, int]] = {}
        # Loops that run, by section: their streams.
        self._loops: dict[int, frozenset[int]] = {}
        self._words: dict[int, KeptSection] = {}

    def launch(
        self,
        section: int,
        launch: LaunchDescriptor,
        *,
        quiet: bool = False,
        waits: Sequence[Relative] = (),
    ) -> int:
        """Launch a kernel that waits for its stream's pairs; return its ticket.

        A launch that is refused keeps them for the next one. ``waits`` are more pairs, what
        `wait_latest` returns. The ticket of a quiet launch is 0 if words are kept.

        Raises
        ------
        WarploomError
            Also while a loop runs with launches of its stream, or of one that it waits for, and in
            the section of a loop whose outcome was not taken.
        """
        stream = launch.stream
        self._demand_stream(stream)
        self._demand_no_loop(stream)
        if section in self._loops:
            raise WarploomError(f"section {section} is busy: take its loop's outcome first")
        self._pairs[stream] = [one for one in self._pairs[stream] if not self._is_reached(one)]
        for one in self._pairs[stream]:
            self._demand_no_loop(one.stream)
        pairs = [*waits, *((one.stream, one.count) for one in self._pairs[stream])]
        outcome = self._send(section, launch, pairs, quiet)
        # The answer has the low 16 bits.
        self._counts[stream] += (outcome.number - self._counts[stream]) % COUNTS
        self._pairs[stream] = []
        if quiet:
            self._quiet[stream] = self._counts[stream]
        else:
            self._open[outcome.ticket] = stream, self._counts[stream]
        return outcome.ticket

    def _send(
        self, section: int, launch: LaunchDescriptor, pairs: Sequence[Wait], quiet: bool
    ) -> Outcome:
        if not self._keeps:
            return self._driver.launch_after(section, launch, pairs, quiet=quiet)
        if section not in self._words:
            self._words[section] = KeptSection(self._driver, section)
        return self._words[section].launch(launch, pairs, quiet=quiet)

    def event_record(self, stream: int) -> Event:
        """Return the launches that a stream has so far. Nothing is accessed.

        Raises
        ------
        WarploomError
            Also while a loop runs with launches of the stream: who depends on it waits for its end.
        """
        self._demand_stream(stream)
        self._demand_no_loop(stream)
        return Event(stream, self._counts[stream], self._epoch, self._quiet[stream])

    def stream_wait(self, stream: int, event: Event) -> None:
        """Let the next launch of a stream wait for an event.

        Where it waits for as many as it can already, this call itself waits for the oldest.

        Raises
        ------
        QuietLaunch
            If it must wait for a quiet launch behind which no record of the stream will come.
        """
        self._demand_stream(stream)
        self._demand_stream(event.stream)
        if self._is_reached(event):
            return
        self._demand_no_loop(event.stream)
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

    def _demand_no_loop(self, stream: int) -> None:
        for section, streams in self._loops.items():
            if stream in streams:
                raise WarploomError(
                    f"stream {stream} is busy: section {section} loops; wait for it"
                )

    def begin_loop(self, section: int, streams: frozenset[int]) -> int:
        """Note that a loop runs with launches of some streams; return the epoch."""
        self._loops[section] = streams
        return self._epoch

    def forget_words(self, section: int) -> None:
        """Know nothing of what stands in a section's task register."""
        if section in self._words:
            self._words[section].forget()

    def end_loop(self, section: int, epoch: int, launches: Mapping[int, int], ended: bool) -> None:
        """Let the counts of a loop's streams go on; ``ended``: all its launches have finished."""
        # A soft reset has ended everything.
        if epoch != self._epoch:
            return
        self._loops.pop(section, None)
        for stream, count in launches.items():
            self._counts[stream] += count
            if ended and count:
                self._ended[stream] = self._counts[stream]

    def _is_reached(self, event: Event) -> bool:
        """Return whether an event is over for certain, so that no launch needs to wait for it."""
        behind = self._counts[event.stream] - event.count
        return not event.count or event.epoch != self._epoch or behind >= FAR_BEHIND

    def _noted(self, record: Record | None) -> Record | None:
        """Note that a launch's record was taken."""
        if record is not None and record.kind == RecordKind.LAUNCH:
            stream, number = self._open.pop(record.ticket, (0, 0))
            # It began, so all before it have ended; one that waited may be aborted earlier.
            if record.offered:
                self._ended[stream] = max(self._ended[stream], number)
        return record

    def _wait_for(self, event: Event) -> None:
        """Take records until an event is reached; keep them."""
        while True:
            numbers = [n for s, n in self._open.values() if s == event.stream]
            if event.quiet > self._ended[event.stream]:
                if not any(n >= event.quiet for n in numbers):
                    raise QuietLaunch(
                        f"launch {event.quiet} of stream {event.stream} is quiet, and no launch"
                        " with a record is behind it"
                    )
            elif not any(n <= event.count for n in numbers):
                return
            record = self._driver.wait_record()
            self._noted(record)
            self.kept.append(record)
