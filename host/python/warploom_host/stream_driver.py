"""Stream queues, version 2 of the map: the calls of ``host/c/warploom_streams.c``, in Python."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from warploom_host.driver import HostDriver
from warploom_host.outcomes import Outcome, Record
from warploom_spec.errors import WarploomError
from warploom_spec.host_commands import INLINE_WORD
from warploom_spec.host_map import Word
from warploom_spec.launch import LaunchDescriptor
from warploom_spec.queue import RecordKind
from warploom_spec.queue_host import (
    QUEUE_MAP_VERSION,
    WAIT_WORDS,
    QueueHostOpcode,
    mask_words,
    queued_launch_words,
    queued_registers,
)
from warploom_spec.queue_packets import FINAL_RECORD_WORDS, FIRST_WAIT_WORD, final_record_words
from warploom_spec.word_layout import WordLayout

COUNTS: Final = 1 << 16
#: An event that is so many launches behind is reached.
FAR_BEHIND: Final = 1 << 15
#: Fields of a record under other names.
_FIELDS: Final = {"word2": "cycles", "reset_as_drain": "drained"}


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


class StreamDriver(HostDriver):
    """One core with stream queues. Parameters and calls are `HostDriver`'s, and those below.

    A core of version 1 of the map has no stream queues: `identify` and each new call say so.
    """

    map_version = QUEUE_MAP_VERSION
    _version: int | None = None

    def preempt(self, section: int, streams: int) -> None:
        """Hold the streams of a mask, and stop what runs of them.

        A record of kind 2 tells when all is back.
        """
        self._command(section, QueueHostOpcode.PREEMPT, streams)

    def resume(self, section: int, streams: int) -> None:
        """Let the streams of a mask go on."""
        self._command(section, QueueHostOpcode.RESUME, streams)

    def abort_streams(self, section: int, streams: int) -> None:
        """Abort all launches of the mask's streams that were accepted so far."""
        self._command(section, QueueHostOpcode.ABORT_STREAMS, streams)

    def set_launch_timeout(self, cycles: int) -> None:
        """End a launch that stays longer than so many cycles at a stretch; 0: none."""
        self._demand_streams()
        self.write_register("LAUNCH_TIMEOUT", cycles)

    def set_irq_timeout(self, cycles: int) -> None:
        """Let a record that waits so many cycles raise ``irq``; 0: never."""
        self._demand_streams()
        self.write_register("IRQ_TIMEOUT", cycles)

    def clock(self) -> int:
        """Return the clock whose low half stands in records."""
        self._demand_streams()
        high = self.register("CLOCK_HIGH")
        while True:
            before, low = high, self.register("CLOCK_LOW")
            high = self.register("CLOCK_HIGH")
            if high == before:
                return high << 32 | low

    def submit_launch(
        self, section: int, launch: LaunchDescriptor, waits: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Write a launch into a section and ring its doorbell.

        ``waits`` are pairs (stream, count): it begins after so many launches of the stream.
        """
        if len(waits) > self._config.launch_waits:
            most = self._config.launch_waits
            raise WarploomError(f"the launch waits for {len(waits)} pairs; legal: 0 to {most}")
        pairs = [*waits, *[(0, 0)] * (WAIT_WORDS - len(waits))]
        fields = {"flags": (1 << len(waits)) - 1}
        for k, (stream, count) in enumerate(pairs):
            fields |= {f"wait{k}_stream": stream, f"wait{k}_count": count % COUNTS}
        self._submit_launch(section, launch, queued_launch_words(self._config), fields)

    def launch_after(
        self, section: int, launch: LaunchDescriptor, waits: Sequence[tuple[int, int]]
    ) -> Outcome:
        """Launch a kernel that waits for pairs (stream, count); return ticket and number.

        Raises
        ------
        CommandFailed
            If it is refused, but not because its queue is full.
        """
        return self._launched(section, lambda: self.submit_launch(section, launch, waits))

    def _map(self) -> tuple[Word, ...]:
        return queued_registers(self._config)

    def _demand_streams(self) -> None:
        """Refuse a core of another version of the map; VERSION is read once."""
        if self._version is None:
            self._version = self.register("VERSION")
        major, minor = self._version >> 16, self._version & 0xFFFF
        if major != self.map_version >> 16:
            wanted = f"{self.map_version >> 16}.0"
            raise WarploomError(f"VERSION is {major}.{minor}; stream queues need {wanted}")

    def _command(self, section: int, opcode: QueueHostOpcode, streams: int) -> None:
        self._demand_streams()
        fields = {"opcode": int(opcode), "flags": 0, "parameter": 0, "mask": streams}
        self._submit(section, mask_words(self._config), fields)
        self._checked(section, self.wait(section))

    def _used(self, layout: WordLayout, fields: Mapping[str, int]) -> int:
        if layout.name != "launch":
            return super()._used(layout, fields)
        if pairs := fields["flags"].bit_length():
            return FIRST_WAIT_WORD + pairs
        return INLINE_WORD + 2 * self._config.inline_args

    def _numbers(self, result: int) -> dict[str, int]:
        return {**super()._numbers(result), "number": result >> 16}

    def _record(self) -> Record:
        layout = final_record_words(self._config)
        words = [self.register(f"RECORD{word}") for word in range(FINAL_RECORD_WORDS)]
        fields = {_FIELDS.get(name, name): value for name, value in layout.unpack(words).items()}
        counts, skipped = fields.pop("word3"), fields.pop("word4")
        if fields["kind"] == RecordKind.PREEMPT:
            fields |= {"met_finished": fields["cycles"], "cycles": 0}
            fields |= {"met_killed": counts & 0xFFFF, "met_drained": counts >> 16}
            fields |= {"met_skipped": skipped}
        return Record(**fields)


class Streams:
    """Launches that wait for launches of other streams: the program's wish, so its own state.

    Launches and records must go through it. What hardware does not do: priorities are not
    inherited. An urgent launch that waits for a low one lets the low one run, but launches of a
    priority between the two may delay it without bound.

    Parameters
    ----------
    driver : StreamDriver
        The core.

    Attributes
    ----------
    kept : deque of Record
        Records that were taken while `stream_wait` waited; `take_record` gives them first.
    """

    def __init__(self, driver: StreamDriver):
        self._driver = driver
        self.kept: deque[Record] = deque()
        driver._demand_streams()
        self._forget()

    def _forget(self) -> None:
        """Know no launch and no pair; read the epoch."""
        config = self._driver._config
        self._epoch = self._driver.register("STATE") >> 16
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
        """Reset the core softly; every wait ends with it."""
        self._driver.soft_reset()
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
