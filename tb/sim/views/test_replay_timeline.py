"""A replay's timeline, read back with perfetto's own protos: names, nesting, times, flows."""

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from tb.replay.test_event_model import random_launches
from tb.support.replays import model_replay
from warploom_golden.replay import event_model
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER
from warploom_sim.views import replay_timeline
from warploom_sim.views import timeline as timeline_module
from warploom_sim.views.replay_timeline import add_replay
from warploom_sim.views.timeline import new_timeline
from warploom_spec import RESOURCES, LaunchDescriptor, capacities, preset


@dataclass
class Slice:
    """One slice as the file has it: what it is inside of has a lower depth."""

    name: str
    start: int
    depth: int
    details: dict[str, int]
    flows: list[int]
    ended_flows: list[int]
    end: int = -1


@dataclass
class Read:
    """A timeline, by (group, track)."""

    tracks: dict[int, tuple[str, str]] = field(default_factory=dict)
    slices: dict[tuple[str, str], list[Slice]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    marks: list[tuple[str, int]] = field(default_factory=list)

    def of(self, group: str) -> Iterator[tuple[str, Slice]]:
        for (owner, track), slices in self.slices.items():
            if owner == group:
                yield from ((track, one) for one in slices)


def read(path: Path) -> Read:
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    found, groups, names, details = Read(), {}, {}, {}
    open_slices: dict[int, list[Slice]] = defaultdict(list)
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            one = packet.track_descriptor
            if one.HasField("process"):
                groups[one.uuid] = one.process.process_name
            else:
                name = one.thread.thread_name if one.HasField("thread") else one.name
                found.tracks[one.uuid] = groups[one.parent_uuid], name
        names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
        details |= {e.iid: e.name for e in packet.interned_data.debug_annotation_names}
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    # As Perfetto reads them: by their time, of one time as they stand in the file.
    for packet in sorted(events, key=lambda packet: packet.timestamp):
        _take(packet.track_event, packet.timestamp, found, open_slices, names, details)
    assert not any(open_slices.values())
    return found


def _take(
    event: Any,
    time: int,
    found: Read,
    open_slices: dict[int, list[Slice]],
    names: dict[int, str],
    details: dict[int, str],
) -> None:
    inside = open_slices[event.track_uuid]
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        one = Slice(
            names[event.name_iid],
            time,
            len(inside),
            {details[a.name_iid]: a.int_value for a in event.debug_annotations},
            list(event.flow_ids),
            list(event.terminating_flow_ids),
        )
        assert not inside or inside[-1].start <= time
        inside.append(one)
        found.slices[found.tracks[event.track_uuid]].append(one)
    elif event.type == TrackEvent.TYPE_SLICE_END:
        inside.pop().end = time
    elif event.type == TrackEvent.TYPE_COUNTER:
        found.values[found.tracks[event.track_uuid][1]].append((time, event.counter_value))
    else:
        found.marks.append((names[event.name_iid], time))


@pytest.fixture
def run(seed: int) -> Replay:
    """Return a run of overlapping launches, some refused."""
    rng = random.Random(seed)
    config = preset("tiny")
    return model_replay(random_launches(rng, config, 14, crowded=True), config, seed)


def written(folder: Path, *runs: tuple[str, Replay]) -> Read:
    told = 0

    def progress(blocks: int) -> None:
        nonlocal told
        told += blocks

    with new_timeline(folder / "t.pftrace") as timeline:
        for title, one in runs:
            add_replay(timeline, one, title, progress)
    assert told == sum(len(one.blocks) for _, one in runs)
    return read(folder / "t.pftrace")


def test_a_timeline_of_pieces_is_that_of_the_whole(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = preset("tiny")
    launches = random_launches(random.Random(seed), config, 14, crowded=True)
    # Some seeds have few blocks: a hundred more fill many pieces.
    many = LaunchDescriptor(grid=(100, 1, 1), block=(8, 1, 1), arguments=8, code=len(launches))
    launches.append(many)
    whole = written(tmp_path, ("", model_replay(launches, config, seed)))
    monkeypatch.setattr(event_model, "PIECE", 16)
    monkeypatch.setattr(timeline_module, "_HELD", 7)
    pieced = written(tmp_path, ("", model_replay(launches, config, seed, in_pieces=True)))
    assert pieced == whole
    assert sum(map(len, whole.slices.values())) > 100


def test_each_slot_has_a_track_and_each_block_a_slice(tmp_path: Path, run: Replay) -> None:
    found = written(tmp_path, ("", run))
    slots = {(f"SM {sm}", f"SM {sm} slot {slot}") for sm in range(2) for slot in range(4)}
    assert slots <= set(found.tracks.values())
    blocks = run.blocks
    expected = sorted(
        (f"SM {sm}", f"SM {sm} slot {slot}", start, end, f"kernel {launch}", launch, *place)
        for launch, place, sm, slot, start, end in zip(
            blocks.launch.tolist(),
            blocks.place.tolist(),
            blocks.sm.tolist(),
            blocks.slot.tolist(),
            blocks.start.tolist(),
            blocks.end.tolist(),
            strict=True,
        )
    )
    there = sorted(
        (group, track, one.start, one.end, one.name, *one.details.values())
        for group in ("SM 0", "SM 1")
        for track, one in found.of(group)
    )
    assert there == expected
    # Blocks of one slot follow each other.
    assert all(one.depth == 0 for group in ("SM 0", "SM 1") for _, one in found.of(group))


def test_launches_have_their_times_and_nest(tmp_path: Path, run: Replay) -> None:
    found = written(tmp_path, ("", run))
    launches = run.launches
    of_launches = list(found.of("launches"))
    outer = {one.details["launch"]: (track, one) for track, one in of_launches if one.depth == 0}
    ran = np.flatnonzero(launches.code == 0).tolist()
    assert sorted(outer) == ran
    for row in ran:
        track, one = outer[row]
        assert track.split(", row ")[0] == f"stream {launches.stream[row]}"
        assert (one.name, one.start, one.end) == (
            f"kernel {row}",
            launches.arrival[row],
            launches.end[row],
        )
    inner = sorted((one.name, one.start, one.end) for _, one in of_launches if one.depth == 1)
    spans = {"waits": (launches.arrival, launches.first_offer)}
    spans["runs"] = launches.first_offer, launches.last_report
    expected = [(name, a[row], b[row]) for name, (a, b) in spans.items() for row in ran]
    assert inner == sorted(expected)
    rows = np.flatnonzero(launches.code).tolist()
    refused = sorted((name.rsplit(": ")[1], cycle) for name, cycle in found.marks)
    assert refused == sorted((f"kernel {row}", launches.arrival[row]) for row in rows)
    assert rows


def test_launches_that_overlap_by_a_cycle_have_tracks_of_their_own(
    tmp_path: Path, run: Replay
) -> None:
    launches = run.launches
    ran = np.flatnonzero(launches.code == 0).tolist()
    arrival, ended = launches.arrival.copy(), {}
    for row in ran:
        before = ended.get(int(launches.stream[row]), 1)
        arrival[row] = min(before - 1, launches.first_offer[row])
        ended[int(launches.stream[row])] = int(launches.end[row])
    found = written(tmp_path, ("", replace(run, launches=replace(launches, arrival=arrival))))
    outer = [one.details["launch"] for _, one in found.of("launches") if one.depth == 0]
    assert sorted(outer) == ran
    names = [name for group, name in found.tracks.values() if group == "launches"]
    assert "stream 0, row 2" in names and len(set(names)) == len(names)


def test_a_flow_leads_from_each_launch_to_its_first_block(tmp_path: Path, run: Replay) -> None:
    found = written(tmp_path, ("", run), ("again, ", run))
    every = [one for slices in found.slices.values() for one in slices]
    begun = {flow: one for one in every for flow in one.flows}
    ended = {flow: one for one in every for flow in one.ended_flows}
    ran = np.flatnonzero(run.launches.blocks).tolist()
    assert set(begun) == set(ended)
    assert len(begun) == 2 * len(ran)
    for flow, launch in begun.items():
        first = ended[flow]
        row = launch.details["launch"]
        assert first.details["launch"] == row
        assert first.start == run.launches.first_offer[row]
        assert (first.details["bx"], first.details["by"], first.details["bz"]) == (0, 0, 0)


@pytest.mark.parametrize("samples", [20_000, 50])
def test_counters_have_what_blocks_hold(
    tmp_path: Path, run: Replay, monkeypatch: pytest.MonkeyPatch, samples: int
) -> None:
    monkeypatch.setattr(replay_timeline, "MOST_SAMPLES", samples)
    found = written(tmp_path, ("", run))
    blocks, launches = run.blocks, run.launches
    sizes = capacities(run.config)
    step = -(-(run.cycles + 1) // samples)
    for k, name in enumerate(RESOURCES):
        values = dict(found.values[f"{name} held, of {2 * sizes[name]:,}"])
        shown = None
        for cycle in range(0, run.cycles + 1, step):
            there = (blocks.start <= cycle) & (cycle < blocks.end)
            held = int(launches.takes[blocks.launch[there], k].sum())
            # A value stands until the next one.
            shown = values.get(cycle, shown)
            assert shown == held, f"{name} in cycle {cycle}"
    waiting = dict(found.values["launches waiting"])
    shown = None
    for cycle in range(0, run.cycles + 1, step):
        started = launches.first_offer != NEVER
        there = started & (launches.arrival <= cycle) & (cycle < launches.first_offer)
        shown = waiting.get(cycle, shown)
        assert shown == int(there.sum())


def test_two_runs_have_groups_of_their_own(tmp_path: Path, run: Replay) -> None:
    other = replace(run, cycles=run.cycles)
    found = written(tmp_path, ("a, ", run), ("b, ", other))
    groups = {group for group, _ in found.tracks.values()}
    parts = ("launches", "resources", "SM 0", "SM 1")
    assert groups == {f"{title}, {part}" for title in "ab" for part in parts}
    assert len(list(found.of("a, SM 0"))) == len(list(found.of("b, SM 0"))) > 0
    names = [name for _, name in found.tracks.values()]
    assert len(set(names)) == len(names)
    assert {"a, SM 1 slot 3", "b, stream 0", "a, launches waiting"} <= set(names)


def test_a_name_that_utf_8_has_not_is_written_all_the_same(tmp_path: Path) -> None:
    with new_timeline(tmp_path / "t.pftrace") as timeline:
        timeline.instant(timeline.track(timeline.group("a"), "b"), 7, "kernel\ud800")
    assert read(tmp_path / "t.pftrace").marks == [("kernel\\ud800", 7)]
