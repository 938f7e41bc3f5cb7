"""Timelines in Perfetto's own format: tracks of slices and counters, opened by ui.perfetto.dev."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from warploom_sim.json_file import utf_8, whole_file
from warploom_spec.extras import need

#: All packets are one sequence: what a name stands for is sent once.
_SEQUENCE: Final = 1
#: Packets that are held before they are written.
_HELD: Final = 1 << 14


@dataclass(frozen=True)
class TrackSlice:
    """One slice: a name on a track from one cycle to another. A nanosecond stands for a cycle."""

    track: int
    start: int
    end: int
    name: str


class Timeline:
    """A timeline that is written to a file as it is made: `new_timeline` opens one.

    A nanosecond stands for a cycle. Groups, tracks and counters are numbered as they are made. Of
    one track the slices come in order of their time, and nest.

    Raises
    ------
    WarploomError
        If the package ``perfetto`` is not installed.
    """

    def __init__(self, file: BinaryIO) -> None:
        builder = need("perfetto.trace_builder.proto_builder", "report", "a timeline")
        self._protos: Any = need(
            "perfetto.protos.perfetto.trace.perfetto_trace_pb2", "report", "a timeline"
        )
        self._file, self._new = file, builder.TraceProtoBuilder
        self._builder: Any = self._new()
        self._held = 0
        self._made = 0
        self._flows = 0
        self._names: dict[str, int] = {}
        self._details: dict[str, int] = {}
        first = self._packet()
        first.trusted_packet_sequence_id = _SEQUENCE
        first.sequence_flags = self._protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED

    def group(self, name: str) -> int:
        """Begin a group of tracks; return its number."""
        descriptor = self._descriptor()
        descriptor.process.pid = self._made
        descriptor.process.process_name = name
        return self._made

    def track(self, group: int, name: str) -> int:
        """Begin a track of slices in a group; return its number."""
        descriptor = self._descriptor()
        descriptor.parent_uuid = group
        descriptor.thread.pid, descriptor.thread.tid = group, self._made
        descriptor.thread.thread_name = name
        return self._made

    def counter(self, group: int, name: str, unit: str) -> int:
        """Begin a counter in a group; return its number."""
        descriptor = self._descriptor()
        descriptor.parent_uuid, descriptor.name = group, name
        descriptor.counter.unit_name = unit
        return self._made

    def flows(self, count: int) -> int:
        """Take so many numbers for flows; return the first."""
        first = self._flows + 1
        self._flows += count
        return first

    def _descriptor(self) -> Any:
        self._made += 1
        descriptor = self._packet().track_descriptor
        descriptor.uuid = self._made
        return descriptor

    def begin(
        self, track: int, cycle: int, name: str, details: Iterable[tuple[str, int]] = ()
    ) -> Any:
        """Begin a slice; return its event, to which flows may be added."""
        packet, event = self._event(track, cycle, self._protos.TrackEvent.TYPE_SLICE_BEGIN)
        event.name_iid = self._named(packet, name)
        for detail, value in details:
            if detail not in self._details:
                self._details[detail] = len(self._details) + 1
                entry = packet.interned_data.debug_annotation_names.add()
                entry.iid, entry.name = self._details[detail], detail
            annotation = event.debug_annotations.add()
            annotation.name_iid, annotation.int_value = self._details[detail], value
        return event

    def end(self, track: int, cycle: int) -> None:
        """End the slice that was begun last on a track and has not ended."""
        self._event(track, cycle, self._protos.TrackEvent.TYPE_SLICE_END)

    def instant(self, track: int, cycle: int, name: str) -> None:
        """Mark a cycle."""
        packet, event = self._event(track, cycle, self._protos.TrackEvent.TYPE_INSTANT)
        event.name_iid = self._named(packet, name)

    def value(self, counter: int, cycle: int, value: int) -> None:
        """Let a counter have a value from a cycle on."""
        _, event = self._event(counter, cycle, self._protos.TrackEvent.TYPE_COUNTER)
        event.counter_value = value

    def _event(self, track: int, cycle: int, kind: int) -> tuple[Any, Any]:
        packet = self._packet()
        packet.timestamp, packet.trusted_packet_sequence_id = cycle, _SEQUENCE
        packet.sequence_flags = self._protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        event = packet.track_event
        event.type, event.track_uuid = kind, track
        return packet, event

    def _named(self, packet: Any, name: str) -> int:
        if name not in self._names:
            self._names[name] = len(self._names) + 1
            entry = packet.interned_data.event_names.add()
            entry.iid, entry.name = self._names[name], utf_8(name).decode()
        return self._names[name]

    def _packet(self) -> Any:
        """Begin a packet; those before are complete."""
        if self._held == _HELD:
            self.flush()
        self._held += 1
        return self._builder.add_packet()

    def flush(self) -> None:
        """Write what is held: a trace may be cut between any two packets."""
        self._file.write(self._builder.serialize())
        self._builder, self._held = self._new(), 0


@contextmanager
def new_timeline(path: Path) -> Iterator[Timeline]:
    """Yield a timeline; its file is there, whole, at the end.

    Raises
    ------
    WarploomError
        If the package ``perfetto`` is not installed.
    OSError
        If the file cannot be written; then none is.
    """
    with whole_file(path) as file:
        timeline = Timeline(file)
        yield timeline
        timeline.flush()


def check_timeline() -> None:
    """Refuse a timeline before the work that it would show.

    Raises
    ------
    WarploomError
        If the package ``perfetto`` is not installed.
    """
    need("perfetto.trace_builder.proto_builder", "report", "a timeline")


def write_timeline(
    path: Path, process: str, tracks: Mapping[int, str], slices: Iterable[TrackSlice]
) -> None:
    """Write slices, each track's in order of their time and without overlap.

    Raises
    ------
    WarploomError
        If the package ``perfetto`` is not installed.
    OSError
        If the file cannot be written; then none is.
    """
    with new_timeline(path) as timeline:
        group = timeline.group(process)
        made = {track: timeline.track(group, name) for track, name in tracks.items()}
        for one in slices:
            timeline.begin(made[one.track], one.start, one.name)
            timeline.end(made[one.track], one.end)
