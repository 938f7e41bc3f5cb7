"""Timelines in Perfetto's own format: tracks of slices, opened by ui.perfetto.dev."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warploom_sim.json_file import write_whole
from warploom_spec.extras import need

#: All packets are one sequence: what a name stands for is sent once.
_SEQUENCE: Final = 1
_PROCESS: Final = 1


@dataclass(frozen=True)
class TrackSlice:
    """One slice: a name on a track from one cycle to another. A nanosecond stands for a cycle."""

    track: int
    start: int
    end: int
    name: str


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
    builder = need(
        "perfetto.trace_builder.proto_builder", "report", "a timeline"
    ).TraceProtoBuilder()
    protos = need("perfetto.protos.perfetto.trace.perfetto_trace_pb2", "report", "a timeline")
    packet = builder.add_packet().track_descriptor
    packet.uuid = packet.process.pid = _PROCESS
    packet.process.process_name = process
    for track, name in tracks.items():
        packet = builder.add_packet().track_descriptor
        packet.uuid, packet.parent_uuid = _uuid(track), _PROCESS
        packet.thread.pid, packet.thread.tid, packet.thread.thread_name = _PROCESS, track + 2, name
    names: dict[str, int] = {}
    first = builder.add_packet()
    first.trusted_packet_sequence_id = _SEQUENCE
    first.sequence_flags = protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    for one in slices:
        packet = builder.add_packet()
        packet.timestamp, packet.trusted_packet_sequence_id = one.start, _SEQUENCE
        packet.sequence_flags = protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        if one.name not in names:
            names[one.name] = len(names) + 1
            entry = packet.interned_data.event_names.add()
            entry.iid, entry.name = names[one.name], one.name
        packet.track_event.type = protos.TrackEvent.TYPE_SLICE_BEGIN
        packet.track_event.track_uuid = _uuid(one.track)
        packet.track_event.name_iid = names[one.name]
        packet = builder.add_packet()
        packet.timestamp, packet.trusted_packet_sequence_id = one.end, _SEQUENCE
        packet.track_event.type = protos.TrackEvent.TYPE_SLICE_END
        packet.track_event.track_uuid = _uuid(one.track)
    write_whole(path, builder.serialize())


def _uuid(track: int) -> int:
    return track + 10
